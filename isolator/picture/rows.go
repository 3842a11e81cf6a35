package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// granted returns the grants of some kinds, in the words of `inner allow`. tightens selects those
// that restrict the box, or those that widen it.
func (s Subject) granted(tightens bool, kinds ...string) []Thing {
	var out []Thing
	for _, g := range profile.Grants(s.Config) {
		if g.Tightens == tightens && slices.Contains(kinds, g.Kind) {
			out = append(out, Thing{Text: g.Text})
		}
	}
	return out
}

// hidden says which kinds of secrets of the table are hidden, and in how many places of this host.
func (s Subject) hidden() []Row {
	shown := words()
	for _, g := range profile.Grants(s.Config) {
		if g.Kind == "secret" && g.Key == "allow" {
			shown = append(shown, Thing{Text: g.List()})
		}
	}
	rows := []Row{row(Open, "shown on purpose", shown...)}
	if s.Facts.Home == "" { // nothing was probed
		return append(rows, row(Shut, "hidden", words("what inner profile resources lists, and what you hide yourself")...))
	}
	var hidden []Thing
	absent := 0
	for _, r := range s.table() {
		if len(r.Places) == 0 {
			absent++
			continue
		}
		r.Count = len(r.Places)
		hidden = append(hidden, r)
	}
	rows = append(rows, row(Shut, "hidden here (places)", hidden...))
	if absent > 0 {
		rows = append(rows, row(Shut, "hidden if it appears", words(fmt.Sprintf("%d more kinds of things, of which nothing is here (inner profile resources)", absent))...))
	}
	var own []Thing
	for _, p := range s.withoutOrganisation("sandbox.hide", s.Config.Hide) {
		own = append(own, s.place(p, "sandbox.hide"))
	}
	rows = append(rows, row(Shut, "hidden by you", own...))
	if list := s.sockets(); len(list) > 0 {
		rows = append(rows, row(Shut, "out of reach", Thing{Text: "sockets that programs here listen on", Count: len(list), Places: list}))
	}
	return rows
}

// withoutOrganisation returns the values of a key without those of the organisation, which are
// the last ones in the RunConfig.
func (s Subject) withoutOrganisation(key string, values []string) []string {
	for _, o := range s.Config.Organisation {
		if o.Key == key {
			values = values[:len(values)-1]
		}
	}
	return values
}

// organisation says what the administrator of this computer takes from the box, each with its
// line in the file.
func (s Subject) organisation() (rows []Row) {
	for _, o := range s.Config.Organisation {
		value, err := strconv.Unquote(o.Value)
		if err != nil {
			value = o.Value
		}
		rows = append(rows, row(Shut, strings.TrimPrefix(o.Key, "sandbox."), Thing{Text: fmt.Sprintf("%s (line %d)", value, o.Line)}))
	}
	return rows
}

// table returns what is hidden, by key, each with the places that are on this host.
func (s Subject) table() []Thing {
	var out []Thing
	for _, r := range plan.Places(s.Config, s.Facts) {
		if slices.Contains(s.Config.Allow, r.Key) {
			continue
		}
		i := slices.IndexFunc(out, func(t Thing) bool { return t.Text == r.Key })
		if i < 0 {
			i = len(out)
			out = append(out, Thing{Text: r.Key, Why: r.What})
		}
		for _, p := range r.At {
			kind := s.Facts.Paths[p].Kind
			absent := kind == "" || kind == host.Missing || kind == host.Denied || s.Facts.Bare[p]
			if !absent && !slices.Contains(out[i].Places, p) {
				out[i].Places = append(out[i].Places, p)
			}
		}
	}
	return out
}

// sockets returns the paths that a program listens on and that the box does not reach.
func (s Subject) sockets() []string {
	ms := mounts(s.Plan)
	return slices.DeleteFunc(slices.Clone(s.Facts.Sockets), func(p string) bool {
		_, shown := at(ms, p)
		return shown == p
	})
}

