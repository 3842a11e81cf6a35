package isolator

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// Asked is what runs instead of the profile's program. Either Argv or Line is set.
type Asked struct {
	Argv    []string
	Line    string            // a command line for the shell of the box
	Dir     string            // box path to start in; "" is the session's folder, or else the profile's
	Env     map[string]string // in addition to the profile's variables
	Timeout time.Duration     // counts when it is shorter than the profile's; 0 is the profile's
	Session string            // its id; "" for none
	Actor   string            // on whose behalf, for the audit log
}

// into completes a call whose profile resolves to spec. s is its session, or nil.
func (q Asked) into(c *Call, who *caller.Caller, spec profile.RunConfig, s *session.Session) error {
	if s != nil {
		c.Tmp, c.Session, c.Start, c.OrElse, c.By.Session = s.Tmp, s.Dir(), s.Last, true, s.ID
	}
	if q.Dir != "" {
		c.Start, c.OrElse = q.Dir, false
		if !filepath.IsAbs(q.Dir) {
			c.Start = filepath.Join(spec.Cwd, q.Dir)
		}
	}
	argv := q.words(who, spec, c.Start, s != nil)
	o := profile.Overrides{Interactive: new(bool), Entrypoint: argv[0], Extra: argv[1:]}
	for _, name := range slices.Sorted(maps.Keys(q.Env)) {
		if spec.Env.Kept(name) {
			return usage("env: %q passes into no box ([hide] env of config.toml)", name)
		}
		o.Env = append(o.Env, profile.KV{Key: name, Value: q.Env[name]})
	}
	if q.Timeout > 0 && (spec.Output.Timeout == 0 || q.Timeout < spec.Output.Timeout) {
		o.Timeout = &q.Timeout
	}
	c.Context.Overrides = o
	return nil
}

// words are the arguments of what is asked for, which starts in a folder of the box.
func (q Asked) words(who *caller.Caller, spec profile.RunConfig, start string, inSession bool) []string {
	if q.Line != "" {
		return shellWords(who, q.Line, spec, inSession)
	}
	if program := q.Argv[0]; strings.Contains(program, "/") && !filepath.IsAbs(program) && start != "" {
		return append([]string{filepath.Join(start, program)}, q.Argv[1:]...)
	}
	return q.Argv
}

// shellWords returns the arguments that run a command line: with bash where the box has it, else
// with sh. In a session the shell writes the folder that it ended in to session.LastFile.
func shellWords(c *caller.Caller, line string, spec profile.RunConfig, inSession bool) []string {
	sh := "sh"
	if !spec.Container() { // an image need not have the host's bash
		if _, err := c.FindReal("bash", plan.BoxPath(spec, c.Getenv("PATH"))); err == nil {
			sh = "bash"
		}
	}
	if !inSession {
		return []string{sh, "-c", line}
	}
	// shift hides the line from itself: it sees no arguments. An earlier call may have left a
	// FIFO at LastFile, on which this one would block for ever.
	return []string{sh, "-c", "trap '[ -p " + session.LastFile + " ] || pwd -P >" + session.LastFile + " 2>/dev/null' EXIT; eval \"shift\n$1\"", sh, line}
}

// SessionProject returns what sessions of a place belong to: the root of its project, or the folder
// itself outside of projects.
func SessionProject(pl settings.Place) string {
	if root := pl.Root(); root != "" {
		return root
	}
	return pl.Cwd
}
