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

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/settings"
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
	left   []string // MCP servers of the user's that the box does not have
}

// clonedLogin is a login as it was cloned.
type clonedLogin struct {
	of    capability.Capability
	was   []byte // on the host
	begun []byte // in a home that stays, when the program started; else nil
	ends  bool   // the box has none any more
}

// agents gives the box clones of what agents keep in the home, and their logins.
func agents(home *ownHome) Feature {
	a := &agentsOf{home: home}
	return Feature{
		Name: "agents", Keys: []string{"capabilities", "sync_credentials", "sandbox.mcp"}, Learn: lookAround, Make: a.make,
		Ask: func(run *Run) error {
			run.Agents = Capabilities(run.Settings, &run.Spec)
			return nil
		},
		Start: func(run *Run, o *launch.Options) {
			a.sayLeft(run)
			run.watchDisk("its copies of settings", run.Folder.Path,
				func() uint64 { return ownhome.Used(run.Folder.Path, filepath.Dir(CloneOf+"~/x")) }, o)
		},
		Finish: func(run *Run, _ *Outcome) error {
			for _, l := range a.logins {
				if err := a.keepLogin(run, l); err != nil {
					run.Fail(err)
				}
			}
			a.sayAnother(run)
			sayUpdate(run)
			return nil
		},
	}
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
	for _, s := range rc.Servers { // which get the variables that they name; the values are never shown
		for _, name := range s.Vars {
			if !slices.Contains(rc.Env.Inherit, name) {
				rc.Env.Inherit = append(slices.Clip(rc.Env.Inherit), name)
				rc.Env.SetFrom = append(slices.Clip(rc.Env.SetFrom), profile.KV{Key: name, Value: name})
			}
		}
	}
	return out
}

func origin(c *caller.Caller, rc profile.RunConfig) capability.Origin {
	return capability.Origin{Home: c.Home, Workdir: rc.Workdir, Lookup: c.LookupEnv, Seen: seenIn(rc)}
}

// seenIn reports which paths of the home a box of this profile sees as they are on the host.
func seenIn(rc profile.RunConfig) func(string) bool {
	shown := slices.Concat(rc.HomeAllow, rc.Programs)
	for _, m := range rc.Mounts {
		if m.Source == m.Dest {
			shown = append(shown, m.Dest)
		}
	}
	return func(p string) bool { return !rc.HidesHome() || paths.Over(shown, p) != "" }
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

// make makes the clones of the capabilities.
func (a *agentsOf) make(run *Run) (err error) {
	for _, c := range run.Agents {
		l := clonedLogin{of: c}
		if run.Mode.Made() && c.Login != nil && run.usedLogins[c.Name] == nil {
			kept, _ := a.loginIn(run, c) // nil when there is none
			if l.was, err = renewedLogin(run, c, kept); err != nil {
				return err
			}
		}
		if err := a.bring(run, c); err != nil {
			return err
		}
		if l.was != nil {
			if err := a.begin(run, l); err != nil {
				return err
			}
		}
		for _, f := range fittingFiles(run, c) {
			if err := a.ownFile(run, c, f); err != nil {
				return err
			}
		}
		if err := run.Folder.MakePlaceholders(Wanted(run.Spec, c.Wants)...); err != nil {
			return err
		}
	}
	return nil
}

// bring gives the box a clone, in a home of its own or as mounts, and the variables of the capability.
func (a *agentsOf) bring(run *Run, c capability.Capability) error {
	s, places := &run.Assets, make([]string, len(c.Folders))
	for i, f := range c.Folders {
		places[i] = f.Place(run.Home)
		source := f.Source(origin(run.Caller, run.Spec))
		if run.Spec.Home == "own" { // what is put into that is no mount
			run.mirror(filepath.Join(run.Facts.OwnHome.Path, f.Rel()), source, f.Copied(), nil)
			continue
		}
		// A mount point can be made in an empty home, and nowhere else.
		if !run.Spec.HidesHome() && run.Facts.Look(places[i]).Kind != host.Dir {
			if f.Var == "" {
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("profile %q: capability %s: there is no place for the clone of %s, which does not exist", run.Spec.Name, c.Name, f.Path),
					Hint: fmt.Sprintf("mkdir -p %s, or home = \"isolated\" under [sandbox]", f.Path),
				}
			}
			places[i] = filepath.Join(paths.BoxAgents, c.Name, f.Rel())
		}
		run.mirror(run.Folder.At(CloneOf+f.Path), source, f.Copied(), nil)
		s.Binds = append(s.Binds, plan.Bind{Host: run.Folder.At(CloneOf + f.Path), Box: places[i], Write: true, Reason: "capability " + c.Name + ": a clone of " + f.Path})
	}
	s.Env = append(s.Env, c.Environment(run.Home, places)...)
	if !run.Mode.Made() {
		return nil
	}
	skipped, err := a.clone(run, c)
	if len(skipped) > 0 && err == nil {
		for i, p := range skipped {
			skipped[i] = run.Short(p)
		}
		run.Warn("capability %s: left out, because they are links, not regular files, large, or lie where the box sees nothing: %s",
			c.Name, strings.Join(skipped, ", "))
	}
	return err
}