// network says what the box can reach, and what can reach it.
func (s Subject) network() []Row {
	rc := s.Config
	var rows []Row
	switch {
	case rc.Network == profile.NetFull:
		rows = append(rows, row(Open, "everything", words("the internet, your own network, and what listens on this computer")...))
		if why := plan.AbstractOpen(rc, s.Facts); why != "" && s.planned() {
			rows = append(rows, row(Open, "abstract sockets", words("of this computer, too: "+why)...))
		}
	case rc.Network.ByName():
		for _, h := range s.Hosts {
			word := "can reach"
			if h.From != "network_allow" {
				word = h.From
			}
			rows = append(rows, row(Open, word, words(h.Names...)...))
		}
		if len(rows) == 0 {
			rows = append(rows, row(Shut, "none", words("no host is listed")...))
		}
		if rc.Network == profile.NetAsk {
			rows = append(rows, row(Open, "asks you", words("about each host that is not listed, on a terminal")...))
		} else {
			rows = append(rows, row(Shut, "nothing else", words("not your own network, nor other services of this computer")...))
		}
	default:
		rows = append(rows, row(Shut, "none", words("nothing outside of the box")...))
	}
	if rc.Network != profile.NetOff {
		rows = append(rows, row(Shut, "never", words(s.withoutOrganisation("sandbox.network_allow", rc.NetworkDeny)...)...))
	}
	rows = append(rows, s.ports()...)
	for _, note := range s.NetNotes {
		rows = append(rows, row(Note, "note", words(note)...))
	}
	return rows
}

// ports says which ports lead out of the box, and which into it.
func (s Subject) ports() (rows []Row) {
	if s.Config.Network == profile.NetFull {
		return nil
	}
	for _, l := range s.Plan.Listen {
		if l.HostPort != 0 {
			rows = append(rows, row(Open, "uses here", words(fmt.Sprintf("port %d of this computer, at its own %d", l.HostPort, l.Port))...))
		}
	}
	for _, p := range s.Plan.Publish {
		rows = append(rows, row(Open, "is reached", words(fmt.Sprintf("its port %d, at %d of this computer", p.Port, p.HostPort))...))
	}
	return rows
}

// settings says which logins and settings the box gets, and which it does not.
func (s Subject) settings() []Row {
	rc := s.Config
	var rows []Row
	for _, c := range s.Clones {
		rows = append(rows, s.agent(c)...)
	}
	if rc.Git != nil {
		without := "without helpers for logins, hooks folder and tokens"
		if len(s.GitLeftOut) > 0 {
			without = "without " + strings.Join(s.GitLeftOut, ", ")
		}
		rows = append(rows, row(Own, "git: a copy", words("your settings, "+without)...))
	}
	if s.Unsigned {
		rows = append(rows, row(Note, "git: signing", words("commits and tags of the box are not signed: the keys are hidden. Afterwards, for those after BASE: git rebase -r -f -S BASE")...))
	}
	for _, e := range profile.ExplainedKinds() {
		rows = append(rows, row(Open, e.Word, s.granted(false, e.Kinds...)...))
	}
	return append(rows, row(Own, "shell history", words(rc.Entrypoint.History...)...))
}

// agent is settings for one agent.
func (s Subject) agent(c capability.Capability) []Row {
	var copied []Thing
	var rest []string
	for _, f := range c.Folders {
		rest = append(rest, "what else is in "+f.Path)
		for _, file := range f.Files {
			text := cmp.Or(file.Beside, f.Path+"/"+file.Name)
			if file.Edit != nil {
				text += " (cleaned)"
			}
			copied = append(copied, Thing{Text: text})
		}
		for _, name := range f.Trees {
			copied = append(copied, Thing{Text: f.Path + "/" + name + "/"})
		}
	}
	rows := []Row{row(Own, c.Name+": copies of", copied...), row(Shut, c.Name+": without", words(rest...)...)}
	for _, note := range c.Notes {
		rows = append(rows, row(Note, c.Name+": note", words(note)...))
	}
	if s.Config.SyncLogin && c.Login != nil {
		rows = append(rows, row(Open, c.Name+": writes back", words("a login that was renewed in the box (sync_credentials)")...))
	}
	return rows
}

