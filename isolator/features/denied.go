package features

import (
	"fmt"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/learn"
)

// TellDenied says which of the places that are hidden from the box were asked for.
func TellDenied(run *Run, _ *Outcome) error {
	list, unseen := run.Observe.Accesses()
	hidden := learn.Suggest(list, Setting(run)).Hidden
	var parts []string
	for _, h := range hidden {
		more := ""
		if n := len(h.Paths); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, fmt.Sprintf("%s%s (allow = [%q])", visible.Text(run.Short(h.Paths[0])), more, h.Key))
	}
	switch {
	case len(parts) > 0:
		run.Say("hidden, and asked for: %s", strings.Join(parts, ", "))
		run.Hint("allow = [...] under [sandbox] of the profile shows them; they are secrets, so allow only what the program needs")
		if ask := Question(run.Profile, hidden[0].Paths[0]); ask != "" {
			run.Hint("%s", ask)
		}
	default:
		run.Say("the program asked for nothing that the table of resources hides")
	}
	if unseen > 0 {
		run.Say("%d calls could not be inspected", unseen)
	}
	return nil
}
