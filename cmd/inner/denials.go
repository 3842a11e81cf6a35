package main

import (
	"fmt"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/learn"
)

// explainDenials has a run end with a line that names the hidden places it asked
// for. The kernel tells of each call that names a file and waits for an answer, which
// is why only a flag turns it on.
func (a *app) explainDenials() (func(), error) {
	if err := learn.Supported(); err != nil {
		return nil, &fault.Refusal{Code: 125, Msg: "--explain-denials does not work here: " + err.Error(), Hint: "run it without"}
	}
	a.denials = learn.New()
	return a.denials.Close, nil
}

// sayDenials is the line.
func (j *journey) sayDenials() error {
	j.app.denials.End()
	list, unseen := j.app.denials.Accesses()
	hidden := learn.Suggest(list, j.setting()).Hidden
	var parts []string
	for _, h := range hidden {
		more := ""
		if n := len(h.Paths); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, fmt.Sprintf("%s%s (allow = [%q])", printable(j.app.Short(h.Paths[0])), more, h.Key))
	}
	switch {
	case len(parts) > 0:
		j.app.say("hidden, and asked for: %s", strings.Join(parts, ", "))
		j.app.hint("allow under [sandbox] of the profile shows them; think first")
	default:
		j.app.say("the program asked for nothing that the table of resources hides")
	}
	if unseen > 0 {
		j.app.say("%d calls could not be inspected", unseen)
	}
	return nil
}
