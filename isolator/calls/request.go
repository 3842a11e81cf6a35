package calls

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/jsonlines"
	"github.com/enr/inner/isolator/session"
)

// Request is one call of a tool. Argv or Line says what runs; everything else may be left out.
type Request struct {
	ID      string            `json:"id"`         // comes back with the answer
	Argv    []string          `json:"argv"`       // a program and its arguments
	Line    string            `json:"line"`       // or a command line, for the shell of the box
	Cwd     string            `json:"cwd"`        // a folder of the box; relative to the working folder
	Env     map[string]string `json:"env"`        // variables on top of those of the profile
	Stdin   string            `json:"stdin"`      // what the program reads
	Timeout int64             `json:"timeout_ms"` // never more than the profile's; 0 is the profile's
	Max     int64             `json:"max_output"` // bytes of each output; never more than the profile's; 0 is the profile's
	Role    string            `json:"role"`
	Session string            `json:"session"`
	Actor   string            `json:"actor"`

	HasRole bool `json:"-"` // Role was given, be it empty
}

// Bounds of a request, in bytes.
const (
	MaxLine = 4 << 20 // of a request as JSON
	maxText = 256     // of id and actor
)

// Parse reads a request. It is strict: a key that is unknown, written in another case or twice,
// null, or anything after the object is an error, a *fault.Refusal with exit code 2. The
// request that comes with an error has the ID, when that was read.
func Parse(text []byte) (q Request, err error) {
	if err := q.parse(text); err != nil {
		return Request{ID: q.ID}, fault.Refuse(2, "", "%v", err)
	}
	return q, q.Check()
}

func (q *Request) parse(text []byte) error {
	o, err := jsonlines.Read(text)
	q.ID, _ = o["id"].(string)
	if err != nil {
		return err
	}
	_, q.HasRole = o["role"]
	for _, key := range slices.Sorted(maps.Keys(o)) {
		into, known := q.fields()[key]
		if !known {
			return fmt.Errorf("unknown key %.40q: those are %s", key,
				strings.Join(slices.Sorted(maps.Keys(q.fields())), ", "))
		}
		if want := take(into, o[key]); want != "" {
			return fmt.Errorf("%s: wants %s", key, want)
		}
	}
	return nil
}

func (q *Request) fields() map[string]any {
	return map[string]any{
		"id": &q.ID, "argv": &q.Argv, "line": &q.Line, "cwd": &q.Cwd, "stdin": &q.Stdin, "timeout_ms": &q.Timeout, "max_output": &q.Max,
		"role": &q.Role, "session": &q.Session, "actor": &q.Actor, "env": &q.Env,
	}
}

// take puts a value of a request into a field. A value of another kind, or null, is refused: want says what it
// has to be.
func take(into, v any) (want string) {
	text, err := json.Marshal(v)
	if err == nil && whole(v) && json.Unmarshal(text, into) == nil {
		return ""
	}
	switch into.(type) {
	case *string:
		return "a string"
	case *int64:
		return "a whole number"
	case *[]string:
		return "a list of strings"
	}
	return "an object of strings"
}

// whole reports whether there is no null in a value, which encoding/json passes over.
func whole(v any) bool {
	switch v := v.(type) {
	case []any:
		return !slices.Contains(v, nil)
	case jsonlines.Object:
		return !slices.Contains(slices.Collect(maps.Values(v)), nil)
	}
	return v != nil
}

// Check says what is wrong with a request.
func (q Request) Check() error {
	switch {
	case (len(q.Argv) == 0) == (q.Line == ""):
		return fault.Refuse(2, "", "a request has either argv or line")
	case len(q.Argv) > 0 && q.Argv[0] == "":
		return fault.Refuse(2, "", "argv: the program has no name")
	case q.Timeout < 0 || q.Timeout > int64(365*24*time.Hour/time.Millisecond):
		return fault.Refuse(2, "", "timeout_ms: %d is not a number of milliseconds", q.Timeout)
	case q.Max < 0:
		return fault.Refuse(2, "", "max_output: %d is not a number of bytes", q.Max)
	}
	for _, t := range []struct{ key, text string }{{"id", q.ID}, {"actor", q.Actor}, {"role", q.Role}} {
		if len(t.text) > maxText || strings.ContainsFunc(t.text, unicode.IsControl) {
			return fault.Refuse(2, "", "%s: is longer than %d bytes, or has a control character", t.key, maxText)
		}
	}
	if q.Session != "" {
		if err := (session.Key{ID: q.Session}).Check(); err != nil {
			return err
		}
	}
	for name := range q.Env {
		if why := notForCalls(name); why != "" {
			return fault.Refuse(2, "", "env: %.40q %s", name, why)
		}
	}
	return isolator.CheckWords(q.Argv, q.Line, q.Cwd, q.Env)
}

// notForCalls says why a call does not set a variable: "" when it may. What is loaded into a
// program before its own code, and what inner itself tells the box, is the profile's.
func notForCalls(name string) string {
	upper := strings.ToUpper(name)
	switch {
	case name == "" || len(name) > maxText || strings.ContainsFunc(name, func(r rune) bool { return r == '=' || r <= ' ' || r >= 0x7f }):
		return "is not the name of a variable"
	case strings.HasPrefix(upper, "LD_"), strings.HasPrefix(upper, "INNER_"), strings.HasPrefix(upper, "__INNER"), strings.HasPrefix(upper, "BASH_FUNC_"),
		slices.Contains([]string{"BASH_ENV", "ENV", "GCONV_PATH", "GLIBC_TUNABLES", "NODE_OPTIONS", "PYTHONSTARTUP", "PERL5OPT", "RUBYOPT"}, upper):
		return "is not for a call to set"
	case strings.HasSuffix(upper, "_PROXY"):
		return "is not for a call to set: it says where the network is"
	case name == "HOME" || name == "PATH" || name == "PWD":
		return "is the profile's to set"
	}
	return ""
}
