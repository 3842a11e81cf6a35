package features

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/changes"
)

// someChanges is how many changes the end of a run lists.
const someChanges = 20

// Guard knows what the host would obey.
func Guard(c *caller.Caller) *changes.Guard {
	return changes.NewGuard(c.Homes(), c.Getenv)
}

// Sources names what was copied.
func Sources(who *caller.Caller, k *changes.Kept) string {
	var names []string
	for _, c := range k.Record.Copies {
		names = append(names, who.Short(string(c.Source)))
	}
	return strings.Join(names, ", ")
}

// ListChanges prints changes for people, at most so many.
func ListChanges(who *caller.Caller, k *changes.Kept, list []changes.Change, most int) {
	who.Say("changed in the copy of %s: %s", Sources(who, k), changes.CountOf(list))
	list = slices.DeleteFunc(slices.Clone(list), changes.Change.GitRecord)
	guard := Guard(who)
	for i, c := range list {
		if i == most {
			who.Say("  … and %d more", len(list)-most)
			break
		}
		who.Say("  %s", ChangeLine(who, k, guard, c))
	}
}

// ChangeLine is one change in one line, like git status.
func ChangeLine(who *caller.Caller, k *changes.Kept, g *changes.Guard, c changes.Change) string {
	letter := map[changes.Kind]string{changes.Added: "A", changes.Modified: "M", changes.Deleted: "D", changes.Mode: "m", changes.Type: "T"}[c.Kind]
	name := c.Name()
	if len(k.Record.Copies) > 1 {
		name = who.Short(c.Full()) + strings.TrimPrefix(name, c.Path)
	}
	line := letter + " " + name
	if c.Target != "" {
		line += " -> " + c.Target
	}
	if c.Old != 0 && c.New != 0 && c.Kind != changes.Type && c.Target == "" && c.Old.Perm() != c.New.Perm() {
		line += fmt.Sprintf(" (%#o, was %#o)", c.New.Perm(), c.Old.Perm())
	}
	if g.Protects(c) {
		line += " (protected)"
	}
	if c.Clash != "" {
		line += " (conflict: " + c.Clash + ")"
	}
	return line
}
