package launch

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
)

// boxLimits are the limits of a run.
type boxLimits struct {
	plan  *limits.Plan  // nil without limits
	group *limits.Group // nil without one to watch
	over  string        // the limit that Options.Over said the box came to, by its key
}

// command is how bwrap is started: with its own arguments and nothing in its
// environment, which is readable inside, in /proc/1/environ. With a scope of
// systemd that program comes first, and becomes bwrap.
func command(l *limits.Plan, argv []string) (words, env []string) {
	if l == nil || len(l.Scope) == 0 {
		return argv, []string{}
	}
	return append(l.Scope[:len(l.Scope):len(l.Scope)], argv...), l.ScopeEnv
}

// groupOf opens the control group that bwrap is to be started in, or returns -1
// when it is to be in ours.
func (s *session) groupOf(l *limits.Plan) (fd int, err error) {
	switch {
	case l == nil || l.Parent == "":
		return -1, nil
	case l.Folder == "":
		return -1, errors.New("the run's control group was not made")
	}
	fd, err = s.owned.add(unix.Open(l.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0))
	if err != nil {
		return -1, fmt.Errorf("control group %q: %w", l.Folder, err)
	}
	return fd, nil
}

// limited makes sure, before the program starts, that the group of bwrap says
// what it was told, whoever told it. When it does not, the box is ended.
func (s *session) limited() bool {
	if s.limits.plan == nil || s.limits.plan.Group == (limits.Values{}) || s.limits.group != nil {
		return true
	}
	dir, err := s.limits.plan.Folder, error(nil)
	if dir == "" {
		pid := s.child.pid
		if s.container != nil {
			pid = s.first // the engine is in another group
		}
		dir, err = limits.Of(pid)
	}
	if err == nil {
		s.limits.group, err = limits.Open(dir, s.limits.plan.Group)
	}
	if err != nil {
		s.fail("limits are not in force: " + err.Error())
		return false
	}
	return true
}

func (s *session) lookAtLimits() {
	if s.over() {
		return
	}
	if s.limits.over = s.o.Over(); s.limits.over != "" {
		s.killBox()
		return
	}
	s.alarms.in(lookAtLimits, lookEvery, s.lookAtLimits)
}

// reached names the limits that the run, or a call, came to.
func (s *session) reached(r Result) []string {
	if s.limits.plan == nil {
		return nil
	}
	keys := s.limits.group.Reached()
	if s.limits.over != "" {
		keys = append([]string{s.limits.over}, keys...)
	}
	// The kernel sends the signal to whoever writes beyond it (setrlimit(2));
	// a shell hands on that its last program died so.
	if s.limits.plan.Rlimits.FileSize > 0 && r.Started && r.Code == 128+int(syscall.SIGXFSZ) {
		keys = append(keys, "file_size")
	}
	return keys
}
