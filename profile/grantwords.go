package profile

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// The words of those rows of keyRules whose grants need more than a line, or are of several keys.

// mounted sorts the working folder and the mounts by what can be done with them.
func (g *granter) mounted(rc *RunConfig) (writes, copies, reads, empty []Item) {
	switch rc.WorkdirMode {
	case RW:
		writes = append(writes, g.path(rc.Workdir, rc.Workdir))
	case RO, Keep:
		reads = append(reads, g.path(rc.Workdir, rc.Workdir))
	}
	for _, m := range rc.Mounts {
		if m.Zone { // by the names that the profile has: more of them may fit tomorrow
			continue
		}
		switch m.Mode {
		case RW:
			writes = append(writes, g.path(m.Source, m.Dest))
		case SafeRW:
			copies = append(copies, g.path(m.Source, m.Dest))
		case Tmpfs:
			empty = append(empty, Item{Text: g.short(m.Dest), ID: m.Dest})
		default:
			reads = append(reads, g.path(m.Source, m.Dest))
		}
	}
	return writes, copies, reads, empty
}

// alone are the files that a mount shows though a key hides them.
func (g *granter) alone(mounts []Mount) (out []Item) {
	for _, m := range mounts {
		if m.Allow != "" {
			out = append(out, Item{Text: g.short(m.Source) + " alone (" + m.Allow + ")", ID: m.Allow + "\x00" + m.Source})
		}
	}
	return out
}

func (g *granter) program(rc *RunConfig) {
	e := rc.Entrypoint
	it := Item{Text: commandLine(e.Cmd, e.Args), ID: commandWords(e.Written)}
	if args := Unasked(filepath.Base(e.Cmd)); len(args) > 0 && slices.Contains(e.Args, args[len(args)-1]) {
		it.Text += " (it runs commands without asking you: the sandbox is the boundary)"
	}
	g.add(Grant{Kind: "runs", Key: "runs", Words: "runs", Items: []Item{it}})
}

// Unasked are the arguments with which an agent asks nobody before it runs a command; the last
// is the one that says so. An agent without any does not ask anyway, or is not known.
func Unasked(agent string) []string {
	return map[string][]string{
		"claude":       {"--dangerously-skip-permissions"},
		"codex":        {"--dangerously-bypass-approvals-and-sandbox"},
		"cursor-agent": {"--trust", "--force"},
		"gemini":       {"--yolo"},
	}[agent]
}

func (g *granter) login(rc *RunConfig) {
	if rc.SyncLogin {
		g.list("login", "sync_credentials", "can replace the stored login by a newer one of", texts(rc.agents(false)))
	}
}

func (g *granter) blocked(rc *RunConfig) {
	g.tighten("blocks", "noop.block path", "blocks the commands", texts(rc.Noop.Blocked()))
}

// folders tells what can be changed and read.
func (g *granter) folders(rc *RunConfig) {
	writes, copies, reads, empty := g.mounted(rc)
	for i, it := range writes {
		writes[i].Far = !paths.Below(cmp.Or(rc.Project, rc.Workdir), it.Path)
	}
	g.list("writes", MountRW, "can change files in", writes)
	if rc.Home == "own" {
		g.say("writes", "home own", "keeps a home of its own between runs, and reads what tools have fetched")
	}
	g.caches(rc)
	g.list("writes", "sandbox.writable", "of the working folder, can change", texts(rc.Zones))
	g.list("writes", "sandbox.keep", "of what it makes in the working folder, leaves there", texts(rc.Keep))
	g.list("writes", "mounts.missing", "makes folders that are missing", g.created(rc.Mounts))
	g.list("copies", mountSafeRW, "works on a copy of", copies)
	if rc.Output.Log != "" {
		g.add(Grant{Kind: "writes", Key: "output.log", Words: "keeps its log in", Items: []Item{g.path(rc.Output.Log, rc.Output.Log)}})
	}
	if rc.Output.Record {
		g.say("writes", "output.record", "records what the terminal shows")
	}
	if rc.Output.Audit {
		g.say("writes", "output.record audit", "leaves one line in the audit log, and no record of its run")
	}
	if rc.usesWorkspaces() {
		g.add(Grant{Kind: "writes", Key: "workspaces_path", Words: "makes folders, and removes them when they are empty, in", Items: []Item{g.path(rc.WorkspacesDir, rc.WorkspacesDir)}})
	}
	system := "the system"
	if rc.Base == "minimal" {
		system = "the system's programs"
	}
	home := wholeHome
	if rc.HidesHome() {
		home = listedHome
	}
	for _, p := range rc.HomeAllow {
		it := g.path(p, p)
		// A program that is installed later is no wider grant, at its usual place.
		it.Own = slices.Contains(rc.Toolchains, p) && it.Path == p && usualToolchain(rc.HomeDir, p)
		reads = append(reads, it)
	}
	g.say("reads", cmp.Or(rc.Base, "host")+" "+home.key, "can read "+system+home.text)
	if rc.System != nil {
		g.add(Grant{Kind: "reads", Key: System, Words: "can read the programs that your PATH has, with what lies beside them"})
	}
	if len(rc.Toolchains) > 0 && rc.HidesHome() {
		g.add(Grant{Kind: "reads", Key: Toolchains, Words: "can read the programs installed in your home folder"})
	}
	if rc.Container() {
		g.list("reads", "sandbox.image", "may be a container of podman or docker, of the image", texts([]string{rc.Image}))
	}
	g.list("reads", mountRO, "can read", reads)
	g.tighten("hides", "mount tmpfs", "empty in the box", empty)
	if rc.Etc == "minimal" {
		g.narrow("hides", "sandbox.etc", "of /etc sees name resolution, certificates, the time zone and itself, and no more")
	}
}

