package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// app is the process: where its files are and where it prints.
type app struct {
	home  string // of the user
	inner string // INNER_HOME

	stdin          *os.File
	stdout, stderr io.Writer

	allTools    bool            // as if every tool of the table were on this computer
	interrupted bool            // the program of the last run died of SIGINT
	unaudited   bool            // it was said that the audit log cannot be written
	lesson      *lesson         // nil unless inner learn runs
	denials     *learn.Observer // of inner run --explain-denials; nil without

	configs map[string]configRead // each config.toml that was read, by path
	records map[string]recordRead // each record of the trust store that was read, by project
}

// newApp finds the folders. On error the app can still report it.
func newApp() (*app, error) {
	a := &app{stdin: os.Stdin, stdout: outputTo(os.Stdout), stderr: outputTo(os.Stderr)}
	home, err := homeFolder()
	if err != nil {
		return a, err
	}
	a.home = home
	a.inner = filepath.Join(home, ".inner")
	if p := os.Getenv("INNER_HOME"); p != "" {
		if !filepath.IsAbs(p) {
			return a, fmt.Errorf("INNER_HOME %q is not an absolute path", p)
		}
		a.inner = filepath.Clean(p)
		if rest, err := filepath.Rel(a.inner, home); err == nil && rest != ".." && !strings.HasPrefix(rest, "../") {
			return a, fmt.Errorf("INNER_HOME %q holds your home folder: it is to be a folder of its own", p)
		}
	}
	return a, nil
}

// ownFolder keeps root out of a user's INNER_HOME, as with sudo and the user's
// HOME: what root writes there the user could not read any more.
func (a *app) ownFolder() error {
	if os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	err := unix.Lstat(a.inner, &st)
	if errors.Is(err, unix.ENOENT) { // it would be root's, in a folder of the user
		err = unix.Stat(filepath.Dir(a.inner), &st)
	}
	if err != nil || st.Uid == 0 {
		return nil
	}
	return &fault.Refusal{Code: 126, Msg: fmt.Sprintf("%s belongs to user %d, and this is root", a.inner, st.Uid), Hint: "type it as that user, or set INNER_HOME to a folder of root's own"}
}

// homeFolder is $HOME, or the one of the password file.
func homeFolder() (string, error) {
	if h := os.Getenv("HOME"); filepath.IsAbs(h) {
		return filepath.Clean(h), nil
	}
	if h := profile.PasswordHome(); h != "" {
		return h, nil
	}
	return "", errors.New("HOME is not set, and the password file names no home")
}

func (a *app) profilesDir() string { return filepath.Join(a.inner, "profiles") }
func (a *app) logsDir() string     { return filepath.Join(a.inner, "logs") }
func (a *app) configFile() string  { return filepath.Join(a.inner, "config.toml") }
func (a *app) trust() trust.Store  { return trust.Store{Dir: filepath.Join(a.inner, "trust")} }
func (a *app) shimDir() string     { return filepath.Join(a.inner, "shims", "bin") }

// place is where a call happens.
type place struct {
	cwd     string           // physical
	project *profile.Project // nil outside
}

// here finds the working folder, by its physical path, and its project: the
// same project under two names is one.
func (a *app) here() (place, error) {
	cwd, err := unix.Getwd() // the kernel's word: $PWD can say anything
	switch {
	case errors.Is(err, unix.ENOENT):
		return place{}, &fault.Refusal{Code: 126, Msg: "the current folder does not exist any more", Hint: "cd to a folder that exists"}
	case err == nil && !filepath.IsAbs(cwd):
		return place{}, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("the current folder %q is outside the root folder", cwd), Hint: "cd"}
	case err != nil:
		return place{}, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("the current folder cannot be named: %v", err), Hint: "cd"}
	}
	return place{cwd: cwd, project: a.projectOf(cwd)}, nil
}

func (a *app) projectOf(dir string) *profile.Project {
	return profile.FindProject(dir, a.inner, filepath.Join(a.home, ".inner"))
}

// behind is the main worktree's project behind the .inner of a linked one, or nil.
func (a *app) behind(p *profile.Project) *profile.Project {
	if p == nil {
		return nil
	}
	return p.Behind(a.inner, filepath.Join(a.home, ".inner"))
}

func (pl place) root() string {
	if pl.project == nil {
		return ""
	}
	return pl.project.Root
}

func (a *app) loader(pl place) *profile.Loader {
	l := &profile.Loader{Home: a.home, GlobalDir: a.profilesDir(), Declared: a.declared}
	if pl.project != nil && pl.project.Problem == nil {
		l.Project = pl.project
	}
	return l
}

// selves are the files that are inner itself: the running binary and the copy
// the shims lead to.
func (a *app) selves() []os.FileInfo {
	var out []os.FileInfo
	for _, p := range []string{"/proc/self/exe", filepath.Join(a.inner, "shims", "inner")} {
		if fi, err := os.Stat(p); err == nil {
			out = append(out, fi)
		}
	}
	return out
}

// findReal finds a program on a PATH, never one of ours.
func (a *app) findReal(name, pathVar string) (string, error) {
	return shims.FindReal(name, pathVar, a.shimDir(), a.selves()...)
}
