package shims

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// Marker is the file that tells inner it is inside one of its boxes.
const Marker = paths.BoxMarker

// Env is the situation of one call.
type Env struct {
	Home     Home
	Name     string // the command that was called
	Cwd      string // physical path of the working folder
	CwdErr   error  // why there is none
	StdinTTY bool   // standard input is a terminal
	SetID    bool   // running with the rights of another user than the caller's
	Marker   string // Marker, but for tests
}

// Kind is what happens to a call. The zero Kind refuses.
type Kind int

// The kinds of decision.
const (
	Refuse      Kind = iota // nothing runs: Reason, Hint, ExitCode
	Run                     // Profile, in its sandbox
	PassThrough             // the real program
)

// String names the kind.
func (k Kind) String() string {
	switch k {
	case Run:
		return "run"
	case PassThrough:
		return "pass through"
	}
	return "refuse"
}

// Decision is the answer to one call, and how it came about.
type Decision struct {
	Kind     Kind
	Name     string
	Profile  *profile.Profile // to run
	Project  *profile.Project // in force for the run, or nil
	State    trust.State      // of the profile or config.toml that decided, or ""
	Why      string           // one line: what decided
	Reason   string           // of a refusal, one line: what and why
	Hint     string           // of a refusal, one thing to type, or ""
	ExitCode int              // of a refusal
	// Views are the projects that were looked at, nearest first.
	Views []*View
	// Config is the user's own config.toml, when it was asked.
	Config *config.Config
}

// HostEnv is the situation of this process, called as the shim c.
func HostEnv(c Call) Env {
	cwd, err := unix.Getwd() // not os.Getwd, which believes PWD
	if err == nil && !filepath.IsAbs(cwd) {
		err = fmt.Errorf("%q is outside the root folder", cwd)
	}
	_, noTTY := unix.IoctlGetTermios(0, unix.TCGETS)
	return Env{
		Home: Home{Inner: c.InnerHome, User: userHome()}, Name: c.Name, Cwd: cwd, CwdErr: err, StdinTTY: noTTY == nil,
		SetID: unix.Geteuid() != unix.Getuid() || unix.Getegid() != unix.Getgid(), Marker: Marker,
	}
}

// userHome is HOME, else what the password file says, else "".
func userHome() string {
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Clean(home)
	}
	return profile.PasswordHome()
}

// Decide says what happens to a call. It only reads files.
//
// The order, each step ending the search when it has an answer:
//
//  1. Inside a box the real program runs: boxes are not nested and not loosened.
//  2. With the rights of another user, without a home or without a working folder that
//     has a name, nothing runs.
//  3. The projects from the working folder outwards, nearest first. The first that
//     claims the command answers (see ask). A project that does not claim it does
//     not end the search: a program in the box can create a .inner further in, and
//     must not be able to lift the outer claim so. Behind a linked worktree's own
//     .inner stands that of the main worktree. What is recorded as allowed for a
//     folder whose .inner is gone is refused.
//  4. [shims] in the user's own config.toml.
//  5. For an agent, anything that could not be read on the way refuses: a claim cannot
//     be excluded.
//  6. The real program.
func Decide(e Env) Decision {
	d := Decision{Name: e.Name}
	if d.anywhere(e) || d.projects(e) || d.global(e) || d.uncertain() {
		return d
	}
	d.Kind = PassThrough
	if d.Why == "" {
		d.Why = "no profile claims it"
	}
	return d
}

// anywhere answers what is decided without any project, and reports whether it has.
func (d *Decision) anywhere(e Env) bool {
	switch {
	case inBox(e.Marker):
		d.Kind, d.Why = PassThrough, "already inside a sandbox"
		return true
	case e.SetID:
		return d.refuse(fmt.Sprintf("%q was called with the rights of another user", e.Name), "")
	case !filepath.IsAbs(e.Home.Inner) || !filepath.IsAbs(e.Home.User):
		return d.refuse(fmt.Sprintf("%q: HOME is not set and no home folder is known", e.Name), `export HOME=...`)
	case e.CwdErr != nil:
		return d.refuse(fmt.Sprintf("%q: the working folder cannot be named: %v", e.Name, e.CwdErr), "cd")
	}
	if err := profile.CheckCommand(e.Name); err != nil {
		return d.refuse(fmt.Sprintf("%q cannot be a shim: %v", e.Name, err), "inner shim regenerate")
	}
	return false
}

// uncertain refuses an agent that a file which could not be read may claim, and reports whether it
// has.
func (d *Decision) uncertain() bool {
	if !isAgent(d.Name) {
		return false
	}
	for _, v := range d.Views {
		if len(v.Uncertain) > 0 {
			return d.refuse(fmt.Sprintf("%q may be claimed in %q: %s", d.Name, v.Root, fault.First(v.Uncertain[0])), "inner status")
		}
	}
	return false
}

// refuse is the answer that nothing runs. It returns true, for there is one.
func (d *Decision) refuse(reason, hint string) bool {
	d.Kind, d.Reason, d.Hint, d.ExitCode = Refuse, reason, hint, ExitRefused
	if d.Why == "" {
		d.Why = reason
	}
	return true
}

