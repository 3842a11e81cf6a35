package runlog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"reflect"
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

// line writes an event. Texts come from strangers.
func (e Event) line() []byte {
	enc := lineEncoder{text: appendText}
	switch e.Type {
	case EventExit, EventCall, EventRefused, EventVerify:
	default:
		enc.without = "code"
	}
	return enc.object(make([]byte, 0, 768), reflect.ValueOf(e))
}

// appendText writes s as a JSON string in which nothing can drive a terminal,
// for people look at the file itself.
func appendText(to []byte, s string) []byte {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	return append(to, visible.JSON(appendJSON(nil, []byte(s)))...)
}
