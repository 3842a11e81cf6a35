package main

// Agents in a box: the clones of their folders, a login that has expired, and
// one that was renewed inside.

import (
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
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitignore"
)

const (
	renewAhead   = 5 * time.Minute  // a login that ends within it is renewed first
	renewTimeout = 10 * time.Second // the longest that may take
)

// capabilities finds what the profile names, built in or declared.
func (a *app) capabilities(rc *profile.RunConfig) ([]capability.Capability, error) {
	var out []capability.Capability
	if len(rc.Capabilities) == 0 {
		return nil, nil
	}
	cfg, err := a.GlobalConfig()
	if err != nil {
		return nil, err
	}
	for _, name := range rc.Capabilities {
		c, ok := capability.Find(name, cfg.Capabilities)
		if !ok {
			return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: capability %q is not declared in config.toml any more", rc.Name, name)}
		}
		// What the user keeps elsewhere is as secret there.
		for _, f := range c.Folders {
			if dir := f.Source(a.origin(*rc)); dir != f.Place(a.Home) && !slices.Contains(rc.Allow, "agent-state") {
				rc.Hide = append(rc.Hide, gitignore.Escape(dir))
			}
		}
		out = append(out, c)
	}
	return out, nil
}

func (a *app) origin(rc profile.RunConfig) capability.Origin {
	return capability.Origin{Home: a.Home, Workdir: rc.Workdir, Lookup: os.LookupEnv}
}

// withArgs puts the arguments of the capabilities before the program's own.
func withArgs(argv []string, list []capability.Capability) []string {
	for _, c := range list {
		if len(c.Args) > 0 && filepath.Base(argv[0]) == c.Program {
			argv = slices.Concat(argv[:1], c.Args, argv[1:])
		}
	}
	return argv
}

// cloneBinds mounts the clones of one capability and sets its variables. at
// names the host folder of each clone.
func (a *app) cloneBinds(s *plan.Staged, c capability.Capability, rc profile.RunConfig, f host.Facts, at func(capability.Folder) string) error {
	places := make([]string, len(c.Folders))
	for i, folder := range c.Folders {
		place := folder.Place(a.Home)
		if !hasPlace(rc, f, place) {
			if folder.Var == "" {
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("profile %q: capability %s: there is no place for the clone of %s, which does not exist", rc.Name, c.Name, folder.Path),
					Hint: fmt.Sprintf("mkdir -p %s, or home = \"isolated\" under [sandbox]", folder.Path),
				}
			}
			place = filepath.Join(paths.BoxAgents, c.Name, folder.Rel())
		}
		places[i] = place
		s.Binds = append(s.Binds, plan.Bind{Host: at(folder), Box: place, Write: true, Room: plan.SpareRoom, Reason: "capability " + c.Name + ": a clone of " + folder.Path})
	}
	s.Env = append(s.Env, c.Environment(a.Home, places)...)
	return nil
}

// hasPlace reports whether a clone can be mounted at its usual place: a mount
// point can be made in an empty home, and nowhere else.
func hasPlace(rc profile.RunConfig, f host.Facts, place string) bool {
	return rc.Home == "isolated" || rc.Base == "minimal" || f.Paths[place].Kind == host.Dir
}

// stageClones makes the clones of the capabilities.
func stageClones(j *journey) error {
	from := j.app.origin(j.rc)
	for _, c := range j.prep.clones {
		dir, err := j.run.Dir("clone-" + c.Name)
		if err != nil {
			return err
		}
		var login []byte
		if c.Login != nil {
			if login, err = j.login(c, from); err != nil {
				return err
			}
		}
		skipped, err := c.Clone(from, dir)
		if err != nil {
			return err
		}
		for _, p := range skipped {
			j.app.warn("capability %s: %s is a link or no regular file, and was left out", c.Name, j.app.Short(p))
		}
		err = j.app.cloneBinds(&j.staged, c, j.rc, j.prep.facts, func(f capability.Folder) string { return filepath.Join(dir, f.Rel()) })
		if err != nil {
			return err
		}
		if err := j.lend(c.Wants); err != nil {
			return err
		}
		if login != nil {
			folder := filepath.Join(dir, c.Folders[0].Rel())
			j.after = append(j.after, func(j *journey) error { return j.keepLogin(c, from, folder, login) })
		}
	}
	return nil
}

// lend makes what an agent wants to find in the project's configuration, for
// the run, where the box cannot make it.
func (j *journey) lend(files []profile.KV) error {
	return j.run.Borrow(wanted(j.rc, files)...)
}