// projects asks the projects from the working folder outwards, and the folders that were projects once, and reports
// whether one has answered.
func (d *Decision) projects(e Env) bool {
	for dir, p := range e.Home.Around(e.Cwd) {
		if p == nil && d.askGone(e, dir) || p != nil && d.ask(e, e.Home.Look(p)) {
			return true
		}
	}
	return false
}

// askGone lets a folder answer that was a project once, and has a record.
func (d *Decision) askGone(e Env, dir string) bool {
	rec, err := e.Home.Trust().Project(dir)
	switch {
	case err != nil:
		return d.refuse(fmt.Sprintf("%q: what was allowed for %q cannot be read: %v", e.Name, dir, err),
			"bring back "+quotePath(filepath.Join(dir, ".inner"))+", then inner allow --forget and inner allow "+quotePath(dir))
	case rec == nil:
		return false
	}
	return d.ask(e, lookGone(rec))
}

// global asks the user's own config.toml.
func (d *Decision) global(e Env) bool {
	path := filepath.Join(e.Home.Inner, "config.toml")
	file, err := profile.ReadFile(path)
	if err == nil && !mayName(file, e.Name) {
		return false // whether or not it is valid
	}
	read := config.Of(file, err, false)
	if read.Err != nil {
		return mayClaim(read.File, e.Name) &&
			d.refuse(fmt.Sprintf("%q may be claimed in a file that is not valid: %s", e.Name, fault.First(read.Err)), "inner config edit")
	}
	d.Config = read.Config
	for _, kv := range read.Config.Shims {
		if kv.Key != e.Name {
			continue
		}
		d.Why = fmt.Sprintf("[shims] in %q", path)
		p, err := e.Home.loadGlobal(kv.Value)
		if err != nil {
			return d.refuse(fmt.Sprintf("profile %q, to which %q maps %q, cannot be used: %s", kv.Value, path, e.Name, fault.First(err)),
				"inner profile validate "+quotePath(kv.Value))
		}
		d.Kind, d.Profile, d.State = Run, p, trust.Allowed
		// A project the user has not allowed has no say in what is writable.
		if len(d.Views) > 0 && d.Views[0].Trusted() {
			d.Project = d.Views[0].Project
		}
		return true
	}
	return false
}

// mayClaim reports whether a config.toml that is not valid may claim a command. No other one is
// refused: a typing error in it must not stop every script that calls a shim of some other project.
func mayClaim(file *profile.File, name string) bool {
	return isAgent(name) || file == nil && !Everyday(name) || file != nil && strings.Contains(string(file.Data), name)
}

// mayName reports whether a config.toml may have to do with a command: one that does not have its name, nor a
// backslash, by which a name is written in another way, need not be parsed for any but an agent.
func mayName(file profile.File, name string) bool {
	return isAgent(name) || strings.Contains(string(file.Data), name) || strings.Contains(string(file.Data), `\`)
}

// loadGlobal loads a profile of the user's own; a project's of the same name does not
// come into it.
func (h Home) loadGlobal(name string) (*profile.Profile, error) {
	l := h.loader(nil)
	path, scope, err := l.Find(name)
	if err != nil {
		return nil, err
	}
	if scope != profile.Global {
		return nil, fmt.Errorf("profile %q is not a global one", name)
	}
	return l.Load(path, scope)
}

// inBox reports whether the marker is that of a box: a regular file on a read-only
// mount. A file that somebody created on the host is on a mount that can be written.
func inBox(marker string) bool {
	info, err := os.Lstat(marker)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	var fs unix.Statfs_t
	return unix.Statfs(marker, &fs) == nil && fs.Flags&unix.ST_RDONLY != 0
}

// InBox reports whether this process runs inside a box of inner's.
func InBox() bool { return inBox(Marker) }

// quotePath writes a path or a name as something to type.
func quotePath(path string) string { return quote.POSIX(path) }

// Claimed returns the commands that do not simply run in the folder e.Cwd: those that
// a project around it, or the user's own config.toml, claims, sorted. Where a claim
// cannot be excluded the agents are among them, for they are refused.
func Claimed(e Env) []string {
	if inBox(e.Marker) || e.SetID || e.CwdErr != nil {
		return nil
	}
	e.Name = "" // which no profile claims, so that every project is looked at
	var d Decision
	d.projects(e)
	d.global(e)
	var out []string
	for _, v := range d.Views {
		out = append(out, v.claimed()...)
		if len(v.Uncertain) > 0 {
			out = append(out, Agents()...)
		}
	}
	if d.Config != nil {
		for _, kv := range d.Config.Shims {
			out = append(out, kv.Key)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// claimed are the commands that do not simply run because of a project.
func (v *View) claimed() (words []string) {
	for _, p := range v.all() {
		for _, c := range p.Claims {
			if c.Guarded && !p.Unread {
				words = append(words, c.Command)
			}
		}
	}
	return words
}