func (g *granter) network(rc *RunConfig) {
	switch rc.Network {
	case NetFull:
		g.say("network", "full", "can use the network, this computer's own services included")
	case NetAllowlist, NetAsk:
		switch {
		case len(rc.NetworkAllow) > 0:
			isRange := func(entry string) bool { return strings.Contains(entry, "/") }
			names := slices.DeleteFunc(slices.Clone(rc.NetworkAllow), isRange)
			ranges := slices.DeleteFunc(slices.Clone(rc.NetworkAllow), func(entry string) bool { return !isRange(entry) })
			g.list("network", "allow", "can reach", texts(names))
			g.list("network", "ranges", "listed hosts may be at private addresses", texts(ranges))
		case len(rc.Capabilities) > 0:
			g.say("network", "capabilities", "can use the network where its capabilities need it")
		case rc.Network == NetAllowlist && len(rc.Credentials) == 0:
			g.narrow("network", noHost, "no host can be reached")
		}
		if rc.Network == NetAsk {
			g.say("network", "ask", "asks you, on a terminal, about each host that is not listed")
		}
	default:
		g.narrow("network", noNetwork, noNetwork)
	}
	if rc.Network != NetOff {
		denied := texts(rc.NetworkDeny)
		for i := range rc.ruledHosts() {
			denied[len(denied)-1-i].Own = true
		}
		g.tighten("network", "deny", "cannot reach", denied)
	}
	if rc.Network != NetFull {
		g.list("network", "host_ports", "uses services of this computer, at its ports", texts(eachOf(rc.HostPorts, Port.words)))
		g.list("network", "publish", "can be reached from this computer, at its ports", texts(eachOf(rc.Publish, Port.words)))
	}
}

// explained adds to an allow key what it amounts to, where that is more than
// its name says.
func explained(key string) string {
	more := map[string]string{
		"docker-socket": "a way out of the box", "podman-socket": "a way out of the box",
		"session-bus":    "can start programs outside the box",
		"project-config": "can change what editors and agents run on your machine",
		"nested-user-ns": "can make containers and user namespaces: more of the kernel is within reach",
	}[key]
	if more == "" {
		return key
	}
	return key + " (" + more + ")"
}

func (g *granter) variables(rc *RunConfig) {
	env := rc.Env
	if env.InheritAll {
		g.say("passes", "env.inherit_all", "gets all your variables, except those that look secret")
	}
	var secrets, plain []Item
	for _, name := range env.Inherit {
		if slices.ContainsFunc(rc.Credentials, func(c Credential) bool { return slices.Contains(c.From, "env:"+name) }) {
			continue // the box has a placeholder
		}
		it := Item{Text: cmp.Or(ordinary(name), name), ID: name}
		if it.Text == name && LooksSecret(name) && !strings.Contains(name, "*") {
			secrets = append(secrets, it)
		} else {
			plain = append(plain, it)
		}
	}
	for _, kv := range env.SetFrom {
		if !slices.ContainsFunc(secrets, func(it Item) bool { return it.Text == kv.Value }) {
			secrets = append(secrets, Item{Text: kv.Value})
		}
	}
	g.list("secret", "env.inherit", "gets your secrets", secrets)
	g.list("passes", "env.inherit", "gets your variables", plain)
	g.list("sets", "env.set", "sets variables", eachOf(env.Set, func(kv KV) Item {
		it := Item{Text: kv.Key + "=" + kv.Value}
		if env.Hidden(kv.Key, kv.Value) {
			it.Text = kv.Key + " (value not shown)"
		}
		// What is filled in is the caller's, and another one in each shell.
		if i := slices.IndexFunc(env.Written, func(w KV) bool { return w.Key == kv.Key }); i >= 0 && strings.ContainsAny(env.Written[i].Value, "$~") {
			it.ID = kv.Key + "=" + env.Written[i].Value
		}
		return it
	}))
	g.list("path", "env.path_prepend", "looks for programs first in", itemsOf(env.PathPrepend, g.short))
}

