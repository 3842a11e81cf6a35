// Package program runs the host's git where a box had a hand in what it reads.
package program

import "os/exec"

// Command prepares a git that runs nothing which the settings of a repository name, takes no settings
// of a person or the system, and fetches nothing. Paths are taken as they are. Where it runs is the
// caller's to say, by variables or flags.
func Command(git string, args ...string) *exec.Cmd {
	ours := []string{"--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	cmd := exec.Command(git, append(ours, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_TRACE2=0", "GIT_ALLOC_LIMIT=2g",
	}
	return cmd
}
