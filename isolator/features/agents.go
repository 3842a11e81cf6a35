package features

// Agents in a box: the clones of their folders, a login that has expired, and
// one that was renewed inside.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitignore"
)

const (
	renewAhead   = 5 * time.Minute  // a login that ends within it is renewed first
	renewTimeout = 10 * time.Second // the longest that may take
)

// agentsOf is what the agents of one run keep.
type agentsOf struct {
	home   *ownHome
	logins []clonedLogin
}

// clonedLogin is a login as it was cloned into a folder.
type clonedLogin struct {
	of     capability.Capability
	folder string
	was    []byte // on the host
	begun  []byte // in a home that stays, when the program started; else nil
}

// agents gives the box clones of what agents keep in the home, and their logins.
func agents(home *ownHome) Feature {
	a := &agentsOf{home: home}
	return Feature{
		Name: "agents", Keys: []string{"capabilities", "sync_credentials"}, Learn: lookAround, Make: a.make,
		Ask: func(run *Run) error {
			run.Agents = Capabilities(run.Settings, &run.Spec)
			return nil
		},
		Start: func(run *Run, o *launch.Options) {
			run.watchDisk("its copies of settings and its history", run.Folder.Path, func() uint64 { return ownhome.Used(run.Folder.Path, copiesIn(run)...) }, o)
		},
		Finish: func(run *Run, _ *Outcome) error {
			for _, l := range a.logins {
				if err := a.keepLogin(run, l); err != nil {
					run.Fail(err)
				}
			}
			sayUpdate(run)
			return nil
		},
	}
}

// copiesIn are the folders of a run that the box writes: clones of agents, and what its shell has.
func copiesIn(run *Run) []string {
	out := []string{stage.Shells}
	for _, c := range run.Agents {
		out = append(out, "clone-"+c.Name)
	}
	return out
}

// sayUpdate says how an agent is updated that was asked to update itself in the box.
func sayUpdate(run *Run) {
	program, words := filepath.Base(run.Spec.Entrypoint.Cmd), run.Context.Overrides.Extra
	for _, c := range run.Agents {
		if program == c.Program && len(words) > 0 && slices.Contains(c.Updates, words[0]) {
			run.Say("%s cannot replace its program in the sandbox, where that is read-only", c.Program)
			run.Hint("inner bypass %s %s", c.Program, words[0])
		}
	}
}

// Capabilities finds what a profile names. What the user keeps elsewhere than usual is as secret
// there, and hidden.
func Capabilities(s *settings.Settings, rc *profile.RunConfig) (out []capability.Capability) {
	for _, name := range rc.Capabilities {
		c, _ := capability.Find(name) // a profile is refused that names another
		for _, f := range c.Folders {
			if dir := f.Source(origin(s.Caller, *rc)); dir != f.Place(s.Home) && !slices.Contains(rc.Allow, "agent-state") {
				rc.Hide = append(rc.Hide, gitignore.Escape(dir))
			}
		}
		out = append(out, c)
	}
	return out
}

func origin(c *caller.Caller, rc profile.RunConfig) capability.Origin {
	return capability.Origin{Home: c.Home, Workdir: rc.Workdir, Lookup: c.LookupEnv, Seen: seenIn(rc)}
}

// WithArgs puts the arguments of the capabilities before the program's own.
func WithArgs(argv []string, list []capability.Capability) []string {
	for _, c := range list {
		if len(c.Args) > 0 && filepath.Base(argv[0]) == c.Program {
			argv = slices.Concat(argv[:1], c.Args, argv[1:])
		}
	}
	return argv
}

// cloneBinds mounts the clones of one capability and sets its variables. at
// names the host folder of each clone.
func cloneBinds(run *Run, c capability.Capability, at func(capability.Folder) string) error {
	s, rc, f := &run.Assets, run.Spec, run.Facts
	places := make([]string, len(c.Folders))
	for i, folder := range c.Folders {
		place := folder.Place(run.Home)
		if !hasPlace(rc, f, place) {
			if folder.Var == "" {
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("profile %q: capability %s: there is no place for the clone of %s, which does not exist", rc.Name, c.Name, folder.Path),
					Hint: fmt.Sprintf("mkdir -p %s, or home = \"isolated\" under [sandbox]", typed(folder.Path)),
				}
			}
			place = filepath.Join(paths.BoxAgents, c.Name, folder.Rel())
		}
		places[i] = place
		s.Binds = append(s.Binds, plan.Bind{Host: at(folder), Box: place, Write: true, Reason: "capability " + c.Name + ": a clone of " + folder.Path})
	}
	s.Env = append(s.Env, c.Environment(run.Home, places)...)
	return nil
}

