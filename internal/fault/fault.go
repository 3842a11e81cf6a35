// Package fault is how a run that must not start says so: what is wrong, what to type,
// and the exit code.
package fault

import (
	"errors"
	"fmt"
)

// Refusal is a run that must not start, with something to type.
type Refusal struct {
	Msg  string
	Hint string // "" when there is nothing to type
	Code int    // the exit code, see docs: 2, 125, 126 or 127
}

func (r *Refusal) Error() string { return r.Msg }

// Refuse returns a Refusal.
func Refuse(code int, hint, format string, args ...any) error {
	return &Refusal{Msg: fmt.Sprintf(format, args...), Hint: hint, Code: code}
}

// AsRefusal returns the refusal in err, or nil.
func AsRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return nil
}

// Code is the exit code of an error: that of its refusal, or 125.
func Code(err error) int {
	if r := AsRefusal(err); r != nil {
		return r.Code
	}
	return 125
}
