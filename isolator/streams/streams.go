// Package streams connects the standard streams of a box to values of a Go program: input comes from
// a text or a reader, and output goes to a writer, or is kept up to a limit.
package streams

import (
	"errors"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/launch/wire"
)

// Files are the standard streams of a program; nil is /dev/null.
type Files struct {
	In, Out, Err *os.File
	ends         []func()
}

// Open returns files for a program. A *os.File that is no terminal is the program's own: nobody types
// for a program that was started by another. Everything else goes through pipes until Close. As with
// package os/exec a program whose output nobody takes any more finds that out.
func Open(in io.Reader, out, err io.Writer) (*Files, error) {
	var f Files
	if failed := errors.Join(f.input(in), f.output(&f.Out, out), f.output(&f.Err, err)); failed != nil {
		f.Close()
		return nil, failed
	}
	return &f, nil
}

func (f *Files) input(from io.Reader) error {
	switch from := from.(type) {
	case nil:
	case *os.File:
		if !caller.IsTerminal(from) {
			f.In = from
		}
	default:
		r, w, err := pipe(1)
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(w, from) // a program need not read to the end
			w.Close()
		}()
		f.In, f.ends = r, append(f.ends, func() { r.Close() })
	}
	return nil
}

func (f *Files) output(file **os.File, to io.Writer) error {
	own, is := to.(*os.File)
	switch {
	case is && !caller.IsTerminal(own):
		*file = own
		return nil
	case to == nil:
		to = io.Discard
	}
	o, err := NewOutput(to)
	if err != nil {
		return err
	}
	*file, f.ends = o.W, append(f.ends, func() { o.W.Close(); o.Rest() })
	return nil
}

// Close is called when the program has ended. It waits until its output has been passed on. What
// was copied of an input and the program has not read is lost. It is safe on nil.
func (f *Files) Close() {
	if f == nil {
		return
	}
	for _, end := range f.ends {
		end()
	}
	f.ends = nil
}

// Output copies what programs write to a writer.
type Output struct {
	W      *os.File // for the program
	r      *os.File
	to     io.Writer
	done   chan struct{}
	ended  bool // everybody has closed W
	broken bool // the writer takes no more, and programs that write find that out
}

// NewOutput returns an Output that copies to a writer until Rest.
func NewOutput(to io.Writer) (*Output, error) {
	r, w, err := pipe(0)
	if err != nil {
		return nil, err
	}
	o := &Output{W: w, r: r, to: to, done: make(chan struct{})}
	go o.run()
	return o, nil
}

// pipe returns a pipe whose end with that number is ours, and does not block. The program's has to:
// each end is a description of its own.
func pipe(ours int) (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err == nil {
		[2]*os.File{w, r}[ours].Fd()
	}
	return r, w, err
}

func (o *Output) run() {
	defer close(o.done)
	buf := make([]byte, 16<<10)
	for {
		n, err := o.r.Read(buf)
		if n > 0 && !o.write(buf[:n]) {
			return
		}
		if err != nil {
			o.ended = !errors.Is(err, os.ErrDeadlineExceeded)
			return
		}
	}
}

func (o *Output) write(b []byte) bool {
	if _, err := o.to.Write(b); err != nil {
		o.broken = true
		o.r.Close()
	}
	return !o.broken
}

// Rest copies what programs have written until now. What others write later is read, and dropped.
func (o *Output) Rest() {
	_ = o.r.SetReadDeadline(time.Now())
	<-o.done
	_ = o.r.SetReadDeadline(time.Time{})
	if !o.ended && !o.broken {
		if text := pending(o.r); len(text) > 0 {
			o.write(text)
		}
	}
	if o.ended || o.broken {
		o.r.Close()
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, o.r)
		o.r.Close()
	}()
}

// pending reads what is in a pipe, and no more than is there now.
func pending(r *os.File) (text []byte) {
	raw, err := r.SyscallConn()
	if err != nil {
		return nil
	}
	_ = raw.Control(func(fd uintptr) {
		there, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		if err != nil {
			return
		}
		text = make([]byte, there)
		n, _ := wire.Read(int(fd), text)
		text = text[:max(n, 0)]
	})
	return text
}

// Kept is a writer that keeps the first Max bytes, and drops the rest, so that a program never
// waits.
type Kept struct {
	Max  int64
	kept []byte
	cut  bool
}

func (k *Kept) Write(p []byte) (int, error) {
	room := min(k.Max-int64(len(k.kept)), int64(len(p)))
	k.kept, k.cut = append(k.kept, p[:room]...), k.cut || room < int64(len(p))
	return len(p), nil
}

// Text returns what was kept, and whether more was dropped.
func (k *Kept) Text() (text []byte, cut bool) {
	text = k.kept
	for i := 1; k.cut && i <= min(utf8.UTFMax, len(text)); i++ { // the last character may be incomplete
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				text = text[:len(text)-i]
			}
			break
		}
	}
	return text, k.cut
}