// hasPlace reports whether a clone can be mounted at its usual place: a mount
// point can be made in an empty home, and nowhere else.
func hasPlace(rc profile.RunConfig, f host.Facts, place string) bool {
	return rc.HidesHome() || f.Look(place).Kind == host.Dir
}

// make makes the clones of the capabilities.
func (a *agentsOf) make(run *Run) (err error) {
	for _, c := range run.Agents {
		at := func(f capability.Folder) string { return run.Folder.At(CloneOf + f.Path) }
		var dir string
		var login []byte
		if run.Mode.Made() {
			if dir, login, err = a.clone(run, c); err != nil {
				return err
			}
			at = func(f capability.Folder) string { return filepath.Join(dir, f.Rel()) }
		}
		if run.Spec.Home == "own" { // what is put into that is no mount
			err = a.settle(run, c, dir, login)
		} else if err = cloneBinds(run, c, at); login != nil {
			a.logins = append(a.logins, clonedLogin{of: c, folder: at(c.Folders[0]), was: login})
		}
		if err != nil {
			return err
		}
		if err := run.Folder.MakePlaceholders(Wanted(run.Spec, c.Wants)...); err != nil {
			return err
		}
	}
	return nil
}

// CloneOf begins the name of a clone in a preview; the folder that it is of follows.
const CloneOf = "clone of "

// clone makes the clone of what one agent keeps, and returns the login in it.
func (a *agentsOf) clone(run *Run, c capability.Capability) (dir string, login []byte, err error) {
	from := origin(run.Caller, run.Spec)
	if dir, err = run.Folder.Dir("clone-" + c.Name); err != nil {
		return "", nil, err
	}
	if c.Login != nil {
		if login, err = renewedLogin(run, c, from, a.keptLogin(c)); err != nil {
			return "", nil, err
		}
	}
	skipped, err := c.Clone(from, dir)
	if err == nil {
		sayLeftOut(run, c, skipped)
	}
	return dir, login, err
}

// Wanted is what an agent wants to find in the project's configuration: it is made for
// the run, where the box cannot make it.
func Wanted(rc profile.RunConfig, files []profile.KV) []host.Placeholder {
	if rc.WorkdirMode != profile.RW || slices.Contains(rc.Allow, "project-config") {
		return nil
	}
	var places []host.Placeholder
	for _, f := range files {
		p := filepath.Join(rc.Workdir, f.Key)
		if fi, err := os.Lstat(filepath.Dir(p)); err == nil && fi.IsDir() {
			places = append(places, host.Placeholder{Path: p, Content: []byte(f.Value)})
		}
	}
	return places
}

// renewedLogin reads the login that is about to be cloned. One that has expired is
// renewed on the host; when that does not help, nothing starts, unless the box has a better
// one: kept, in a home that stays.
func renewedLogin(run *Run, c capability.Capability, from capability.Origin, kept []byte) ([]byte, error) {
	path := c.LoginPath(from)
	data, err := capability.ReadLogin(path)
	if err != nil || data == nil {
		return nil, err
	}
	ends, known := c.Login.Expiry(data)
	if !known || time.Until(ends) > renewAhead || logsInWith(run, c.Login.Instead) {
		return data, nil
	}
	if ends, known := c.Login.Expiry(kept); known && time.Until(ends) > renewAhead {
		return data, nil
	}
	why := renew(run, c.Login.Renew)
	if data, err = capability.ReadLogin(path); err != nil || data == nil {
		return nil, err
	}
	if ends, known = c.Login.Expiry(data); known && !ends.After(time.Now()) {
		if why != nil {
			run.Warn("capability %s: %v", c.Name, why)
		}
		return nil, &fault.Refusal{Code: 125, Msg: c.Login.Expired.Msg, Hint: c.Login.Expired.Hint}
	}
	return data, nil
}

