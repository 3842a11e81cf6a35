package isolator

import (
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// ShellWords is how a command line is run: by bash where the box has one, else by sh. In a
// session the shell leaves the folder that it ended in.
func ShellWords(c *caller.Caller, line string, spec profile.RunConfig, inSession bool) []string {
	sh := "sh"
	if _, err := c.FindReal("bash", plan.BoxPath(spec, c.Getenv("PATH"))); err == nil {
		sh = "bash"
	}
	if !inSession {
		return []string{sh, "-c", line}
	}
	// The line itself is shifted away, so that it sees no argument.
	return []string{sh, "-c", "trap 'pwd -P >" + session.LastFile + " 2>/dev/null' EXIT; eval \"shift\n$1\"", sh, line}
}

// SessionProject is the project that sessions of a place belong to: its root, or outside of
// projects the folder.
func SessionProject(pl settings.Place) string {
	if root := pl.Root(); root != "" {
		return root
	}
	return pl.Cwd
}
