package main

// inner init in a project: what is there, at most three questions, the profiles, and the
// same consent as by inner allow.

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// agent is an agent for which a built-in profile is there.
type agent struct {
	command, base, capability, title string
	logins, keys                     []string // files of its folder, and variables, that log in
	login                            string   // a hint, when a login may wait for the browser at a port of the box; "" when it takes a code (measured)
}

// agents are those that inner init offers.
func agents() []agent {
	return []agent{
		{"claude", "claude-interactive", "claude", "Claude Code", []string{".credentials.json"}, []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"}, ""},
		{"codex", "codex-interactive", "codex", "Codex", []string{"auth.json"}, []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, `inner bypass codex login logs in outside; in the sandbox that needs publish = ["1455"] under [sandbox], where your browser comes back to`},
		{"cursor-agent", "cursor-interactive", "cursor", "Cursor's agent", []string{"auth.json"}, []string{"CURSOR_API_KEY"}, ""},
		{"gemini", "gemini-interactive", "gemini", "Gemini CLI", []string{"oauth_creds.json", "gemini-credentials.json"}, []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, ""},
		{"opencode", "opencode-interactive", "opencode", "opencode", []string{"auth.json"}, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"}, "inner bypass opencode auth login logs in outside; in the sandbox take the headless way where there is one, as the other waits for your browser at a port of the sandbox"},
	}
}

func agentNames() []string {
	var names []string
	for _, g := range agents() {
		names = append(names, g.command)
	}
	return names
}

// agentOf is the agent of a command, nil when inner init knows none.
func agentOf(command string) *agent {
	for _, g := range agents() {
		if g.command == command {
			return &g
		}
	}
	return nil
}

// loggedIn reports whether a login of the agent is on this host.
func (a *app) loggedIn(g agent) bool {
	if slices.ContainsFunc(g.keys, func(name string) bool { return a.Getenv(name) != "" }) {
		return true
	}
	c, _ := capability.Find(g.capability, nil)
	for _, folder := range c.Folders {
		dir := folder.Source(capability.Origin{Home: a.Home, Lookup: a.LookupEnv})
		for _, name := range g.logins {
			if fi, err := os.Stat(filepath.Join(dir, name)); err == nil && fi.Size() > 0 {
				return true
			}
		}
	}
	return false
}

// installed are the agents of inner init that this PATH finds.
func (a *app) installed() []agent {
	return slices.DeleteFunc(agents(), func(g agent) bool {
		_, err := a.FindReal(g.command, os.Getenv("PATH"))
		return err != nil
	})
}

// traits is what a project is made of.
type traits struct {
	words []string // for people
	allow []string // entries of network_allow
}

// traitsOf looks at files of the project's root and of the folders in it, where a repository of
// several programs has them, and at its remotes.
func traitsOf(root string) traits {
	var t traits
	add := func(word, entry string) {
		if word != "" && !slices.Contains(t.words, word) {
			t.words = append(t.words, word)
		}
		if entry != "" && !slices.Contains(t.allow, entry) {
			t.allow = append(t.allow, entry)
		}
	}
	found := filesOf(root)
	for _, k := range []struct{ file, word, entry string }{
		{"go.mod", "Go", "@go"},
		{"package.json", "Node", "@npm"},
		{"pyproject.toml", "Python", "@pypi"},
		{"requirements.txt", "Python", "@pypi"},
		{"setup.py", "Python", "@pypi"},
		{"Cargo.toml", "Rust", "@crates"},
		{"pom.xml", "Maven", "@maven"},
		{"build.gradle", "Gradle", "@maven"},
		{"build.gradle.kts", "Gradle", "@maven"},
	} {
		if found[k.file] {
			add(k.word, k.entry)
		}
	}
	data, err := files.Read(filepath.Join(root, ".git", "config"), files.NoLinks, 1<<20)
	if err != nil {
		return t
	}
	for line := range strings.Lines(string(data)) {
		key, url, ok := strings.Cut(strings.TrimSpace(line), "=")
		if !ok || strings.TrimSpace(key) != "url" {
			continue
		}
		host, web := remoteHost(strings.TrimSpace(url))
		switch {
		case host == "":
		case host == "github.com", host == "gitlab.com":
			add("git on "+host, "@"+strings.TrimSuffix(host, ".com"))
		case web && isHost(host):
			add("git on "+host, host)
		default:
			add("git on "+host, "")
		}
	}
	return t
}

// filesOf are the names of the files in a folder and, two levels deep, in those below it that a
// person made.
func filesOf(root string) map[string]bool {
	found := map[string]bool{}
	left := 10_000 // entries: this is for a word on the screen
	_ = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if left--; left < 0 {
			return fs.SkipAll
		}
		name := filepath.Base(path)
		switch {
		case path == root || err != nil:
		case !e.IsDir():
			found[name] = true
		case strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" || name == "testdata",
			strings.Count(path[len(root):], "/") > 2:
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// remoteHost is the host of a remote of git, and whether it is reached by https.
func remoteHost(url string) (host string, web bool) {
	if rest, ok := strings.CutPrefix(url, "https://"); ok {
		host, _, _ = strings.Cut(rest, "/")
		return host[strings.LastIndexByte(host, '@')+1:], true
	}
	if rest, ok := strings.CutPrefix(url, "ssh://"); ok {
		url, _, _ = strings.Cut(rest, "/")
	} else if url, _, ok = strings.Cut(url, ":"); !ok || strings.Contains(url, "/") {
		return "", false
	}
	host, _, _ = strings.Cut(url[strings.LastIndexByte(url, '@')+1:], ":")
	return host, false
}

// networkWords are the values of --network, in the order of the question.
func networkWords() []string { return []string{"listed", "ask", "full", "off"} }

// initPlace is the project that inner init is about: the one here, else the repository, else
// this folder.
func (a *app) initPlace() (settings.Place, error) {
	pl, err := a.Here()
	if err != nil || pl.Project != nil {
		return pl, err
	}
	root := pl.Cwd
	for dir := pl.Cwd; dir != "/" && !paths.Below(dir, a.Home); dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			root = dir
			break
		}
	}
	if paths.Below(root, a.Home) {
		return pl, &fault.Refusal{Code: 1, Msg: fmt.Sprintf("%s is not a project: it is, or holds, your home folder", a.Short(root)), Hint: "cd to a project, or for all folders: inner init --everywhere claude"}
	}
	pl.Cwd = root
	return pl, nil
}

// initProject sets up a project, and returns the agents that are sandboxed there from now on.
func (a *app) initProject(f initFlags, names []string) (ready []string, err error) {
	pl, err := a.initPlace()
	if err != nil {
		return nil, err
	}
	root := pl.Cwd
	if pl.Project != nil {
		if root = pl.Root(); pl.Project.Problem != nil {
			return nil, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("%s is not used: %v", pl.Project.Dir, pl.Project.Problem), Hint: "inner status"}
		}
	}
	t := traitsOf(root)
	a.Say("%s", strings.Join(append([]string{"project " + a.Short(root)}, t.words...), ", "))
	if names, err = a.chooseAgents(names); err != nil {
		return nil, err
	}
	names, ready, err = a.unclaimedOf(pl, names)
	switch {
	case err != nil || len(names)+len(ready) == 0:
		return nil, cmp.Or(err, error(exit(126))) // it has been said why
	case len(names) == 0:
		return ready, nil
	}
	text := profileChoice{root: root, network: f.network, traits: t}
	if !f.yes && !a.choose(&text, f) {
		return nil, a.noAnswer()
	}
	defer a.interrupts.hold()() // the files go again when ^C comes before they are allowed
	undo, err := a.writeProfiles(root, names, text)
	if err != nil {
		undo()
		return ready, err
	}
	if err := a.allow(names, f.yes); err != nil {
		undo()
		_ = a.Regenerate()
		a.Say("the profiles were removed again")
		a.Hint("inner init")
		return ready, err
	}
	for _, name := range names {
		if w := a.which(name); !slices.Contains([]string{w.Does, w.ShimDoes}, shims.Refuse.String()) { // else inner allow said why
			ready = append(ready, name)
		}
	}
	return ready, nil
}

// unclaimedOf are the agents that no profile of the project claims; those that an allowed one
// claims are ready.
func (a *app) unclaimedOf(pl settings.Place, names []string) (open, ready []string, err error) {
	if pl.Project == nil {
		return names, nil, nil
	}
	v := a.Look(pl)
	if v.ConfigFile != nil && v.ConfigState != trust.Allowed {
		return nil, nil, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("the project has a config.toml that is %s", trustWord(v.ConfigState)), Hint: "inner allow, and then inner init"}
	}
	for _, name := range names {
		claimed := false
		for _, p := range v.Profiles {
			for _, c := range p.Claims {
				if c.Command != name || claimed {
					continue
				}
				claimed = true
				a.Say("%s is claimed by profile %s here, which is %s", name, p.Name, trustWord(p.State))
				switch {
				case p.State == trust.Allowed:
					ready = append(ready, name)
				case p.State == shims.Broken:
					a.Hint("inner profile validate %s", p.Name)
				default:
					a.Hint("inner allow %s", p.Name)
				}
			}
		}
		if !claimed {
			open = append(open, name)
		}
	}
	return open, ready, nil
}