// CloneOf begins the name of the clone of a folder, which follows, in the folder of the run.
const CloneOf = "clone of "

// clone puts what one agent keeps into the home of the box, or into the folder of the run. What the host's side
// changed comes into what a home has, entry by entry, and what the box changed stays.
func (a *agentsOf) clone(run *Run, c capability.Capability) (skipped []string, err error) {
	from := run.origin()
	from.Says, from.Used = says(run), run.usedLogins[c.Name].files(c, from)
	from.MCP = func(name string) bool {
		if !run.Spec.GrantsMCP(name) {
			a.left = append(a.left, name)
		}
		return run.Spec.GrantsMCP(name)
	}
	for _, kv := range run.Assets.Env { // of [credentials]
		if slices.Contains(c.Keys, kv.Key) {
			key := capability.Key{Value: kv.Value}
			// One that the profile has an entry for is meant.
			if slices.ContainsFunc(run.Spec.Credentials,
				func(k profile.Credential) bool { return k.Of == c.Name && k.Env == kv.Key }) {
				key.Of, key.Ask = run.Getenv(kv.Key), run.usedLogins[c.Name].doc != nil
			}
			from.Keys = append(from.Keys, key)
		}
	}
	if a.home.Home != nil {
		err = a.home.Stage("capability "+c.Name, func(put func(ownhome.Item) error) (err error) {
			skipped, err = c.Clone(from, func(p capability.Piece) error { return put(item(p)) })
			return err
		})
		return skipped, err
	}
	return c.Clone(from, func(p capability.Piece) error {
		name := CloneOf + "~/" + p.Path
		if p.Mode.IsDir() {
			_, err := run.Folder.Dir(name)
			return err
		}
		if p.Data == nil && p.File.Used {
			return nil
		}
		_, err := run.Folder.File(name, p.Data, p.Mode)
		return err
	})
}

func item(p capability.Piece) ownhome.Item {
	return ownhome.Item{Path: p.Path, Data: p.Data, Mode: p.Mode, Entries: p.File.IsDocument() || p.File.Instructions, Settle: p.Settle, Keep: p.Keep, Used: p.File.Used, Alone: p.File.Alone}
}

// begin keeps in mind which login the box has.
func (a *agentsOf) begin(run *Run, l clonedLogin) error {
	if a.home.Home != nil {
		if run.Spec.SyncLogin { // of a run that could not write it back
			if err := a.keepLogin(run, l); err != nil {
				return err
			}
			if now, err := capability.ReadLogin(l.of.LoginPath(origin(run.Caller, run.Spec))); err == nil && now != nil {
				l.was = now
			}
		}
		l.begun, _ = a.loginIn(run, l.of) // nil when there is none
	}
	a.logins = append(a.logins, l)
	return nil
}

// loginIn is the login that the box has: a stranger's word.
func (a *agentsOf) loginIn(run *Run, c capability.Capability) ([]byte, error) {
	f := c.Folders[0]
	if a.home.Home != nil {
		return a.home.Read(filepath.Join(f.Rel(), c.OAuth.File), capability.MaxLogin)
	}
	folder, err := os.Open(run.Folder.At(CloneOf + f.Path)) // which the box cannot exchange
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	return copytree.Read(int(folder.Fd()), c.OAuth.File, capability.MaxLogin)
}

// Wanted is what an agent wants to find in the project's configuration: it is made for
// the run, where the box cannot make it.
func Wanted(rc profile.RunConfig, files []profile.KV) []host.Placeholder {
	return slices.DeleteFunc(inConfig(rc, files), func(p host.Placeholder) bool {
		fi, err := os.Lstat(filepath.Dir(p.Path))
		return err != nil || !fi.IsDir()
	})
}

