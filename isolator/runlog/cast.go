package runlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

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

// Cast has the session recorded, in session.cast. Its file is there when it
// returns: what cannot be recorded is known before the program starts. What is
// typed is never recorded, but for what the program shows of it.
func (r *Run) Cast(h Header, start time.Time, secrets []string) (*Capture, error) {
	c := r.capture(castFile, start, &castEncoder{redactor: redactor{secrets: ordered(secrets)}})
	c.rows, c.cols = uint16(h.Height), uint16(h.Width)
	h.Version, h.Timestamp = 2, start.Unix()
	line, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if c.file, err = c.open(); err == nil {
		_, err = c.file.Write(append(line, '\n'))
	}
	if err != nil {
		return nil, fmt.Errorf("%s in %q: %w", castFile, r.Path(), cause(err))
	}
	c.kept = int64(len(line) + 1)
	return c, nil
}

// castEncoder writes events. They are text: a character that comes in two
// pieces goes with the second one.
type castEncoder struct {
	redactor
	part []byte // of a character
}

func (e *castEncoder) output(to []byte, when time.Duration, p []byte, last bool) []byte {
	p = e.pass(p, last)
	if len(e.part) > 0 {
		p = append(e.part, p...)
		e.part = nil
	}
	if n := partial(p); n > 0 && !last {
		e.part = slices.Clone(p[len(p)-n:])
		p = p[:len(p)-n]
	}
	if len(p) == 0 {
		return to
	}
	to = appendTime(to, when)
	to = append(to, `"o", `...)
	return append(appendJSON(to, p), "]\n"...)
}

func (e *castEncoder) resize(to []byte, when time.Duration, cols, rows uint16) []byte {
	return fmt.Appendf(appendTime(to, when), "\"r\", \"%dx%d\"]\n", cols, rows)
}

func appendTime(to []byte, when time.Duration) []byte {
	return append(strconv.AppendFloat(append(to, '['), when.Seconds(), 'f', 6, 64), ", "...)
}

// partial returns how many bytes at the end of p are the beginning of a
// character.
func partial(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if c := p[len(p)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// appendJSON writes p as a JSON string; a byte that is no UTF-8 becomes
// U+FFFD.
func appendJSON(to, p []byte) []byte {
	to = append(to, '"')
	for len(p) > 0 {
		n := 0 // most of it is plain text
		for n < len(p) && p[n] >= ' ' && p[n] < 0x7f && p[n] != '"' && p[n] != '\\' {
			n++
		}
		to, p = append(to, p[:n]...), p[n:]
		switch {
		case len(p) == 0:
		case p[0] >= utf8.RuneSelf:
			r, n := utf8.DecodeRune(p)
			to, p = utf8.AppendRune(to, r), p[n:]
		default:
			to, p = appendEscape(to, p[0]), p[1:]
		}
	}
	return append(to, '"')
}

// appendEscape writes a character of ASCII that cannot stand in a JSON string as it is.
func appendEscape(to []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(to, '\\', c)
	case '\n':
		return append(to, '\\', 'n')
	case '\r':
		return append(to, '\\', 'r')
	}
	const hex = "0123456789abcdef"
	return append(to, '\\', 'u', '0', '0', hex[c>>4], hex[c&15]) // terminals are full of them
}

// CastEvent is one event of a recording: output, or a resize when Cols is not 0.
type CastEvent struct {
	When       time.Duration
	Output     string
	Cols, Rows int
}

// maxCastLine is the longest line that is read of a recording.
const maxCastLine = 8 << 20

// ReadCast reads a recording and hands over its events in order. A last line
// that was torn when the run was killed is passed over.
func ReadCast(r io.Reader, each func(CastEvent) error) (Header, error) {
	var h Header
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 64<<10), maxCastLine)
	if !s.Scan() {
		return h, errors.Join(errors.New("the recording is empty"), s.Err())
	}
	if err := json.Unmarshal(s.Bytes(), &h); err != nil || h.Version != 2 {
		return h, errors.New("not a recording (asciicast v2)")
	}
	for s.Scan() {
		var when float64
		var kind, data string
		if err := json.Unmarshal(s.Bytes(), &[]any{&when, &kind, &data}); err != nil {
			continue
		}
		m := CastEvent{When: time.Duration(when * float64(time.Second))}
		switch kind {
		case "o":
			m.Output = data
		case "r":
			if _, err := fmt.Sscanf(data, "%dx%d", &m.Cols, &m.Rows); err != nil {
				continue
			}
		default:
			continue
		}
		if err := each(m); err != nil {
			return h, err
		}
	}
	return h, s.Err()
}
