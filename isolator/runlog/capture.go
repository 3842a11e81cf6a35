package runlog

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Captured says what is kept of a run's output.
type Captured struct {
	File  string `json:"file"` // output.log or session.cast
	Seen  int64  `json:"seen"` // bytes the program wrote
	Kept  int64  `json:"kept"` // size of the file
	Cut   bool   `json:"cut,omitempty"`
	Error string `json:"error,omitempty"` // why it ends early
}

// Capture keeps what a program writes. Output and Resize are called while it
// runs, from any goroutine; they never wait for the disk: what is not written
// yet is held in memory, at most MaxOutput of it. The file is written by a
// goroutine that starts with the first output.
type Capture struct {
	start  time.Time
	open   func() (*os.File, error) // makes the file
	limit  int64
	name   string
	encode encoder

	wake    chan struct{} // there is something to write
	closing chan struct{}

	mu      sync.Mutex
	pending []byte
	marks   []mark
	seen    int64
	cut     bool // nothing more is taken
	rows    uint16
	cols    uint16
	done    chan struct{} // nil until the goroutine is there

	// The goroutine's, until done is closed.
	file *os.File
	kept int64
	full bool
	err  error
}

// mark is where in pending something begins, and when it came.
type mark struct {
	at   int
	when time.Duration
	size [2]uint16 // columns and rows of a resize; else zero
}

// encoder turns output into the bytes of a file. The last piece of a stream
// is empty, with last set.
type encoder interface {
	output(to []byte, when time.Duration, p []byte, last bool) []byte
	resize(to []byte, when time.Duration, cols, rows uint16) []byte
}

// takes reports whether output that comes now, when pending is so long, is one
// with the piece that began at m.
func (m mark) takes(now time.Duration, pending int) bool {
	return m.size[0] == 0 && now-m.when <= 2*time.Millisecond && pending-m.at < 64<<10
}

// Output has the run's output kept as it comes, in output.log, less the
// secrets.
func (r *Run) Output(secrets []string) *Capture {
	return r.capture(outputFile, time.Now(), &rawEncoder{redactor{secrets: ordered(secrets)}})
}