// passed sorts the names of the box's variables that are not in sets, those of the profile: the
// user's own, those of them that look like secrets, and those that inner sets. git is how many
// more carry the cleaned git settings. Without a plan it knows what the profile inherits.
func (s Subject) passed(sets []string) (passes, secrets, inner []string, git int) {
	for _, kv := range s.Plan.Env {
		name, value, _ := strings.Cut(kv, "=")
		users, there := s.Facts.Env[name]
		switch {
		case slices.Contains(sets, name):
		case strings.HasPrefix(name, "GIT_CONFIG_"):
			git++
		case !there || users != value:
			inner = append(inner, name)
		case profile.LooksSecret(name):
			secrets = append(secrets, name)
		default:
			passes = append(passes, name)
		}
	}
	if s.planned() {
		return passes, secrets, inner, git
	}
	for _, name := range s.Config.Env.Inherit {
		if profile.LooksSecret(name) && !strings.Contains(name, "*") {
			secrets = append(secrets, name)
		} else {
			passes = append(passes, name)
		}
	}
	return passes, secrets, inner, git
}

// variables names the variables of the box, never their values.
func (s Subject) variables() []Row {
	env := s.Config.Env
	var sets []string
	for _, kv := range env.Set {
		sets = append(sets, kv.Key)
	}
	passes, secrets, inner, git := s.passed(sets)
	for _, kv := range env.SetFrom {
		secrets = append(secrets, kv.Value)
	}
	slices.Sort(secrets)
	ours := words(inner...)
	if git > 0 {
		ours = append(ours, Thing{Text: "GIT_CONFIG_…", Count: git})
	}
	rows := []Row{
		row(Open, "your secrets", words(slices.Compact(secrets)...)...),
		row(Seen, "yours pass", words(passes...)...),
		row(Own, "the profile sets", words(sets...)...),
		row(Own, "inner sets", ours...),
		row(Shut, "never pass", words(env.Never...)...),
	}
	if s.planned() {
		out := 0
		for name := range s.Facts.Env {
			if !slices.ContainsFunc(s.Plan.Env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") }) {
				out++
			}
		}
		if out > 0 {
			rows = append(rows, row(Shut, "stay outside", words(fmt.Sprintf("%d of your %d", out, len(s.Facts.Env)))...))
		}
	}
	return rows
}

// commands says which commands are blocked, and which run another one instead.
func (s Subject) commands() []Row {
	n := s.Config.Noop
	return []Row{row(Shut, "blocked", words(n.Blocked()...)...), row(Own, "run as another", words(n.Rewritten()...)...)}
}

// limits says which limits are enforced.
func (s Subject) limits() []Row {
	held := words(s.Limits...)
	if t := s.Config.Output.Timeout; t > 0 && s.planned() {
		held = append(held, Thing{Text: "time " + profile.Duration(t)})
	}
	if !s.planned() {
		held = s.granted(true, "limit")
	}
	if len(held) == 0 {
		return []Row{row(Open, "none", words("memory, processors and processes as any program of yours; no time limit")...)}
	}
	rows := []Row{row(Shut, "held", held...)}
	if _, missing := plan.Limits(s.Config, s.Facts); len(missing) > 0 && s.planned() {
		rows = append(rows, row(Open, "not held", words(plan.Unlimited(missing))...))
	}
	return rows
}

// kernel says what protects the kernel, and what the box sees of processes.
func (s Subject) kernel() []Row {
	rc := s.Config
	rows := []Row{row(Shut, "system calls", words("a filter ("+rc.Seccomp+")")...)}
	if rc.Seccomp == "off" {
		rows = []Row{row(Open, "system calls", words("no filter (allow = [\"no-seccomp\"])")...)}
	}
	if !s.planned() {
		return rows
	}
	proc := map[string]string{"fresh": "its own are all it sees", "bind": "it sees this computer's list with the command lines, and nothing inside of them", "empty": "it sees none (no /proc)"}
	return append(rows, s.landlock(), s.userNamespaces(),
		row(Shut, "processes", words(proc[plan.ProcMode(rc.Proc, s.Facts.Proc)]+"; all of them end with the run")...),
		row(Shut, "rights", words(s.rights())...))
}

func (s Subject) landlock() Row {
	switch l := s.Plan.Landlock; {
	case l != nil:
		return row(Shut, "Landlock", words(fmt.Sprintf("version %d: %s confined a second time", s.Facts.Landlock, strings.Join(plan.Confined(l), ", ")))...)
	case s.Config.Landlock == "off":
		return row(Open, "Landlock", words("off (allow = [\"no-landlock\"])")...)
	}
	return row(Open, "Landlock", words("this kernel has none that helps")...)
}

