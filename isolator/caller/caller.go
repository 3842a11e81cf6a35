// Package caller is whoever calls inner, as values: the folders, the environment, the
// standard streams, and how a person is told something. The packages of a run ask the
// process for none of these, so a program that makes runs decides about all of them.
package caller

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// Teller tells a person something, a line for each call. Text that comes from strangers
// is made visible by the implementation.
type Teller interface {
	Say(format string, args ...any)
	Warn(format string, args ...any)
	Hint(format string, args ...any) // something to type
	Fail(err error)                  // each fault on a line of its own, then its hint
}

// Caller is who calls. Its exported fields are not changed while it is used.
type Caller struct {
	Home      string   // of the user, absolute
	InnerHome string   // INNER_HOME, absolute, its links resolved: what a box has of it is opened through none
	Environ   []string // KEY=VALUE, as os.Environ

	Stdin, Stdout, Stderr *os.File

	// Exe is the inner binary that is the supervisor of boxes; "" when this program is, because
	// it lets isolator.Main have the first word.
	Exe string

	// Inner is the inner binary that the programs beside it are found by; "" when the state of the shims says it.
	Inner string

	Version  string // of inner, for records
	AllTools bool   // as if every tool of the table of resources were on this computer

	Teller

	unaudited bool // it was said that the audit log cannot be written
}

// LookupEnv is os.LookupEnv in the caller's environment.
func (c *Caller) LookupEnv(name string) (string, bool) {
	for _, kv := range c.Environ {
		if rest, ok := strings.CutPrefix(kv, name); ok && strings.HasPrefix(rest, "=") {
			return rest[1:], true
		}
	}
	return "", false
}

// Getenv is os.Getenv in the caller's environment.
func (c *Caller) Getenv(name string) string {
	value, _ := c.LookupEnv(name)
	return value
}

// Beside finds a program that lies beside inner.
func (c *Caller) Beside(program string) (path string, err error) {
	folder := shims.Folder{Home: c.InnerHome}
	return shims.FindBeside(cmp.Or(c.Inner, c.Exe, folder.ReadState().Fleet, folder.Binary()), program)
}

// OnPath returns those of the programs that are on the caller's PATH, as FindReal finds them.
func (c *Caller) OnPath(names ...string) []string {
	path := c.Getenv("PATH")
	return slices.DeleteFunc(shims.Named(names, path), func(name string) bool {
		_, err := c.FindReal(name, path)
		return err != nil
	})
}

// ProfilesDir returns where the user's own profiles are.
func (c *Caller) ProfilesDir() string { return filepath.Join(c.InnerHome, "profiles") }

// BuiltinsFile returns the file with the digests of the built-in profiles that inner wrote last.
func (c *Caller) BuiltinsFile() string { return filepath.Join(c.InnerHome, "builtins") }

// LogsDir returns where inner keeps records on its own, and the audit log.
func (c *Caller) LogsDir() string { return filepath.Join(c.InnerHome, "logs") }

// ConfigFile returns the user's own config.toml.
func (c *Caller) ConfigFile() string { return filepath.Join(c.InnerHome, "config.toml") }

// Trust returns the store of what the user has approved.
func (c *Caller) Trust() trust.Store { return trust.Store{Dir: filepath.Join(c.InnerHome, "trust")} }

// ShimDir returns the folder of links that is first on PATH.
func (c *Caller) ShimDir() string { return filepath.Join(c.InnerHome, "shims", "bin") }

// SessionsDir returns the folder with the files that the calls of a session share.
func (c *Caller) SessionsDir() string { return filepath.Join(c.InnerHome, "sessions") }

// StageBase returns where the folders of runs are.
func (c *Caller) StageBase() string { return stage.Base(c.Getenv("XDG_RUNTIME_DIR")) }

// OtherHome returns the home in the password file when it is not Home, or "".
func (c *Caller) OtherHome() string {
	if other := profile.PasswordHome(); other != c.Home {
		return other
	}
	return ""
}

