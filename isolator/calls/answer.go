package calls

import (
	"encoding/base64"
	"encoding/json"
	"unicode/utf8"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/streams"
)

// Answer is what a call came to. When Started is false the program has not run, and Err says
// why. Each of the Warnings is told once by one Runner.
type Answer struct {
	isolator.Result

	ID      string
	Started bool

	Stdout, Stderr []byte
	Truncated      []string // of "stdout" and "stderr", those that are longer

	Err error // *fault.Refusal when inner has something to say
}

type answerError struct {
	Kind    string `json:"kind"`
	Code    int    `json:"code"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

// refusedJSON is an answer of a program that has not run.
type refusedJSON struct {
	ID       string       `json:"id"`
	Started  bool         `json:"started"`
	Profile  string       `json:"profile,omitempty"`
	Role     string       `json:"role,omitempty"`
	Warnings []string     `json:"warnings,omitempty"`
	Error    *answerError `json:"error"`
}

type answerJSON struct {
	ID        string       `json:"id"`
	Started   bool         `json:"started"`
	Code      int          `json:"code"`
	Signal    string       `json:"signal"`
	TimedOut  bool         `json:"timed_out"`
	Stdout    *string      `json:"stdout,omitempty"`
	StdoutB64 string       `json:"stdout_b64,omitempty"` // in the place of stdout, when that is no UTF-8
	Stderr    *string      `json:"stderr,omitempty"`
	StderrB64 string       `json:"stderr_b64,omitempty"`
	Truncated []string     `json:"truncated"`
	Millis    int64        `json:"ms"`
	Run       string       `json:"run"`
	Profile   string       `json:"profile"`
	Role      string       `json:"role"`
	Backend   string       `json:"backend"`
	Limits    []string     `json:"limits_reached"`
	Hosts     []string     `json:"hosts_refused"`
	Blocked   []string     `json:"blocked"`
	Warnings  []string     `json:"warnings"`
	Error     *answerError `json:"error"`
}

// MarshalJSON writes an answer as docs/tool-calls.md describes it.
func (a Answer) MarshalJSON() ([]byte, error) {
	var e *answerError
	if a.Err != nil {
		e = &answerError{Kind: fault.KindOf(a.Err), Code: fault.Code(a.Err), Message: visible.Text(a.Err.Error())}
		if r := fault.AsRefusal(a.Err); r != nil {
			e.Fix = r.Hint
		}
	}
	if !a.Started {
		return json.Marshal(refusedJSON{ID: a.ID, Profile: a.Profile, Role: a.Role, Warnings: a.Warnings, Error: e})
	}
	out := answerJSON{
		ID: a.ID, Started: true, Code: a.Code, Signal: a.Signal, TimedOut: a.TimedOut, Truncated: list(a.Truncated), Millis: a.Took.Milliseconds(),
		Run: a.Run, Profile: a.Profile, Role: a.Role, Backend: a.Backend,
		Limits: list(a.Limits), Hosts: list(a.Hosts), Blocked: list(a.Blocked), Warnings: list(a.Warnings), Error: e,
	}
	out.Stdout, out.StdoutB64 = text(a.Stdout)
	out.Stderr, out.StderrB64 = text(a.Stderr)
	return json.Marshal(out)
}

// list is a list that is never null.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func text(b []byte) (plain *string, base string) {
	if !utf8.Valid(b) {
		return nil, base64.StdEncoding.EncodeToString(b)
	}
	s := string(b)
	return &s, ""
}

// keep fills in what was kept of an output.
func (a *Answer) keep(name string, into *[]byte, from *streams.Kept) {
	text, cut := from.Text()
	if *into = text; cut {
		a.Truncated = append(a.Truncated, name)
	}
}