func (r *Run) capture(name string, start time.Time, e encoder) *Capture {
	c := &Capture{start: start, limit: MaxOutput, name: name, encode: e, wake: make(chan struct{}, 1), closing: make(chan struct{})}
	c.open = func() (*os.File, error) {
		return r.root.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return c
}

// Output takes a copy of p.
func (c *Capture) Output(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen += int64(len(p))
	if c.cut {
		return
	}
	if int64(len(c.pending)+len(p)) > c.limit {
		c.cut = true
		return
	}
	now := time.Since(c.start)
	if n := len(c.marks); n == 0 || !c.marks[n-1].takes(now, len(c.pending)) {
		c.marks = append(c.marks, mark{at: len(c.pending), when: now})
	}
	c.pending = append(c.pending, p...)
	c.begin()
}

// Resize says that the terminal has another size.
func (c *Capture) Resize(rows, cols uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut || cols == 0 || rows == 0 || c.rows == rows && c.cols == cols {
		return
	}
	c.rows, c.cols = rows, cols
	c.marks = append(c.marks, mark{at: len(c.pending), when: time.Since(c.start), size: [2]uint16{cols, rows}})
	c.begin()
}

func (c *Capture) begin() {
	if c.done == nil {
		c.done = make(chan struct{})
		go c.write()
	}
	select {
	case c.wake <- struct{}{}:
	default: // it knows
	}
}

// gather is how long output is gathered before it is written: to wake another
// thread at every piece would slow the program down.
const gather = 20 * time.Millisecond

// write is the goroutine.
func (c *Capture) write() {
	defer close(c.done)
	if c.file == nil {
		c.file, c.err = c.open()
	}
	var out, spare []byte
	var spareMarks []mark
	for last := false; !last; {
		select {
		case <-c.wake:
			select {
			case <-time.After(gather):
			case <-c.closing:
				last = true
			}
		case <-c.closing:
			last = true
		}
		c.mu.Lock()
		pending, marks := c.pending, c.marks
		c.pending, c.marks = spare[:0], spareMarks[:0]
		c.mu.Unlock()
		out = out[:0]
		for i, m := range marks {
			end := len(pending)
			if i+1 < len(marks) {
				end = marks[i+1].at
			}
			if m.size[0] != 0 {
				out = c.encode.resize(out, m.when, m.size[0], m.size[1])
			}
			if end > m.at {
				out = c.encode.output(out, m.when, pending[m.at:end], false)
			}
		}
		if last {
			out = c.encode.output(out, time.Since(c.start), nil, true)
		}
		c.put(out)
		if spare, spareMarks = pending, marks; cap(spare) > 1<<20 {
			spare, out = nil, nil // a burst is over
		}
	}
}

// put writes what fits.
func (c *Capture) put(out []byte) {
	if c.err != nil || c.full || len(out) == 0 {
		return
	}
	c.full = c.kept+int64(len(out)) > c.limit
	if c.full {
		// No line and no character is torn.
		out = out[:c.limit-c.kept]
		out = out[:bytes.LastIndexByte(out, '\n')+1]
	}
	n, err := c.file.Write(out)
	c.kept += int64(n)
	c.err = cause(err)
	if c.full || err != nil {
		c.mu.Lock()
		c.cut, c.pending, c.marks = true, nil, nil
		c.mu.Unlock()
	}
}

// Close waits until everything is written; nothing comes after it. It is nil
// when there was nothing to keep.
func (c *Capture) Close() (*Captured, error) {
	close(c.closing)
	c.mu.Lock()
	done := c.done
	c.mu.Unlock()
	if done != nil {
		<-done
	}
	if done == nil && c.file == nil {
		return nil, nil
	}
	out := &Captured{File: c.name, Seen: c.seen, Kept: c.kept, Cut: c.cut}
	err := c.err
	if c.file != nil {
		if e := c.file.Close(); err == nil {
			err = e
		}
	}
	if err != nil {
		out.Error = err.Error()
		err = fmt.Errorf("%s is not complete: %w", c.name, err)
	}
	return out, err
}

// rawEncoder keeps output as it is.
type rawEncoder struct{ redactor }

func (r *rawEncoder) output(to []byte, _ time.Duration, p []byte, last bool) []byte {
	return append(to, r.pass(p, last)...)
}

func (*rawEncoder) resize(to []byte, _ time.Duration, _, _ uint16) []byte { return to }

// redactor replaces secrets in a stream that comes in pieces.
type redactor struct {
	secrets [][]byte // longest first
	held    []byte   // the end of the stream, when a secret may begin in it
}

// minSecret is the length below which a value is no secret worth the name:
// replacing every "yes" would help nobody.
const minSecret = 8

// ordered returns the secrets as they come out of a terminal or a pipe, longest first: without
// blanks around them, which programs leave out, and, where they have several lines, also with
// the CR LF that a terminal makes of each end of a line (termios(3), ONLCR).
func ordered(secrets []string) [][]byte {
	var out [][]byte
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) < minSecret {
			continue
		}
		out = append(out, []byte(s))
		if shown := strings.ReplaceAll(s, "\n", "\r\n"); shown != s {
			out = append(out, []byte(shown))
		}
	}
	slices.SortFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}

// pass returns what of the stream so far can be kept: of secrets at one place
// the longest counts, so its end is waited for.
func (r *redactor) pass(p []byte, last bool) []byte {
	if len(r.secrets) == 0 {
		return p
	}
	if len(r.held) > 0 {
		p = append(r.held, p...)
		r.held = nil
	}
	var out []byte
	for {
		at, size := r.first(p)
		hold := len(p)
		if !last {
			hold -= r.begun(p)
		}
		if at < 0 || hold <= at {
			r.held = bytes.Clone(p[hold:])
			if out == nil {
				return p[:hold]
			}
			return append(out, p[:hold]...)
		}
		out = append(append(out, p[:at]...), "***"...)
		p = p[at+size:]
	}
}

// first returns where the first secret in p is, or -1.
func (r *redactor) first(p []byte) (at, size int) {
	at = -1
	for _, s := range r.secrets {
		if i := bytes.Index(p, s); i >= 0 && (at < 0 || i < at) {
			at, size = i, len(s)
		}
	}
	return at, size
}

// begun returns how much of the end of p may be the beginning of a secret.
func (r *redactor) begun(p []byte) int {
	most := 0
	for _, s := range r.secrets {
		for n := min(len(s)-1, len(p)); n > most; n-- {
			if bytes.Equal(p[len(p)-n:], s[:n]) {
				most = n
			}
		}
	}
	return most
}

// Secrets picks out of an environment, KEY=VALUE, the values of the variables
// that look like secrets.
func Secrets(env []string, looksSecret func(string) bool) []string {
	var out []string
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && looksSecret(k) {
			out = append(out, v)
		}
	}
	return out
}