// hide tells what is hidden, and what is shown of that after all.
func (g *granter) hide(rc *RunConfig) {
	var hidden, shown []Item
	for i, p := range rc.Hide {
		after, negated := strings.CutPrefix(p, "!")
		it := Item{Text: g.short(after), ID: p, Own: i >= rc.AskedHide && rc.Real != nil}
		if negated {
			shown = append(shown, it)
		} else {
			hidden = append(hidden, it)
		}
	}
	g.list("reads", "hide not", "does not hide", shown)
	g.tighten("hides", "hide", "also hides", hidden)
}

// ordinary names the group of a variable that says nothing but how to draw and
// where the network is, so that the others stand out; "" for all others.
func ordinary(name string) string {
	switch name {
	case "TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR", "LANG", "LANGUAGE", "LC_*", "TZ", "HOME", "USER", "LOGNAME", "SHELL", "PATH":
		return "terminal and user settings"
	case "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO":
		return "certificates"
	}
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
		return "proxy settings"
	}
	return ""
}

// layers tells where the box is weaker, or stronger, than it is by default.
func (g *granter) layers(rc *RunConfig) {
	for _, l := range []struct {
		is        bool
		key, text string
		tightens  bool
	}{
		{rc.GitDir == "rw", "git_dir rw", "works on your own git directory, which is dangerous: hooks and settings that it writes there run outside the box", false},
		{rc.Proc == "bind", "proc bind", "sees this computer's own /proc: the command lines of all programs", false},
		{rc.Seccomp == "off", "seccomp off", "runs without the system call filter", false},
		{rc.SessionBox, "session box", "lets the programs of a session live on between its calls, and see each other", false},
		{rc.Landlock == "off", "landlock off", "runs without Landlock, the second layer under the mounts", false},
		{rc.GitDir == "ro", "git_dir ro", "cannot change anything in git directories: it can look, and not commit", true},
		{rc.Landlock == "required", "landlock required", "runs only where the kernel has Landlock, the second layer under the mounts", true},
		{rc.Proc == "empty", "proc empty", "has an empty /proc", true},
	} {
		if l.is {
			g.add(Grant{Kind: "layer", Key: l.key, Words: l.text, Tightens: l.tightens})
		}
	}
}

func (g *granter) git(rc *RunConfig) {
	git := rc.Git
	if git == nil {
		return
	}
	g.narrow("layer", "git", "has a cleaned copy of your git settings: without helpers for logins, hooks folder and tokens")
	g.tighten("git", "git.strip_sections", "does not have these of your git settings", texts(git.StripSections))
	g.list("git", "git.overrides", "sets for git", texts(eachOf(git.Overrides, func(kv KV) string {
		if SecretGitSetting(kv.Key, kv.Value) {
			return kv.Key + " (value not shown)"
		}
		return kv.Key + "=" + kv.Value
	})))
}

// SecretGitSetting reports whether a setting of git has a login in it.
func SecretGitSetting(key, value string) bool {
	return LooksSecret(key) || HasLogin(value) || HasLogin(key) || strings.HasSuffix(strings.ToLower(key), "extraheader")
}

func (g *granter) limits(rc *RunConfig) {
	names := map[string]string{"pids": "processes", "files": "open files", "file_size": "file size", "disk": "what is kept in memory as files"}
	var items []Item
	for _, l := range rc.Limits.Rows() {
		asked := *rc.AskedLimits.field(l.Key) // which an organisation may have lowered
		items = append(items, Item{Text: cmp.Or(names[l.Key], l.Key) + " " + l.Value, ID: l.Key + " " + cmp.Or(asked, l.Value), Own: rc.Real != nil && asked == ""})
	}
	if rc.LimitsLoose && len(items) > 0 {
		g.tighten("limit", limitsLoose, "limited, where your machine can hold it (limits_required = false)", items)
		items = nil
	}
	if t := rc.Output.Timeout; t > 0 {
		asked := rc.AskedTimeout
		items = append(items, Item{Text: "time " + Duration(t), ID: "time " + Duration(cmp.Or(asked, t)), Own: rc.Real != nil && asked == 0})
	}
	g.tighten("limit", "limits", "limited", items)
}
