package features

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/gitconfig"
)

// gitSettings gives the box its git configuration.
func gitSettings() Feature {
	var g *gitFile // nil without [git]
	return Feature{
		Name: "git settings", Keys: []string{"git", "sandbox.allow"},
		Ask: func(run *Run, q *host.Request) (err error) {
			if g, err = gitFileOf(run); g != nil {
				q.Paths = append(q.Paths, g.asks(run.Caller)...)
				run.LeftOut = g.leftOut()
			}
			return err
		},
		Make: func(run *Run) error {
			unsignedInBox(run)
			if g == nil {
				return nil
			}
			return g.make(run)
		},
		Show: func(run *Run) error {
			unsignedInBox(run)
			if g == nil {
				return nil
			}
			_, err := g.into(&run.Assets, g.result.Shown()) // logins are not in it
			return err
		},
	}
}

// gitFile is the git configuration of a box, for a profile with [git].
type gitFile struct {
	git    string // absolute path of git on the host
	result gitconfig.Result
	files  []string // what it was made from
}

// gitFileOf asks git for the user's configuration and cleans it. It returns nil
// for a profile without [git], and changes nothing.
func gitFileOf(run *Run) (*gitFile, error) {
	rc := run.Spec
	if rc.Git == nil {
		return nil, nil
	}
	program, why := host.FindHelper("git", run.Getenv("PATH"))
	place := gitconfig.Place{Home: run.Home, XDG: run.Getenv("XDG_CONFIG_HOME"), Global: run.Getenv("GIT_CONFIG_GLOBAL"), Dir: "/"}
	if program == "" && nothingToClean(rc, place, "/etc/gitconfig") {
		return nil, nil
	}
	if program == "" {
		return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q has [git], which needs git itself: %s", rc.Name, why), Hint: "sudo apt-get install git"}
	}
	if err := noGitVariables(rc); err != nil {
		return nil, err
	}
	if fi, err := os.Stat(rc.Workdir); err == nil && fi.IsDir() {
		place.Dir = rc.Workdir
	}
	list, err := gitconfig.Read(program, place)
	if err != nil {
		return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q has [git], and git cannot read your configuration: %v", rc.Name, err), Hint: "git config --list --show-origin"}
	}
	g := &gitFile{git: program, files: gitconfig.Files(list, run.Home)}
	policy := gitPolicy(rc)
	for _, kv := range rc.Git.Overrides {
		policy.Overrides = append(policy.Overrides, gitconfig.Setting{Key: kv.Key, Value: kv.Value})
	}
	if g.result, err = gitconfig.Clean(list, policy); err != nil {
		return nil, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: git.overrides: %v", rc.Name, err)}
	}
	return g, nil
}

// nothingToClean reports whether [git] gives a box nothing and takes nothing from it: there
// are no settings of git, and the profile adds none.
func nothingToClean(rc profile.RunConfig, place gitconfig.Place, system string) bool {
	xdg := place.XDG
	if xdg == "" {
		xdg = filepath.Join(place.Home, ".config")
	}
	return len(rc.Git.Overrides) == 0 && place.Global == "" && !slices.ContainsFunc([]string{system, filepath.Join(place.Home, ".gitconfig"), filepath.Join(xdg, "git/config")}, files.Exists)
}

// gitPolicy says what of git's settings a box has, but for the overrides of [git].
func gitPolicy(rc profile.RunConfig) gitconfig.Policy {
	p := gitconfig.Policy{
		Credentials: slices.Contains(rc.Allow, "git-credentials"),
		GPG:         slices.Contains(rc.Allow, "gpg-keys"),
		SSH:         slices.Contains(rc.Allow, "ssh-keys") || slices.Contains(rc.Allow, "ssh-agent"),
		Proxy:       rc.Network.ByName(),
	}
	if rc.Git != nil {
		p.Strip = rc.Git.StripSections
	}
	return p
}

// noGitVariables refuses variables that would take the place of what [git] gives.
func noGitVariables(rc profile.RunConfig) error {
	names := slices.Clone(rc.Env.Inherit)
	for _, kv := range rc.Env.Set {
		names = append(names, kv.Key)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "GIT_CONFIG") {
			return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q has [git], which decides about %s; it cannot be passed or set, too", rc.Name, name), Hint: "write it as overrides under [git]"}
		}
	}
	return nil
}

// asks are the paths the planner wants to know about.
func (g *gitFile) asks(c *caller.Caller) []string {
	var out []string
	for _, p := range append(plan.GitPlaces(c.Home, c.Getenv("XDG_CONFIG_HOME")), g.files...) {
		out = append(out, p, filepath.Dir(p))
	}
	return out
}

// into puts a configuration into what is staged.
func (g *gitFile) into(s *plan.Staged, r gitconfig.Result) ([]byte, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	s.GitConfig, s.GitFiles = text, g.files
	for _, v := range r.Environment(paths.BoxGitConfig) {
		s.Env = append(s.Env, profile.KV{Key: v.Key, Value: v.Value})
	}
	return text, nil
}

// Unsigned are the settings with which the box's git signs nothing, where the user's or the
// repository's have it sign with keys that are hidden.
func Unsigned(c *caller.Caller, rc profile.RunConfig) []gitconfig.Entry {
	if rc.GitDir == "ro" {
		return nil
	}
	from := host.UserGit(c.Getenv)
	from.Home = c.Home
	if filepath.IsAbs(rc.Workdir) { // else it cannot be used, which is said elsewhere
		if r, err := git.Find(files.Real(rc.Workdir)); err == nil {
			from.GitDir, from.CommonDir = r.Dir, r.Common
		}
	}
	list, _ := from.Load()
	return gitconfig.Unsigned(list, gitPolicy(rc))
}

// SignLine says what is to be known about commits of a box that are not signed.
const SignLine = "does not sign commits and tags, though your git settings ask for it: the keys are hidden; afterwards, for those after BASE: git rebase -r -f -S BASE"

// unsignedInBox tells the box's git, over all files, not to sign. With [git] the settings of
// that have it already.
func unsignedInBox(run *Run) {
	rc, s := run.Spec, &run.Assets
	if rc.Git != nil || run.Getenv("GIT_CONFIG_COUNT") != "" {
		return
	}
	list := Unsigned(run.Caller, rc)
	for i, e := range list {
		s.Env = append(s.Env, profile.KV{Key: fmt.Sprintf("GIT_CONFIG_KEY_%d", i), Value: e.Key}, profile.KV{Key: fmt.Sprintf("GIT_CONFIG_VALUE_%d", i), Value: e.Value})
	}
	if len(list) > 0 {
		s.Env = append(s.Env, profile.KV{Key: "GIT_CONFIG_COUNT", Value: fmt.Sprint(len(list))})
	}
}

// leftOut names the settings that the box does not have, each once.
func (g *gitFile) leftOut() []string {
	var out []string
	for _, e := range g.result.Shown().Dropped {
		if !slices.Contains(out, e.Key) {
			out = append(out, e.Key)
		}
	}
	return out
}

// make gives the box its git configuration, once git has read it back.
func (g *gitFile) make(run *Run) error {
	text, err := g.into(&run.Assets, g.result)
	if err != nil {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: the cleaned git configuration: %v", run.Spec.Name, err)}
	}
	file, err := run.Folder.File("gitconfig", text, 0o444)
	if err != nil {
		return err
	}
	if err := g.result.Verify(g.git, file); err != nil {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: the cleaned git configuration: %v", run.Spec.Name, err), Hint: g.git + " --version"}
	}
	return nil
}