func (s Subject) userNamespaces() Row {
	disabled := slices.ContainsFunc(s.Plan.Ops, func(o plan.Op) bool { return slices.Contains(o.Flags, plan.DisableUserns) })
	switch {
	case slices.Contains(s.Config.Allow, "nested-user-ns"):
		return row(Open, "user namespaces", words("can be made: containers run in the box, and more of the kernel is within reach")...)
	case disabled:
		return row(Shut, "user namespaces", words("none can be made inside")...)
	case s.Config.Seccomp != "off":
		return row(Shut, "user namespaces", words("kept from it by the filter")...)
	}
	return row(Open, "user namespaces", words("can be made inside")...)
}

// rights says which capabilities the processes of the box have.
func (s Subject) rights() string {
	if s.Plan.Map != nil {
		return "those that hand ids on to containers, in the box only"
	}
	return "no capabilities, also not as root"
}

// outlives says what remains after the run, and what does not.
func (s Subject) outlives() []Row {
	rc := s.Config
	var stays []Thing
	for _, r := range s.files() {
		if r.Way == Open {
			for _, t := range r.Things {
				stays = append(stays, Thing{Text: "what it changes in " + s.short(t.Path), Path: t.Path})
			}
		}
	}
	stays = append(stays, s.record()...)
	if rc.KeepsCaches() {
		stays = append(stays, Thing{Text: "its caches, for boxes of this project (inner home)"})
	}
	gone := words("/tmp, and everything else it has of its own")
	copies, workspace := false, rc.WorkspaceWorkdir
	for _, m := range rc.Mounts {
		copies, workspace = copies || m.Mode == profile.SafeRW, workspace || m.Workspace
	}
	if workspace {
		stays = append(stays, Thing{Text: "what is not empty in " + s.short(rc.WorkspacesDir), Path: rc.WorkspacesDir})
	}
	if copies && rc.Output.Review {
		stays = append(stays, Thing{Text: "the copies it worked on, for inner changes"})
	} else if copies {
		gone = append(gone, Thing{Text: "the copies it worked on"})
	}
	if len(s.Clones) > 0 {
		gone = append(gone, Thing{Text: "the copies of your logins and settings"})
	}
	return []Row{row(Open, "stays", stays...), row(Own, "goes", gone...)}
}

// record says what is kept of the run itself.
func (s Subject) record() []Thing {
	out := s.Config.Output
	if out.Folder == "" {
		return nil
	}
	text := "a record of the run in " + s.short(out.Folder)
	switch {
	case out.Record:
		text += ", with what the terminal shows"
	case out.LogAll:
		text += ", with all it prints"
	}
	return []Thing{{Text: text, Path: out.Folder}}
}

// later says what the box can change that runs on the machine afterwards, without a box.
func (s Subject) later() []Row {
	rc := s.Config
	writable := slices.ContainsFunc(s.files(), func(r Row) bool { return r.Way == Open && len(r.Things) > 0 })
	if !writable {
		return nil
	}
	var run, kept, aside []Thing
	for _, p := range s.Later {
		if !s.planned() || s.canWrite(p) {
			run = append(run, s.place(p, ""))
		}
	}
	run = append(run, words("whatever it writes that you build, test, open or start: Makefile, package.json scripts, sources")...)
	if rc.GitDir == "rw" {
		run = append(run, words("git hooks and settings of repositories (git_dir = \"rw\")")...)
	} else if rc.GitDir == "checked" {
		kept = append(kept, words("git hooks and settings (those that the box sets stay with it)")...)
	} else {
		kept = append(kept, words("git hooks and settings")...)
	}
	if slices.Contains(rc.Allow, "project-config") {
		run = append(run, words("settings of editors and agents in the project (project-config)")...)
	} else {
		kept = append(kept, words("folders of editors and agents (.vscode, .claude…)")...)
		aside = words("what it makes that tools on your machine would obey: .envrc, .mcp.json, mise.toml, .vscode, .husky and their kind, at any depth")
	}
	kept = append(kept, words("your shell's start-up files", "profiles (.inner)")...)
	return []Row{row(Open, "runs when you build", run...), row(Shut, "stays as it is", kept...), row(Shut, "moved aside", aside...)}
}
