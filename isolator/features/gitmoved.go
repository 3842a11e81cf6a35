package features

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/runlog"
)

// maxAsked is how many refs git is asked about at the end of a run; of more nothing is left out.
const maxAsked = 200

// rewound returns those of the refs that a box moved whose earlier value is no part of the new one: branches that it deleted or
// forced, tags that name something else. Refs of remotes are left out, which follow another repository.
func rewound(program string, moved []server.Moved) (out []runlog.Ref) {
	for _, m := range moved {
		i := slices.IndexFunc(out, func(o runlog.Ref) bool { return o.Repo == m.Repo && o.Ref == m.Ref })
		switch {
		case i >= 0:
			out[i].New = m.New
		case m.Old != "" && !strings.HasPrefix(m.Ref, "refs/remotes/") && !strings.HasPrefix(m.Old, "ref: "):
			out = append(out, runlog.Ref(m))
		}
	}
	asked := 0
	return slices.DeleteFunc(out, func(m runlog.Ref) bool {
		switch {
		case m.Old == m.New:
			return true
		case m.New == "" || strings.HasPrefix(m.Ref, "refs/tags/"):
			return false
		case m.Ref == "refs/stash":
			log, err := os.ReadFile(filepath.Join(m.Repo, "logs", m.Ref))
			return err == nil && strings.Contains(string(log), " "+m.Old+" ")
		}
		asked++
		return asked <= maxAsked && git.Contains(program, m.Repo, m.New, m.Old)
	})
}
