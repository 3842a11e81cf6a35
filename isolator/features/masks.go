package features

import (
	"fmt"
	"strings"
)

// masks makes the file that masks are bound from.
func masks() Feature {
	return Feature{
		Name: "masks", Keys: []string{"sandbox.allow", "sandbox.hide"},
		Make: func(run *Run) (err error) {
			run.Assets.Empty, err = run.Folder.File("empty", nil, 0o444)
			return err
		},
		Holds: heldMasks,
	}
}

// heldMasks counts what is covered: files by an empty one, folders by an empty one.
func heldMasks(run *Run) []Held {
	table, own := 0, 0
	for _, op := range run.Plan.Ops {
		switch {
		case op.Reason == "hidden: sandbox.hide":
			own++
		case strings.HasPrefix(op.Reason, "hidden:"):
			table++
		}
	}
	text := counted(table, "place is", "places are") + " covered by empty files and folders"
	if len(run.Spec.Hide) > 0 {
		text += fmt.Sprintf("; hide has %s, which cover %d here", counted(len(run.Spec.Hide), "pattern", "patterns"), own)
	}
	if allow := run.Spec.Allow; len(allow) > 0 {
		text += "; shown by allow: " + strings.Join(allow, ", ")
	}
	if len(run.Plan.Masked)+len(run.Plan.Protected) == 0 {
		text += "; what is replaced on this machine while the sandbox runs is not covered again"
	}
	return []Held{held("hide", "%s", text)}
}

// counted is a number with the word for it.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
