package runlog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Captured says what is kept of a run's output.
type Captured struct {
	File  string `json:"file"` // output.log or session.cast
	Seen  int64  `json:"seen"` // bytes the program wrote
	Kept  int64  `json:"kept"` // size of the file
	Cut   bool   `json:"cut,omitempty"`
	Error string `json:"error,omitempty"` // why it ends early
}

// Header is the first line of a recording, asciicast v2
// (docs.asciinema.org/manual/asciicast/v2).
type Header struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp"`
	Title     string            `json:"title,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Capture keeps what a program writes, less the secrets. Output and Resize are called while it runs,
// from any goroutine; they never wait for the disk: what is not written yet is held in memory, at
// most MaxOutput of it.
type Capture struct {
	name  string
	cast  bool
	start time.Time
	open  func() (*os.File, error) // makes the file

	mu      sync.Mutex
	redact  redactor
	pending []byte // as it will be in the file
	size    int64  // of the file, with what is pending
	seen    int64
	cut     bool // nothing more is taken
	rows    uint16
	cols    uint16
	timer   *time.Timer // until pending is written; nil: nothing is

	writing sync.Mutex // taken before mu
	file    *os.File
	kept    int64
	err     error
}

// gather is how long output is gathered before it is written: to wake another thread at every
// piece would slow the program down.
const gather = 20 * time.Millisecond

// Output has the run's output kept as it comes, in output.log. Where it is a terminal's, h has its
// size: the sequence that gives a terminal its size (xterm, CSI 8 ; rows ; columns t) is written
// before it, and for every other size that comes.
func (r *Run) Output(h Header, secrets []string) *Capture {
	c := &Capture{name: OutputFile, start: time.Now(), redact: redactor{secrets: ordered(secrets)}}
	c.rows, c.cols = uint16(h.Height), uint16(h.Width)
	c.open = func() (*os.File, error) { return r.create(c.name) }
	return c
}

// Cast has the session recorded, in session.cast. Its file is there when it returns: what cannot be
// recorded is known before the program starts. What is typed is never recorded, but for what the
// program shows of it.
func (r *Run) Cast(h Header, start time.Time, secrets []string) (*Capture, error) {
	c := r.Output(h, secrets)
	c.name, c.cast, c.start = CastFile, true, start
	h.Version, h.Timestamp = 2, start.Unix()
	line, err := json.Marshal(h)
	if err == nil {
		c.pending, c.size = append(line, '\n'), int64(len(line)+1)
		c.flush()
		err = c.err
	}
	if err != nil {
		return nil, fmt.Errorf("%s in %q: %w", CastFile, r.Path(), err)
	}
	return c, nil
}

// Output takes a copy of p.
func (c *Capture) Output(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen += int64(len(p)); c.cut {
		return
	}
	if c.size == 0 && c.rows > 0 {
		c.take(c.resized())
	}
	c.take(c.output(p, false))
}

// Resize says that the terminal has another size.
func (c *Capture) Resize(rows, cols uint16) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cols == 0 || rows == 0 || c.rows == rows && c.cols == cols {
		return
	}
	if c.rows, c.cols = rows, cols; c.size > 0 {
		c.take(c.resized())
	}
}

// take adds to what is to be written, or nothing more where that would be too much.
func (c *Capture) take(p []byte) {
	c.cut = c.cut || c.size+int64(len(p)) > MaxOutput
	if c.cut || len(p) == 0 {
		return
	}
	c.pending = append(c.pending, p...)
	c.size += int64(len(p))
	if c.timer == nil {
		c.timer = time.AfterFunc(gather, c.flush)
	}
}

// resized is the present size in the form of the file.
func (c *Capture) resized() []byte {
	if c.cast {
		return c.event("r", fmt.Appendf(nil, "%dx%d", c.cols, c.rows))
	}
	return fmt.Appendf(nil, "\x1b[8;%d;%dt", c.rows, c.cols)
}

// output is what of the stream can be kept now, in the form of the file.
func (c *Capture) output(p []byte, last bool) []byte {
	p = c.redact.pass(p, last)
	if n := partial(p); c.cast && !last && n > 0 { // events are text
		c.redact.held = append(bytes.Clone(p[len(p)-n:]), c.redact.held...)
		p = p[:len(p)-n]
	}
	if !c.cast || len(p) == 0 {
		return p
	}
	return c.event("o", p)
}

// event is a line of a recording.
func (c *Capture) event(kind string, p []byte) []byte {
	text, _ := json.Marshal(string(p)) // a string always can
	return fmt.Appendf(nil, "[%.6f, %q, %s]\n", time.Since(c.start).Seconds(), kind, text)
}

// partial returns how many bytes at the end of p are the beginning of a character.
func partial(p []byte) int {
	n := min(len(p), utf8.UTFMax-1)
	for n > 0 && utf8.FullRune(p[len(p)-n:]) {
		n--
	}
	return n
}

// flush writes what is pending.
func (c *Capture) flush() {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	out := c.pending
	c.pending, c.timer = nil, nil
	c.mu.Unlock()
	if len(out) == 0 || c.err != nil {
		return
	}
	if c.file == nil {
		c.file, c.err = c.open()
	}
	if c.err == nil {
		var n int
		n, c.err = c.file.Write(out)
		c.kept += int64(n)
	}
	if c.err = cause(c.err); c.err != nil {
		c.mu.Lock()
		c.cut, c.pending = true, nil
		c.mu.Unlock()
	}
}

// Close waits until everything is written; nothing comes after it. It is nil when there was nothing
// to keep.
func (c *Capture) Close() (*Captured, error) {
	c.mu.Lock()
	c.take(c.output(nil, true))
	cut := c.cut
	c.cut = true
	c.mu.Unlock()
	c.flush()
	if c.file == nil && c.err == nil {
		return nil, nil
	}
	out, err := &Captured{File: c.name, Seen: c.seen, Kept: c.kept, Cut: cut || c.err != nil}, c.err
	if c.file != nil {
		err = cmp.Or(err, c.file.Close())
	}
	if err != nil {
		out.Error = err.Error()
		err = fmt.Errorf("%s is not complete: %w", c.name, err)
	}
	return out, err
}

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

// pass returns what of the stream so far can be kept: of secrets at one place the longest counts,
// so its end is waited for.
func (r *redactor) pass(p []byte, last bool) (out []byte) {
	p = append(r.held, p...)
	r.held = nil
	if len(r.secrets) == 0 {
		return p
	}
	var begin [256]bool
	for _, s := range r.secrets {
		begin[s[0]] = true
	}
next:
	for ; len(p) > 0; p = p[1:] {
		if begin[p[0]] {
			for _, s := range r.secrets {
				if bytes.HasPrefix(p, s) {
					out, p = append(out, "***"...), p[len(s)-1:]
					continue next
				}
				if !last && bytes.HasPrefix(s, p) {
					r.held = p
					return out
				}
			}
		}
		out = append(out, p[0])
	}
	return out
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