// Folders finds the home of the user and INNER_HOME from an environment, the latter with its
// links resolved as far as it exists. On an error they are what is known of them.
func Folders(getenv func(string) string) (home, innerHome string, err error) {
	if home = getenv("HOME"); filepath.IsAbs(home) {
		home = filepath.Clean(home)
	} else if home = profile.PasswordHome(); home == "" {
		return "", "", errors.New("HOME is not set, and the password file names no home")
	}
	innerHome = files.Resolved(filepath.Join(home, ".inner"))
	p := getenv("INNER_HOME")
	switch {
	case p == "":
		return home, innerHome, nil
	case !filepath.IsAbs(p):
		return home, innerHome, fmt.Errorf("INNER_HOME %q is not an absolute path", p)
	}
	innerHome = files.Resolved(filepath.Clean(p))
	if rest, err := filepath.Rel(innerHome, files.Resolved(home)); err == nil &&
		rest != ".." && !strings.HasPrefix(rest, "../") {
		return home, innerHome, fmt.Errorf("INNER_HOME %q holds your home folder: it is to be a folder of its own", p)
	}
	return home, innerHome, nil
}

// Homes returns the homes of the user.
func (c *Caller) Homes() []string {
	if other := c.OtherHome(); other != "" {
		return []string{c.Home, other}
	}
	return []string{c.Home}
}

// OwnFolder keeps root out of a user's INNER_HOME, as with sudo and the user's
// HOME: what root writes there the user could not read any more.
func (c *Caller) OwnFolder() error {
	if os.Geteuid() != 0 {
		return nil
	}
	var st unix.Stat_t
	err := unix.Lstat(c.InnerHome, &st)
	if errors.Is(err, unix.ENOENT) { // it would be root's, in a folder of the user
		err = unix.Stat(filepath.Dir(c.InnerHome), &st)
	}
	if err != nil || st.Uid == 0 {
		return nil
	}
	return &fault.Refusal{
		Code: 126,
		Msg:  fmt.Sprintf("%s belongs to user %d, and this is root", c.InnerHome, st.Uid),
		Hint: "run it as that user, or set INNER_HOME to a folder of root's own",
	}
}

// Audit adds to the audit log. What happened has happened: a log that cannot be
// written is worth a word, once.
func (c *Caller) Audit(events ...runlog.Event) {
	if len(events) == 0 || c.OwnFolder() != nil {
		return // the refusal was said; the log is the user's
	}
	if err := runlog.Append(c.LogsDir(), events...); err != nil && !c.unaudited {
		c.unaudited = true
		c.Warn("%v", err)
	}
}

// Short writes the home as ~, with its links resolved or not.
func (c *Caller) Short(p string) string {
	rest, ok := strings.CutPrefix(p, c.Home+"/")
	if !ok {
		rest, ok = strings.CutPrefix(p, files.Real(c.Home)+"/")
	}
	if ok {
		return "~/" + rest
	}
	return p
}

// Absolute returns the absolute path of a folder that a flag names; "~" is the home.
func (c *Caller) Absolute(path, cwd string) string {
	switch {
	case path == "~" || strings.HasPrefix(path, "~/"):
		return filepath.Join(c.Home, path[1:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(cwd, path)
}

// Selves returns the files that are inner itself: the running binary and the copy
// the shims lead to.
func (c *Caller) Selves() []os.FileInfo {
	var out []os.FileInfo
	for _, p := range []string{"/proc/self/exe", filepath.Join(c.InnerHome, "shims", "inner"), c.Exe} {
		if fi, err := os.Stat(p); err == nil {
			out = append(out, fi)
		}
	}
	return out
}

// Self returns where the inner binary lies; "" when that cannot be told.
func (c *Caller) Self() string {
	if c.Exe != "" {
		return c.Exe
	}
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return self
}

// FindReal finds a program on a PATH, never one of the shims.
func (c *Caller) FindReal(name, pathVar string) (string, error) {
	return shims.FindReal(name, pathVar, c.ShimDir(), c.Selves)
}

// IsShim reports whether a path is that of one of our shims, under whatever
// name its folder goes.
func (c *Caller) IsShim(path string) bool {
	if !strings.Contains(path, "/") || filepath.Base(path) == "inner" {
		return false
	}
	fi, err := os.Stat(path)
	return filepath.Dir(path) == c.ShimDir() || err == nil && slices.ContainsFunc(c.Selves(),
		func(self os.FileInfo) bool { return os.SameFile(fi, self) })
}

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
