package calls

import (
	"io"
	"os"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// capture keeps the first bytes of what a program writes, and reads on: it never waits for
// somebody to read.
type capture struct {
	w    *os.File // for the program
	r    *os.File
	max  int64
	kept []byte
	cut  bool
	to   io.Writer // when not nil, gets all of it instead
	done chan struct{}
}

// drainFor is how long after the end of a program its output is waited for: somebody outside
// of the box may hold the other end.
const drainFor = time.Second

func newCapture(max int64, to io.Writer) (*capture, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	// Of our end only: the program's has to block (each end is a description of its own).
	_ = unix.SetNonblock(pipe[0], true)
	c := &capture{r: os.NewFile(uintptr(pipe[0]), "output"), w: os.NewFile(uintptr(pipe[1]), "output"), max: max, to: to, done: make(chan struct{})}
	go c.run()
	return c, nil
}

func (c *capture) run() {
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

// end returns what was kept, once the program has ended.
func (c *capture) end() (kept []byte, cut bool) {
	c.w.Close()
	_ = c.r.SetReadDeadline(time.Now().Add(drainFor))
	<-c.done
	c.r.Close()
	if c.cut { // a character that was cut in two is no text any more
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

// input is a file with that content, for the standard input of a program.
func input(content string) (*os.File, error) {
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