// wanted are the places of lend.
func wanted(rc profile.RunConfig, files []profile.KV) []host.Placeholder {
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

// login reads the login that is about to be cloned. One that has expired is
// renewed on the host; when that does not help, nothing starts.
func (j *journey) login(c capability.Capability, from capability.Origin) ([]byte, error) {
	path := c.LoginPath(from)
	data, err := capability.ReadLogin(path)
	if err != nil || data == nil {
		return nil, err
	}
	ends, known := c.Login.Expiry(data)
	if !known || time.Until(ends) > renewAhead || j.logsInWith(c.Login.Instead) {
		return data, nil
	}
	why := j.renew(c.Login.Renew)
	if data, err = capability.ReadLogin(path); err != nil || data == nil {
		return nil, err
	}
	if ends, known = c.Login.Expiry(data); known && !ends.After(time.Now()) {
		if why != nil {
			j.app.warn("capability %s: %v", c.Name, why)
		}
		return nil, &fault.Refusal{Code: 125, Msg: c.Login.Expired.Msg, Hint: c.Login.Expired.Hint}
	}
	return data, nil
}

// logsInWith reports whether the box gets one of these variables.
func (j *journey) logsInWith(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		if slices.ContainsFunc(j.rc.Env.Set, func(kv profile.KV) bool { return kv.Key == name && kv.Value != "" }) {
			return true
		}
		return slices.Contains(j.rc.Env.Inherit, name) && os.Getenv(name) != ""
	})
}

// renew runs the program that renews a login, on the host: by an absolute path
// that nobody but the user and root can have chosen, in an empty folder, with
// little of the environment, and not for long.
func (j *journey) renew(words []string) error {
	if len(words) == 0 {
		return nil
	}
	dirs := j.hostPath()
	program, err := j.hostProgram(words[0], dirs)
	if err != nil {
		return err
	}
	neutral, err := j.run.Dir("neutral")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, words[1:]...)
	cmd.Dir, cmd.Env = neutral, renewEnv(dirs)
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
func (j *journey) hostPath() []string {
	return slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool { return !filepath.IsAbs(dir) || j.strange(dir) })
}

// strange reports whether a path leads into the project or a folder that the
// box can write.
func (j *journey) strange(path string) bool {
	roots := []string{j.rc.Project, j.rc.Workdir, j.context.Cwd}
	for _, m := range j.rc.Mounts {
		if m.Mode == profile.RW {
			roots = append(roots, m.Source)
		}
	}
	path = files.Real(path) + "/"
	return slices.ContainsFunc(roots, func(root string) bool { return root != "" && strings.HasPrefix(path, files.Real(root)+"/") })
}

// hostProgram finds a program that only the user or root can have put there.
func (j *journey) hostProgram(name string, dirs []string) (string, error) {
	found, err := j.app.FindReal(name, strings.Join(dirs, ":"))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(found)
	if err != nil {
		return "", err
	}
	if j.strange(real) {
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
func renewEnv(dirs []string) []string {
	env := []string{"PATH=" + strings.Join(dirs, ":"), "TERM=dumb", "DISABLE_AUTOUPDATER=1"}
	for _, name := range []string{
		"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "CLAUDE_CONFIG_DIR",
		"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
		"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
	} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// keepLogin looks whether the program renewed its login while it ran, and
// writes it back or says that it is lost. was is the login that was cloned into
// folder; what the box has of it now is untrusted.
func (j *journey) keepLogin(c capability.Capability, from capability.Origin, folder string, was []byte) error {
	// Some agents revoke the old login when they renew it.
	const outdated = "the one on the host may have ended with that"
	is, err := j.filled.read(folder, c.Login.File, capability.MaxLogin)
	if err != nil {
		return nil // logged out inside, or spoilt: nothing to keep
	}
	merged, err := c.Login.Renewed(was, is, time.Now())
	switch {
	case err != nil && j.rc.SyncLogin:
		j.app.warn("capability %s: the login inside changed and was not written back: its %v", c.Name, err)
		return nil
	case err != nil || merged == nil:
		return nil
	case !j.rc.SyncLogin:
		j.app.say("%s renewed its login inside the sandbox, and it stays there: %s", c.Name, outdated)
		j.app.hint("sync_credentials = true in profile %q writes it back", j.rc.Name)
		return nil
	}
	path := c.LoginPath(from)
	err = capability.Replace(path, was, merged)
	switch {
	case errors.Is(err, capability.ErrChanged):
		j.app.say("%s renewed its login inside the sandbox; %s changed meanwhile and was left as it is", c.Name, j.app.Short(path))
		return nil
	case err != nil:
		return fmt.Errorf("capability %s: the renewed login was not written back: %w", c.Name, err)
	}
	return nil
}
