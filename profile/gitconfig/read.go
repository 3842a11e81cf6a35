package gitconfig

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Place says whose configuration Read reads, and for which folder.
type Place struct {
	Home   string // $HOME
	XDG    string // $XDG_CONFIG_HOME, "" when not set
	Global string // $GIT_CONFIG_GLOBAL, "" when not set
	Dir    string // conditional includes are decided for it
}

const (
	timeout   = 10 * time.Second // for one git config
	maxOutput = 4 << 20          // bytes of configuration
)

// Read returns the user's global configuration, includes resolved. git is the absolute path of
// the program. It gets no environment but p, starts neither hooks nor helpers, and reads the
// configuration of a repository only for conditions. A file that git refuses is an error with
// git's own words.
//
// `git config --global` would read only one of the two files a user may have
// (builtin/config.c), so Read lists everything and selects by scope.
func Read(git string, p Place) ([]Entry, error) {
	env := base(p.Home)
	if p.XDG != "" {
		env = append(env, "XDG_CONFIG_HOME="+p.XDG)
	}
	if p.Global != "" {
		env = append(env, "GIT_CONFIG_GLOBAL="+p.Global)
	}
	out, err := ask(git, p.Dir, env)
	if err != nil {
		return nil, err
	}
	list, err := parseList(out)
	if err != nil {
		return nil, err
	}
	return only(list, "global"), nil
}

// Files returns the files that the settings come from: each that one of them is written in,
// and each that one of them includes, also under a condition that does not hold.
func Files(list []Entry, home string) []string {
	var out []string
	add := func(p string) {
		if filepath.IsAbs(p) && !slices.Contains(out, filepath.Clean(p)) {
			out = append(out, filepath.Clean(p))
		}
	}
	for _, e := range list {
		add(e.File)
		if Includes(e.Key) && e.Value != "" {
			add(Pathname(e.Value, filepath.Dir(e.File), home))
		}
	}
	return out
}

// Verify has git read the configuration back from the file at path, in the environment of
// the box, and returns an error when it is not r. A git before 2.32 knows no GIT_CONFIG_GLOBAL
// and would take the user's own instead.
func (r Result) Verify(git, path string) error {
	env := base("/nonexistent")
	for _, s := range r.Environment(path) {
		env = append(env, s.Key+"="+s.Value)
	}
	out, err := ask(git, "/", env)
	if err != nil {
		return err
	}
	list, err := parseList(out)
	if err != nil {
		return err
	}
	if !same(only(list, "global"), r.File) || !same(only(list, "command"), r.Command) {
		return errors.New("git does not read back what was written; 2.32 is the oldest version that can")
	}
	return nil
}

// same reports whether two lists have the same settings, whatever their files.
func same(got, want []Entry) bool {
	return slices.EqualFunc(got, want, func(a, b Entry) bool { return a.Key == b.Key && a.Value == b.Value && a.Bare == b.Bare })
}

// base returns the environment of every git that is started here.
func base(home string) []string {
	return []string{"HOME=" + home, "PATH=/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_TRACE2=0"}
}

// ask returns what git config --list prints in dir, with no environment but env.
func ask(git, dir string, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, git, "--no-pager", "config", "--list", "-z", "--includes", "--show-scope", "--show-origin")
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Second
	stdout, stderr := &capped{max: maxOutput}, &capped{max: 4096}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case stdout.full:
		return nil, fmt.Errorf("the git configuration has more than %d MiB", maxOutput>>20)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("git did not answer within %s", timeout)
	case err != nil:
		return nil, fmt.Errorf("git config --list: %w%s", err, firstLine(stderr.kept))
	}
	return stdout.kept, nil
}

// firstLine returns ": " and the first line that a program printed, without control characters,
// or "".
func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	if line == "" {
		return ""
	}
	return ": " + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
}

// capped keeps at most max bytes. The write that would exceed them is an error, which ends
// the writer.
type capped struct {
	kept []byte
	max  int
	full bool
}

func (c *capped) Write(p []byte) (int, error) {
	if len(c.kept)+len(p) > c.max {
		c.full = true
		return 0, io.ErrShortWrite
	}
	c.kept = append(c.kept, p...)
	return len(p), nil
}

// scoped is an entry and the scope git counts it to.
type scoped struct {
	Entry
	scope string
}

// only returns the settings of a scope.
func only(list []scoped, scope string) []Entry {
	var out []Entry
	for _, s := range list {
		if s.scope == scope {
			out = append(out, s.Entry)
		}
	}
	return out
}

// parseList reads what ask returns: scope NUL origin NUL key [LF value] NUL, repeated
// (git-config(1), -z, --show-scope, --show-origin).
func parseList(out []byte) ([]scoped, error) {
	fields := strings.Split(string(out), "\x00")
	if fields[len(fields)-1] != "" || len(fields)%3 != 1 {
		return nil, errors.New("git config --list: the answer is cut off")
	}
	var list []scoped
	for f := fields; len(f) > 3; f = f[3:] {
		key, value, assigned := strings.Cut(f[2], "\n")
		s := scoped{Entry{Key: key, Value: value, Bare: !assigned}, f[0]}
		if file, ok := strings.CutPrefix(f[1], "file:"); ok {
			s.File = file
		}
		list = append(list, s)
	}
	return list, nil
}