// logsInWith reports whether the box gets one of these variables.
func logsInWith(run *Run, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if slices.ContainsFunc(run.Spec.Env.Set, func(kv profile.KV) bool { return kv.Key == name && kv.Value != "" }) {
			return true
		}
		return slices.Contains(run.Spec.Env.Inherit, name) && run.Getenv(name) != ""
	})
}

// renew runs the program that renews a login, on the host: by an absolute path
// that nobody but the user and root can have chosen, in an empty folder, with
// little of the environment, and not for long.
func renew(run *Run, words []string) error {
	if len(words) == 0 {
		return nil
	}
	dirs := hostPath(run)
	program, err := hostProgram(run, words[0], dirs)
	if err != nil {
		return err
	}
	neutral, err := run.Folder.Dir("neutral")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Dir, cmd.Env = neutral, renewEnv(run.Caller, dirs)
	err = helper.Run(cmd)
	if ctx.Err() != nil {
		return fmt.Errorf("%s did not end within %s", strings.Join(words, " "), renewTimeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// hostPath is PATH without what a stranger could have put there.
func hostPath(run *Run) []string {
	return slices.DeleteFunc(filepath.SplitList(run.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) || untrusted(run, dir) })
}

// untrusted reports whether a path leads into the project or a folder that the
// box can write.
func untrusted(run *Run, path string) bool {
	roots := append(run.Spec.WritableRoots(), run.Spec.Project, run.Spec.Workdir, run.Context.Cwd)
	path = files.Real(path)
	return slices.ContainsFunc(roots, func(root string) bool { return root != "" && paths.Below(files.Real(root), path) })
}

// hostProgram finds a program that only the user or root can have put there.
func hostProgram(run *Run, name string, dirs []string) (string, error) {
	found, err := run.FindReal(name, strings.Join(dirs, ":"))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", err
	}
	if untrusted(run, real) {
		return "", fmt.Errorf("%q is not run: it leads to %q", found, real)
	}
	for _, p := range []string{found, real} {
		for _, q := range []string{p, filepath.Dir(p)} {
			if err := profile.Own(q); err != nil {
				return "", fmt.Errorf("%q is not run: %w", found, err)
			}
		}
	}
	return found, nil
}

// renewEnv is what the program needs to find its login and the network.
func renewEnv(c *caller.Caller, dirs []string) []string {
	env := []string{"PATH=" + strings.Join(dirs, ":"), "TERM=dumb", "DISABLE_AUTOUPDATER=1"}
	for _, name := range []string{
		"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "CLAUDE_CONFIG_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := c.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// keepLogin looks whether the program renewed its login while it ran, and
// writes it back or says that it is lost. What the box has of it now is untrusted.
func (a *agentsOf) keepLogin(run *Run, l clonedLogin) error {
	c, was := l.of, l.was
	// Some agents revoke the old login when they renew it.
	const outdated = "the one on the host may have ended with that"
	stays := "stays there"
	if l.folder == "" {
		stays = "stays in the home of the box"
	}
	is, err := a.loginNow(l)
	if err != nil || l.begun != nil && bytes.Equal(is, l.begun) {
		return nil // logged out inside, or spoilt: nothing to keep; or nothing happened
	}
	merged, err := c.Login.Renewed(was, is, time.Now())
	switch {
	case err != nil && run.Spec.SyncLogin:
		run.Warn("capability %s: the login inside changed and was not written back: its %v", c.Name, err)
		return nil
	case err != nil || merged == nil:
		return nil
	case !run.Spec.SyncLogin:
		run.Say("%s renewed its login inside the sandbox, and it %s: %s", c.Name, stays, outdated)
		run.Hint("sync_credentials = true in profile %q writes it back", run.Spec.Name)
		return nil
	}
	path := c.LoginPath(origin(run.Caller, run.Spec))
	err = capability.Replace(path, was, merged)
	switch {
	case errors.Is(err, capability.ErrChanged):
		run.Say("%s renewed its login inside the sandbox; %s changed meanwhile and was left as it is", c.Name, run.Short(path))
		return nil
	case err != nil:
		return fmt.Errorf("capability %s: the renewed login was not written back: %w", c.Name, err)
	}
	return nil
}

// typed is a path below the home as one types it: a quoted ~ would be a folder of that name.
func typed(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return "~/" + quote.POSIX(rest)
	}
	return quote.POSIX(path)
}
