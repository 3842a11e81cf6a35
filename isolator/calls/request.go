package calls

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/enr/inner/internal/fault"
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
	maxArgv = 1 << 20 // of all arguments, and of the variables together: what execve(2) takes
	maxArg  = 128<<10 - 1
	maxText = 256 // of id and actor
)

// Parse reads a request. It is strict: a key that is unknown, written in another case or twice,
// null, or anything after the object is an error, a *fault.Refusal with exit code 2. The
// request that comes with an error has the ID, when that was read.
func Parse(text []byte) (q Request, err error) {
	if err := q.parse(text); err != nil {
		return Request{ID: q.ID}, misuse("%w", err)
	}
	return q, q.Check()
}

func misuse(format string, args ...any) error {
	return &fault.Refusal{Code: 2, Kind: fault.KindUsage, Msg: fmt.Errorf(format, args...).Error()}
}

func (q *Request) parse(text []byte) error {
	if !utf8.Valid(text) {
		return errors.New("the request is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("the request is not a JSON object")
	}
	fields := map[string]any{
		"id": &q.ID, "argv": &q.Argv, "line": &q.Line, "cwd": &q.Cwd, "stdin": &q.Stdin, "timeout_ms": &q.Timeout, "max_output": &q.Max,
		"role": &q.Role, "session": &q.Session, "actor": &q.Actor, "env": &q.Env,
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return errors.New("the request is not JSON")
		}
		into := fields[key]
		switch {
		case into == nil:
			return fmt.Errorf("unknown key %q: those are %s", short(key), strings.Join(slices.Sorted(maps.Keys(fields)), ", "))
		case seen[key]:
			return fmt.Errorf("%s is written twice", key)
		}
		seen[key] = true
		if err := value(d, key, into); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return errors.New("the request is not JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the request")
	}
	q.HasRole = seen["role"]
	return nil
}

// value reads the value of a key.
func value(d *json.Decoder, key string, into any) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return errors.New("the request is not JSON")
	}
	if key == "env" {
		return variables(raw, into.(*map[string]string))
	}
	if err := json.Unmarshal(raw, into); err != nil || bytes.Contains(raw, []byte("null")) && hasToken(raw, func(t json.Token) bool { return t == nil }) {
		return fmt.Errorf("%s: %s", key, wanted(into))
	}
	return lossless(key, raw)
}

// hasToken reports whether a value, which is JSON, has such a token.
func hasToken(raw []byte, such func(json.Token) bool) bool {
	d := json.NewDecoder(bytes.NewReader(raw))
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if such(t) {
			return true
		}
	}
}

// lossless refuses half of a surrogate pair, which no text has and Go would replace.
func lossless(key string, raw []byte) error {
	if !bytes.Contains(bytes.ToLower(raw), []byte(`\ud`)) {
		return nil
	}
	if hasToken(raw, func(t json.Token) bool {
		s, ok := t.(string)
		return ok && strings.ContainsRune(s, utf8.RuneError)
	}) {
		return fmt.Errorf("%s: half of a surrogate pair is not text", key)
	}
	return nil
}

func wanted(into any) string {
	switch into.(type) {
	case *string:
		return "wants a string"
	case *[]string:
		return "wants a list of strings"
	}
	return "wants a whole number"
}

// variables reads env, whose keys are free and may not stand twice.
func variables(raw []byte, into *map[string]string) error {
	const want = "env: wants an object of strings"
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New(want)
	}
	*into = map[string]string{}
	for d.More() {
		t, err := d.Token()
		key, ok := t.(string)
		if err != nil || !ok {
			return errors.New(want)
		}
		v, err := d.Token()
		text, ok := v.(string)
		if err != nil || !ok {
			return errors.New(want)
		}
		if _, twice := (*into)[key]; twice {
			return fmt.Errorf("env: %q is written twice", short(key))
		}
		(*into)[key] = text
	}
	return lossless("env", raw)
}

func short(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// Check says what is wrong with a request.
func (q Request) Check() error {
	switch {
	case (len(q.Argv) == 0) == (q.Line == ""):
		return misuse("a request has either argv or line")
	case len(q.Argv) > 0 && q.Argv[0] == "":
		return misuse("argv: the program has no name")
	case q.Timeout < 0 || q.Timeout > int64(365*24*time.Hour/time.Millisecond):
		return misuse("timeout_ms: %d is not a number of milliseconds", q.Timeout)
	case q.Max < 0:
		return misuse("max_output: %d is not a number of bytes", q.Max)
	}
	for _, t := range []struct{ key, text string }{{"id", q.ID}, {"actor", q.Actor}, {"role", q.Role}} {
		if len(t.text) > maxText || strings.ContainsFunc(t.text, unicode.IsControl) {
			return misuse("%s: is longer than %d bytes, or has a control character", t.key, maxText)
		}
	}
	if q.Session != "" {
		if err := (session.Key{ID: q.Session}).Check(); err != nil {
			return err
		}
	}
	return q.checkWords()
}

// checkWords looks at what becomes arguments and variables.
func (q Request) checkWords() error {
	size := 0
	for key, words := range map[string][]string{"argv": q.Argv, "line": {q.Line}, "cwd": {q.Cwd}} {
		for _, w := range words {
			switch size += len(w) + 1; {
			case strings.IndexByte(w, 0) >= 0:
				return misuse("%s: contains a NUL character", key)
			case len(w) > maxArg:
				return misuse("%s: is longer than the %d bytes that Linux takes as one argument; stdin takes more", key, maxArg)
			}
		}
	}
	for name, v := range q.Env {
		if size += len(name) + len(v) + 2; strings.IndexByte(v, 0) >= 0 || len(v) > maxArg {
			return misuse("env: the value of %q is too long, or contains a NUL character", short(name))
		}
		if why := notForCalls(name); why != "" {
			return misuse("env: %q %s", short(name), why)
		}
	}
	if size > maxArgv {
		return misuse("the arguments and variables are longer than %d bytes", maxArgv)
	}
	return nil
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