// trustWord is a state in the words of inner allow.
func trustWord(s trust.State) string {
	if s == trust.Untrusted {
		return "not allowed"
	}
	return string(s)
}

// writeProfiles writes a profile for each agent. undo removes these files, and the folders
// when nothing else is in them.
func (a *app) writeProfiles(root string, names []string, p profileChoice) (undo func(), err error) {
	dir, err := makeProfiles(root)
	if err != nil {
		return func() {}, err
	}
	var written []string
	undo = func() {
		for _, path := range append(written, dir, filepath.Dir(dir)) {
			_ = os.Remove(path) // a folder that holds something stays
		}
	}
	for _, name := range names {
		path := filepath.Join(dir, name+".toml")
		text := p.text(*agentOf(name))
		l := a.Loader(settings.Place{Cwd: root, Project: a.ProjectOf(root)})
		if _, err := l.LoadBytes(profile.File{Path: path, Data: []byte(text)}, profile.Local); err != nil {
			return undo, err
		}
		if err := createFile(path, []byte(text), 0o644); err != nil {
			return undo, err
		}
		written = append(written, path)
		fmt.Fprintln(a.stdout, path)
	}
	return undo, nil
}

// initEverywhere claims agents in all folders, with the built-in profiles.
func (a *app) initEverywhere(f initFlags, names []string) ([]string, error) {
	if f.network != "" {
		return nil, usagef("--network is for the profiles of a project: inner profile edit %s", agentOf(names[0]).base)
	}
	cfg, err := a.GlobalConfig()
	if err != nil {
		return nil, err
	}
	pl, err := a.Here()
	if err != nil {
		return nil, err
	}
	var list []candidate
	var open []string
	for _, name := range names {
		if i := slices.IndexFunc(cfg.Shims, func(kv profile.KV) bool { return kv.Key == name }); i >= 0 {
			a.Say("%s is sandboxed in all folders already, by profile %s", name, cfg.Shims[i].Value)
			continue
		}
		open = append(open, name)
		fd, err := a.find(agentOf(name).base)
		if err != nil {
			return nil, a.notFound(err)
		}
		p, err := fd.loader.Load(fd.path, fd.scope)
		if err != nil {
			return nil, err
		}
		rc, at, err := a.resolveHere(fd, p)
		if err != nil {
			return nil, err
		}
		list = append(list, candidate{profile: p, rc: rc, at: at, grants: profile.Grants(rc), state: trust.Untrusted})
	}
	if len(open) == 0 {
		return names, nil
	}
	a.showConsent(pl, list, settings.ConfigRead{Config: &config.Config{}}, false, nil)
	a.Say("in every folder, and there it can change what is in the folder; a project's own profile goes first")
	if err := a.askFor(fmt.Sprintf("Sandbox %s in all folders?", strings.Join(open, ", ")), f.yes, "inner init --everywhere --yes "+strings.Join(open, " ")); err != nil {
		return nil, err
	}
	return names, a.claimEverywhere(open)
}

// claimEverywhere writes [shims] of the user's config.toml.
func (a *app) claimEverywhere(names []string) error {
	t := configTarget{file: profile.File{Path: a.ConfigFile()}}
	unlock, err := lockFolder(a.InnerHome)
	if err != nil {
		return err
	}
	defer unlock()
	if err := t.read(); err != nil {
		return err
	}
	file := t.file
	for _, name := range names {
		if file.Data, err = config.Set(file, []string{"shims", name}, agentOf(name).base); err != nil {
			return err
		}
	}
	if err := t.judge(file); err != nil {
		return err
	}
	if err := t.write(file.Data); err != nil {
		return err
	}
	a.ForgetConfigs()
	return a.Regenerate()
}

// isHost reports whether a word can be an entry of network_allow.
func isHost(word string) bool {
	_, err := hosts.Parse(word)
	return err == nil
}
