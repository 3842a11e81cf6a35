package features

import (
	"strconv"

	"github.com/enr/inner/internal/fault"
)

// Bwrap is, in a program that makes boxes by bwrap alone, what makes the box. It refuses a profile that names
// a container engine, which package container can do.
func Bwrap() Feature {
	return Feature{
		Name: "backend", Keys: []string{"sandbox.backend", "sandbox.image"},
		Learn: func(run *Run) error {
			if b := run.Spec.Backend; b != "bwrap" && b != "auto" {
				msg := "profile " + strconv.Quote(run.Spec.Name) + ": the sandbox cannot start: this program makes none by " + b
				return &fault.Refusal{Code: 125, Kind: fault.KindBackend, Msg: msg, Hint: "call isolator.Main first in main"}
			}
			return nil
		},
	}
}

// Backend is the name of what makes the box of a run.
func (run *Run) Backend() string {
	if e := run.Facts.Engine; e != nil {
		return e.Name
	}
	return "bwrap"
}
