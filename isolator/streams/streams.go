// Package streams connects the standard streams of a box to values of a Go program: output is
// kept up to a limit or passed to a writer, and input comes from a text or a reader.
package streams

import (
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Output keeps the first bytes that a program writes, and drops the rest, so that the program
// never waits for a reader.
type Output struct {
	W    *os.File // for the program
	r    *os.File
	max  int64
	kept []byte
	cut  bool
	to   io.Writer // when not nil, gets all of it instead
	done chan struct{}
}

// drainFor is how long output is still read after the end of a program: a process outside of the
// box may keep the other end open.
const drainFor = time.Second

// NewOutput returns an Output that keeps the first max bytes or, when to is not nil, passes
// everything to it.
func NewOutput(max int64, to io.Writer) (*Output, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	// Of our end only: the program's has to block (each end is a description of its own).
	_ = unix.SetNonblock(pipe[0], true)
	c := &Output{r: os.NewFile(uintptr(pipe[0]), "output"), W: os.NewFile(uintptr(pipe[1]), "output"), max: max, to: to, done: make(chan struct{})}
	go c.run()
	return c, nil
}

func (c *Output) run() {
	defer close(c.done)
	buf := make([]byte, 16<<10)
	for {
		n, err := c.r.Read(buf)
		if c.to != nil {
			if _, err := c.to.Write(buf[:n]); err != nil {
				c.to = io.Discard // the program must not hang on a reader that is gone
			}
		} else if room := c.max - int64(len(c.kept)); int64(n) > room {
			c.kept, c.cut = append(c.kept, buf[:room]...), true
		} else {
			c.kept = append(c.kept, buf[:n]...)
		}
		if err != nil {
			return
		}
	}
}

// End returns what was kept, and whether more was dropped. It is called when the program has ended.
func (c *Output) End() (kept []byte, cut bool) {
	c.W.Close()
	_ = c.r.SetReadDeadline(time.Now().Add(drainFor))
	<-c.done
	c.r.Close()
	if c.cut { // the last character may be incomplete
		for i := 1; i <= utf8.UTFMax && i <= len(c.kept); i++ {
			if last := c.kept[len(c.kept)-i:]; utf8.RuneStart(last[0]) {
				if !utf8.FullRune(last) {
					c.kept = c.kept[:len(c.kept)-i]
				}
				break
			}
		}
	}
	return c.kept, c.cut
}

// Text returns a file with that content, for the standard input of a program.
func Text(content string) (*os.File, error) {
	fd, err := unix.MemfdCreate("stdin", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("stdin", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), "stdin")
	if _, err := f.WriteString(content); err != nil {
		f.Close()
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Input is a standard input of a program that is copied from a reader.
type Input struct {
	R *os.File // for the program
}

// NewInput copies from into the program's input until one of the two ends. What was copied and the
// program has not read when it ends is lost.
func NewInput(from io.Reader) (*Input, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	_ = unix.SetNonblock(pipe[1], true)
	w := os.NewFile(uintptr(pipe[1]), "input")
	go func() {
		_, _ = io.Copy(w, from) // a program need not read to the end
		w.Close()
	}()
	return &Input{R: os.NewFile(uintptr(pipe[0]), "input")}, nil
}

// End closes the program's end of the pipe.
func (i *Input) End() { i.R.Close() }