// inConfig are files of the project's configuration where the box has that read-only.
func inConfig(rc profile.RunConfig, files []profile.KV) (places []host.Placeholder) {
	for _, f := range files {
		if rc.WorkdirMode == profile.RW && !slices.Contains(rc.Allow, "project-config") {
			places = append(places, host.Placeholder{Path: filepath.Join(rc.Workdir, f.Key), Content: []byte(f.Value)})
		}
	}
	return places
}

// renewedLogin reads the login that is about to be cloned. One that has expired is
// renewed on the host; when that does not help, nothing starts, unless the box has a better
// one: kept, in a home that stays.
func renewedLogin(run *Run, c capability.Capability, kept []byte) ([]byte, error) {
	path := c.LoginPath(origin(run.Caller, run.Spec))
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
	path := pathOutside(run)
	program, err := hostProgram(run, words[0], path)
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
	cmd.Dir, cmd.Env = neutral, []string{"PATH=" + path, "TERM=dumb", "DISABLE_AUTOUPDATER=1"}
	for _, name := range []string{ // what it needs to find its login and the network
		"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "CLAUDE_CONFIG_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := run.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	err = helper.Run(cmd)
	if ctx.Err() != nil {
		return fmt.Errorf("%s did not end within %s", strings.Join(words, " "), renewTimeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
	}
	return nil
}

// pathOutside is the caller's PATH for what runs outside on its own: without folders that a box may have filled.
func pathOutside(run *Run) string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(run.Getenv("PATH")), func(dir string) bool {
		_, err := run.unplanted(dir)
		return err != nil || untrusted(run, dir)
	}), ":")
}

// untrusted reports whether a path leads into the current folder, the project or a folder that the
// box can write.
func untrusted(run *Run, path string) bool {
	path = files.Real(path)
	return profile.Context{}.BoxFolder(run.Spec, path) != "" || run.Context.Cwd != "" &&
		paths.Below(files.Real(run.Context.Cwd), path)
}

// hostProgram finds a program that only the user or root can have put there.
func hostProgram(run *Run, name, path string) (string, error) {
	found, err := run.FindReal(name, path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(found)
	if err == nil && untrusted(run, real) {
		err = fmt.Errorf("it leads to %q", real)
	}
	for _, p := range []string{found, filepath.Dir(found), real, filepath.Dir(real)} {
		if err == nil {
			err = profile.Own(p)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%q is not run: %w", found, err)
	}
	return found, nil
}

// keepLogin looks whether the program renewed its login while it ran, and
// writes it back or says that it is lost.
func (a *agentsOf) keepLogin(run *Run, l clonedLogin) error {
	c := l.of
	is, err := a.loginIn(run, c)
	if err != nil || l.begun != nil && bytes.Equal(is, l.begun) {
		return nil // logged out inside, or spoilt: nothing to keep; or nothing happened
	}
	merged, err := c.Login.Renewed(l.was, is, time.Now())
	switch {
	case err != nil && run.Spec.SyncLogin:
		run.Warn("capability %s: the login inside changed and was not written back: its %v", c.Name, err)
		return nil
	case err != nil || merged == nil:
		return nil
	case !run.Spec.SyncLogin && l.ends:
		return files.Write(a.home.Stored("renewed-"+c.Login.File), merged, 0o600)
	case !run.Spec.SyncLogin:
		stays := "stays there"
		if a.home.Home != nil {
			stays = "stays in the home of the box"
		}
		// Some agents revoke the old login when they renew it.
		run.Say("%s renewed its login inside the sandbox, and it %s: the one on the host may have ended with that",
			c.Name, stays)
		run.Hint("sync_credentials = true in profile %q writes it back", run.Spec.Name)
		return nil
	}
	path := c.LoginPath(origin(run.Caller, run.Spec))
	if err = capability.Replace(path, l.was, merged); errors.Is(err, capability.ErrChanged) {
		run.Say("%s renewed its login inside the sandbox; %s changed meanwhile and was left as it is",
			c.Name, run.Short(path))
	} else if err != nil {
		return fmt.Errorf("capability %s: the renewed login was not written back: %w", c.Name, err)
	}
	return nil
}
