package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// The lines of the audit log, each chained to the one before.

func sum(line []byte) string {
	h := sha256.Sum256(line)
	return hex.EncodeToString(h[:])
}

// auditLines returns the lines of text that have an end.
func auditLines(text []byte) [][]byte {
	var out [][]byte
	for line := range bytes.Lines(text) {
		if n := len(line) - 1; line[n] == '\n' {
			out = append(out, line[:n])
		}
	}
	return out
}

// chained returns the link of a line, which is how it begins.
func chained(line []byte) (seq int64, prev string, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"seq":`))
	if !ok || len(line) == 0 || line[len(line)-1] != '}' {
		return 0, "", false
	}
	number, rest, ok := bytes.Cut(rest, []byte(`,"prev":"`))
	if !ok || len(rest) < len(noLine)+1 || rest[len(noLine)] != '"' {
		return 0, "", false
	}
	seq, err := strconv.ParseInt(string(number), 10, 64)
	return seq, string(rest[:len(noLine)]), err == nil && seq > 0
}

// stamp returns the time of a chained line, as it is written.
func stamp(line []byte) []byte {
	_, rest, _ := bytes.Cut(line, []byte(`","time":"`))
	at, _, _ := bytes.Cut(rest, []byte{'"'})
	return at
}

// line writes an event; see line.go for why by hand.
func (e Event) line() []byte {
	l := make(line, 0, 768)
	l.num("seq", e.Seq)
	l.str("prev", e.Prev)
	l.time("time", e.Time)
	l.str("type", e.Type)
	if !e.At.IsZero() {
		l.time("at", e.At)
	}
	for _, f := range []struct{ key, text string }{
		{"run", e.Run},
		{"profile", e.Profile},
		{"scope", e.Scope},
		{"path", e.Path},
		{"digest", e.Digest},
		{"command", e.Command},
		{"program", e.Program},
	} {
		l.text(f.key, f.text)
	}
	l.some("args", int64(e.Args))
	l.text("cwd", e.Cwd)
	l.text("network", e.Network)
	if len(e.Allow) > 0 {
		l.key("allow")
		for i, s := range e.Allow {
			l = appendText(append(l, "[,"[min(i, 1)]), s)
		}
		l = append(l, ']')
	}
	l.text("host", e.Host)
	l.some("count", int64(e.Count))
	switch e.Type {
	case EventExit, EventCall, EventRefused, EventVerify:
		l.num("code", int64(e.Code))
	}
	l.text("signal", e.Signal)
	l.some("ms", e.Millis)
	l.text("reason", e.Reason)
	l.text("backend", e.Backend)
	l.text("role", e.Role)
	l.text("role_asked", e.Asked)
	l.text("actor", e.Actor)
	l.text("session", e.Session)
	if e.Torn > 0 {
		l.num("torn", int64(e.Torn))
		l.str("torn_sha256", e.TornSum)
	}
	l.text("lost", e.Lost)
	return l.end()
}

// text is an optional string of somebody else's.
func (l *line) text(key, v string) {
	if v == "" {
		return
	}
	l.key(key)
	*l = appendText(*l, v)
}

// appendText writes s as a JSON string in which nothing can drive a terminal,
// for people look at the file itself.
func appendText(to []byte, s string) []byte {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return append(to, visible.JSON(appendJSON(nil, []byte(s)))...)
}
