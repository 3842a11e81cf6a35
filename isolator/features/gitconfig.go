package features

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitconfig"
)

// gitSettings gives the box its git configuration: with [git] a cleaned one of the user's.
func gitSettings() Feature {
	var result gitconfig.Result
	var from []string // the files that it was made from
	return Feature{
		Name: "git settings", Keys: []string{"git", "sandbox.allow"},
		Ask: func(run *Run) (err error) {
			if run.Spec.Git == nil {
				return nil
			}
			if result, from, err = cleaned(run.Caller, run.Spec); err != nil {
				return err
			}
			for _, e := range gitconfig.Shown(result.Dropped) {
				if !slices.Contains(run.LeftOut, e.Key) {
					run.LeftOut = append(run.LeftOut, e.Key)
				}
			}
			return nil
		},
		Make: func(run *Run) error {
			result.File = run.named(result.File)
			if !run.Mode.Made() {
				result.File, result.Command = gitconfig.Shown(result.File), gitconfig.Shown(result.Command)
			}
			result.Command = append(slices.Clip(result.Command), run.gitLogins...)
			giveSettings(run, result, from)
			return nil
		},
	}
}

// cleaned returns what a box with [git] has of the user's settings, and the files that they were read from.
func cleaned(c *caller.Caller, rc profile.RunConfig) (r gitconfig.Result, from []string, err error) {
	names := slices.Clone(rc.Env.Inherit)
	for _, kv := range rc.Env.Set {
		names = append(names, kv.Key)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "GIT_CONFIG") {
			return r, nil, &fault.Refusal{
				Code: 125,
				Msg:  fmt.Sprintf("profile %q has [git], which decides about %s; it cannot be passed or set, too", rc.Name, name),
				Hint: "write it as overrides under [git]",
			}
		}
	}
	s := gitOf(c, rc)
	s.System = os.DevNull
	list, from, err := s.User()
	if slices.ContainsFunc(list, func(e gitconfig.Entry) bool { return strings.HasPrefix(e.Key, "includeif.") }) {
		var other error
		if list, other = holding(c, rc, s.Global); other == nil || err == nil {
			err = other
		}
	}
	if err != nil {
		return r, nil, &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("profile %q has [git], and git cannot read your configuration: %v", rc.Name, err),
			Hint: "git config --list --show-origin",
		}
	}
	return gitconfig.Clean(list, gitPolicy(rc)), from, nil
}

// holding returns the user's settings as they hold in the working folder: whether the condition of an include
// does, git itself says. Without git outside no setting counts.
func holding(c *caller.Caller, rc profile.RunConfig, global string) (list []gitconfig.Entry, err error) {
	program, _ := host.FindHelper("git", c.Getenv("PATH"))
	if program == "" || !filepath.IsAbs(rc.Workdir) {
		return nil, nil
	}
	env := []string{"HOME=" + c.Home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TRACE2=0", "LC_ALL=C"}
	if xdg := c.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(xdg) {
		env = append(env, "XDG_CONFIG_HOME="+xdg)
	}
	if global != "" {
		env = append(env, "GIT_CONFIG_GLOBAL="+global)
	}
	top := files.Real(rc.Workdir)
	if r, err := git.Find(top); err == nil {
		top = r.Top
	}
	for dir := rc.Entered; dir != "" && dir != "/"; dir = filepath.Dir(dir) {
		if files.Real(dir) == top {
			env = append(env, "PWD="+dir) // gitdir: may name this path, too
		}
	}
	words := []string{"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"}
	out, said, err := helper.Ask(3*time.Second, env, program, append([]string{"-C", top}, words...)...)
	if err != nil { // of the project's own settings a box may be the author: without these no condition holds that is about it
		out, said, err = helper.Ask(10*time.Second, env, program, append(words, "--global")...)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(said), " "))
	}
	for f := strings.Split(out, "\x00"); len(f) > 3; f = f[3:] { // the scope, the file, and the setting
		key, value, valued := strings.Cut(f[2], "\n")
		if f[0] == "global" {
			list = append(list, gitconfig.Entry{Key: key, Value: value, Bare: !valued, File: strings.TrimPrefix(f[1], "file:")})
		}
	}
	return list, nil
}

// gitOf says where git finds the settings for the working folder of a run.
func gitOf(c *caller.Caller, rc profile.RunConfig) gitconfig.Sources {
	s := gitconfig.Environment(c.Getenv)
	s.Home = c.Home
	if filepath.IsAbs(rc.Workdir) { // else it cannot be used, which is said elsewhere
		if s.Global != "" && !filepath.IsAbs(s.Global) {
			s.Global = filepath.Join(rc.Workdir, s.Global)
		}
		if r, err := git.Find(files.Real(rc.Workdir)); err == nil {
			s.GitDir, s.CommonDir = r.Dir, r.Common
		}
	}
	return s
}

// gitPolicy says what of git's settings a box has.
func gitPolicy(rc profile.RunConfig) gitconfig.Policy {
	p := gitconfig.Policy{
		Credentials: slices.Contains(rc.Allow, "git-credentials"),
		GPG:         slices.Contains(rc.Allow, "gpg-keys"),
		SSH:         slices.Contains(rc.Allow, "ssh-keys") || slices.Contains(rc.Allow, "ssh-agent"),
		Proxy:       rc.Network.ByName(),
	}
	if rc.Git != nil {
		p.Strip = rc.Git.StripSections
		for _, kv := range rc.Git.Overrides {
			key, _ := gitconfig.Canonical(kv.Key) // the profile was checked
			p.Overrides = append(p.Overrides, gitconfig.Entry{Key: key, Value: kv.Value})
		}
	}
	return p
}

// giveSettings gives the box settings, those with which its git does not sign among them. Some hold over all files.
func giveSettings(run *Run, r gitconfig.Result, from []string) {
	s, command := &run.Assets, r.Command
	set := func(key, value string) { s.Env = append(s.Env, profile.KV{Key: key, Value: value}) }
	if run.Spec.Git != nil {
		s.GitConfig, s.GitFiles = gitconfig.File("Written by inner for one run.", r.File), from
		set("GIT_CONFIG_GLOBAL", paths.BoxGitConfig)
		set("GIT_CONFIG_NOSYSTEM", "1")
		set("GIT_CONFIG_SYSTEM", os.DevNull) // for git config --system, which ignores NOSYSTEM
	}
	if run.Spec.Git != nil || run.Getenv("GIT_CONFIG_COUNT") == "" {
		command = append(Unsigned(run.Caller, run.Spec), command...)
	}
	for i, e := range command {
		set(fmt.Sprintf("GIT_CONFIG_KEY_%d", i), e.Key)
		set(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), e.Value)
	}
	if len(command) > 0 {
		set("GIT_CONFIG_COUNT", fmt.Sprint(len(command)))
	}
}

// Unsigned are the settings with which the box's git signs nothing, where the user's or the
// repository's have it sign with keys that are hidden.
func Unsigned(c *caller.Caller, rc profile.RunConfig) []gitconfig.Entry {
	if rc.GitDir == "ro" {
		return nil
	}
	return gitconfig.Unsigned(gitOf(c, rc).Load(), gitPolicy(rc))
}

// SignLine says what is to be known about commits of a box that are not signed.
const SignLine = "does not sign commits and tags, though your git settings ask for it: the keys are hidden; afterwards, for those after BASE: git rebase -r -f -S BASE"
