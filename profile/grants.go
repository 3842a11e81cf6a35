package profile

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Grant is one thing a profile gives a box beyond nothing, in words. One that
// Tightens takes away instead: without it the box could do more.
type Grant struct {
	Kind     string `json:"kind"` // runs, writes, reads, network, secret, passes, sets, …
	Text     string `json:"text"` // one line; a list is "words: item, item"
	Tightens bool   `json:"tightens,omitempty"`
}

// Grants says what a run may do, in a fixed order: first what runs and what it
// can change, last what narrows the box. Values of variables that look secret
// are not in it.
func Grants(rc RunConfig) []Grant {
	g := granter{home: rc.HomeDir}
	g.add("runs", "runs "+commandLine(rc.Entrypoint.Cmd, rc.Entrypoint.Args))
	g.folders(rc)
	g.network(rc)
	g.list("secret", "can use what is hidden otherwise", eachOf(rc.Allow, explained))
	g.list("capability", "gets a copy of your login and settings of", rc.Capabilities)
	if rc.SyncLogin {
		g.list("login", "can replace the stored login by a newer one of", rc.Capabilities)
	}
	g.variables(rc.Env)
	if rc.Clipboard {
		g.add("clipboard", "can read and change your clipboard, and with an X11 display see your windows and keys")
	}
	g.layers(rc)
	g.git(rc.Git)
	g.list("history", "offers in the shell history", rc.Entrypoint.History)
	g.list("replaces", "runs another program", eachOf(rc.Noop.Rewrite, func(kv KV) string { return rule(kv.Key) + " → " + rule(kv.Value) }))
	blocks := "blocks the commands"
	if rc.Noop.Mode == "hard" {
		blocks = "blocks the commands, by any path"
	}
	g.tighten("blocks", blocks, eachOf(rc.Noop.Block, rule))
	g.hide(rc.Hide)
	g.limits(rc)
	return g.grants
}

type granter struct {
	home   string
	grants []Grant
}

func (g *granter) add(kind, text string) {
	g.grants = append(g.grants, Grant{Kind: kind, Text: text})
}

func (g *granter) list(kind, words string, items []string) {
	if len(items) > 0 {
		g.add(kind, joinItems(words, items))
	}
}

func (g *granter) tighten(kind, words string, items []string) {
	if len(items) > 0 {
		g.grants = append(g.grants, Grant{Kind: kind, Text: joinItems(words, items), Tightens: true})
	}
}

// short writes a path of the home folder with ~.
func (g *granter) short(path string) string {
	if g.home != "" && g.home != "/" && within(path, g.home) {
		return "~" + strings.TrimPrefix(path, g.home)
	}
	return path
}

func (g *granter) folders(rc RunConfig) {
	folder := func(m Mount) string {
		if m.Source == m.Dest {
			return g.short(m.Source)
		}
		return g.short(m.Source) + " (there as " + g.short(m.Dest) + ")"
	}
	var writes, copies, reads, empty []string
	switch rc.WorkdirMode {
	case RW:
		writes = append(writes, g.short(rc.Workdir))
	case RO:
		reads = append(reads, g.short(rc.Workdir))
	}
	for _, m := range rc.Mounts {
		switch m.Mode {
		case RW:
			writes = append(writes, folder(m))
		case SafeRW:
			copies = append(copies, folder(m))
		case Tmpfs:
			empty = append(empty, g.short(m.Dest))
		default:
			reads = append(reads, folder(m))
		}
	}
	g.list("writes", "can change files in", writes)
	g.list("copies", "works on a copy of", copies)
	if rc.Output.Log != "" {
		g.add("writes", "keeps its log in "+g.short(rc.Output.Log))
	}
	if rc.Output.Record {
		g.add("writes", "records what the terminal shows")
	}
	if rc.WorkspaceWorkdir || slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Workspace }) {
		g.add("writes", "makes folders in "+g.short(rc.WorkspacesDir)+" and removes them when they are empty")
	}
	system := "the system"
	if rc.Base == "minimal" {
		system = "the system's programs"
	}
	if rc.Home == "isolated" {
		g.add("reads", "can read "+system+listedHome)
		reads = append(reads, eachOf(rc.HomeAllow, g.short)...)
	} else {
		g.add("reads", "can read "+system+wholeHome)
	}
	g.list("reads", "can read", reads)
	g.tighten("hides", "empty in the box", empty)
}

func (g *granter) network(rc RunConfig) {
	switch rc.Network {
	case NetFull:
		g.add("network", "can use the network, this computer's own services included")
	case NetAllowlist, NetAsk:
		switch {
		case len(rc.NetworkAllow) > 0:
			g.list("network", "can reach", rc.NetworkAllow)
		case len(rc.Capabilities) > 0:
			g.add("network", "can use the network where its capabilities need it")
		case rc.Network == NetAllowlist:
			g.grants = append(g.grants, Grant{Kind: "network", Text: "no host can be reached", Tightens: true})
		}
		if rc.Network == NetAsk {
			g.add("network", "asks you, on a terminal, about each host that is not listed")
		}
	default:
		g.grants = append(g.grants, Grant{Kind: "network", Text: "no network", Tightens: true})
	}
	if rc.Network != NetOff {
		g.tighten("network", "cannot reach", rc.NetworkDeny)
	}
	if rc.Network != NetFull {
		g.list("network", "uses services of this computer, at its ports", eachOf(rc.HostPorts, Port.words))
		g.list("network", "can be reached from this computer, at its ports", eachOf(rc.Publish, Port.words))
	}
}

// explained adds to an allow key what it amounts to, where that is more than
// its name says.
func explained(key string) string {
	switch key {
	case "docker-socket", "podman-socket":
		return key + " (a way out of the box)"
	case "notifications":
		return key + " (can show notifications on your desktop)"
	case "secret-service":
		return key + " (can read and change every password in your keyring that is unlocked)"
	case "session-bus":
		return key + " (can start programs outside the box)"
	case "project-config":
		return key + " (can change what editors and agents run on your machine)"
	case "nested-user-ns":
		return key + " (can make containers and user namespaces: more of the kernel is within reach)"
	}
	return key
}

func (g *granter) variables(env Env) {
	if env.InheritAll {
		g.add("passes", "gets all your variables, except those that look secret")
	}
	var secrets, plain []string
	for _, name := range env.Inherit {
		group := ordinary(name)
		switch {
		case group != "" && slices.Contains(plain, group):
		case group != "":
			plain = append(plain, group)
		case LooksSecret(name) && !strings.Contains(name, "*"):
			secrets = append(secrets, name)
		default:
			plain = append(plain, name)
		}
	}
	for _, kv := range env.SetFrom {
		if !slices.Contains(secrets, kv.Value) {
			secrets = append(secrets, kv.Value)
		}
	}
	g.list("secret", "gets your secrets", secrets)
	g.list("passes", "gets your variables", plain)
	g.list("sets", "sets variables", eachOf(env.Set, func(kv KV) string {
		if env.Hidden(kv.Key, kv.Value) {
			return kv.Key + " (value not shown)"
		}
		return kv.Key + "=" + kv.Value
	}))
	g.list("path", "looks for programs first in", eachOf(env.PathPrepend, g.short))
}

// hide tells what is hidden, and what is shown of that after all.
func (g *granter) hide(patterns []string) {
	var hidden, shown []string
	for _, p := range patterns {
		if after, negated := strings.CutPrefix(p, "!"); negated {
			shown = append(shown, g.short(after))
		} else {
			hidden = append(hidden, g.short(p))
		}
	}
	g.list("reads", "does not hide", shown)
	g.tighten("hides", "also hides", hidden)
}

// ordinary names the group of a variable that says nothing but how to draw and
// where the network is, so that the others stand out; "" for all others.
func ordinary(name string) string {
	switch name {
	case "TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR", "FORCE_COLOR", "LANG", "LANGUAGE", "LC_*", "TZ", "HOME", "USER", "LOGNAME", "SHELL", "PATH":
		return "terminal and user settings"
	}
	switch strings.ToUpper(name) {
	case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY":
		return "proxy settings"
	}
	return ""
}

// layers tells where the box is weaker, or stronger, than it is by default.
func (g *granter) layers(rc RunConfig) {
	if rc.GitDir == "rw" {
		g.add("layer", "can change git hooks and configuration, which run outside the box later")
	}
	if !rc.PIDNamespace {
		g.add("layer", "sees the other processes of this computer")
	}
	if rc.Proc == "bind" {
		g.add("layer", "sees this computer's own /proc")
	}
	if rc.CgroupManager == "systemd" {
		g.add("layer", "lets containers ask the system's service manager for cgroups")
	}
	if rc.Seccomp == "off" {
		g.add("layer", "runs without the system call filter")
	}
	if rc.Landlock == "off" {
		g.add("layer", "runs without Landlock, the second layer under the mounts")
	}
	narrow := func(text string) { g.grants = append(g.grants, Grant{Kind: "layer", Text: text, Tightens: true}) }
	if rc.GitDir == "ro" {
		narrow("cannot change anything in .git")
	}
	if rc.Seccomp == "strict" {
		narrow("runs with the strict system call filter")
	}
	if rc.Landlock == "required" {
		narrow("runs only where the kernel has Landlock, the second layer under the mounts")
	}
	if rc.Proc == "empty" {
		narrow("has an empty /proc")
	}
}

func (g *granter) git(git *Git) {
	if git == nil {
		return
	}
	g.grants = append(g.grants, Grant{Kind: "layer", Text: "has a cleaned copy of your git settings: without helpers for logins, hooks folder and tokens", Tightens: true})
	g.tighten("git", "does not have these of your git settings", git.StripSections)
	g.list("git", "sets for git", eachOf(git.Overrides, func(kv KV) string {
		if LooksSecret(kv.Key) || HasLogin(kv.Value) || HasLogin(kv.Key) || strings.HasSuffix(strings.ToLower(kv.Key), "extraheader") {
			return kv.Key + " (value not shown)"
		}
		return kv.Key + "=" + kv.Value
	}))
}

func (g *granter) limits(rc RunConfig) {
	names := map[string]string{"pids": "processes", "files": "open files", "file_size": "file size", "disk": "what is kept in memory as files"}
	var items []string
	for _, l := range rc.Limits.Rows() {
		items = append(items, cmp.Or(names[l.Key], l.Key)+" "+l.Value)
	}
	if rc.LimitsLoose && len(items) > 0 {
		g.tighten("limit", "limited, where your machine can hold it (limits_required = false)", items)
		items = nil
	}
	if t := rc.Output.Timeout; t > 0 {
		items = append(items, "time "+duration(t))
	}
	g.tighten("limit", "limited", items)
}

// duration writes 30m, not 30m0s.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// commandLine writes a program and its arguments so that words can be told
// apart.
func commandLine(cmd string, args []string) string {
	words := append([]string{cmd}, args...)
	for i, w := range words {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\") || control(w) {
			words[i] = strconv.Quote(w)
		}
	}
	return strings.Join(words, " ")
}

func eachOf[T any](list []T, f func(T) string) []string {
	out := make([]string, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// joinItems and splitItems are each other's inverse: grants are stored as text,
// and compared item by item.
func joinItems(words string, items []string) string {
	quoted := eachOf(items, func(s string) string {
		if s == "" || strings.Contains(s, ", ") || strings.ContainsAny(s, `"\`) || control(s) || strings.TrimSpace(s) != s || strings.HasSuffix(s, ",") {
			return strconv.Quote(s)
		}
		return s
	})
	return words + ": " + strings.Join(quoted, ", ")
}

func splitItems(text string) (words string, items []string) {
	words, rest, ok := strings.Cut(text, ": ")
	if !ok {
		return text, nil
	}
	for rest != "" {
		item, after := rest, ""
		if q, err := strconv.QuotedPrefix(rest); err == nil && rest[0] == '"' {
			item, after = q, strings.TrimPrefix(rest[len(q):], ", ")
		} else {
			item, after, _ = strings.Cut(rest, ", ")
		}
		items, rest = append(items, item), after
	}
	return words, items
}

// listed reports whether a kind's text is a list.
func listed(g Grant) bool {
	switch g.Kind {
	case "runs", "layer", "clipboard":
		return false
	}
	return true
}

// DiffGrants tells what became wider and what narrower from old to new, each in
// stable order. A grant that Tightens and is gone is wider; a changed value is
// wider for its new form and narrower for its old one. Of a list only the items
// that changed are returned.
func DiffGrants(old, new []Grant) (wider, narrower []Grant) {
	gained, lost := missing(new, old), missing(old, new)
	sayHome(gained, &lost)
	for _, g := range gained {
		if g.Tightens {
			narrower = append(narrower, g)
		} else {
			wider = append(wider, g)
		}
	}
	for _, g := range lost {
		switch {
		case !g.Tightens:
			narrower = append(narrower, g)
		case g.Text != "no network": // the network that is there now says it
			wider = append(wider, g)
		}
	}
	return wider, narrower
}

// The two things that can be read of a home folder, and the line of Grants that ends so.
const (
	wholeHome  = " and your whole home folder, except hidden secrets"
	listedHome = "; of your home folder only what is listed here"
)

// sayHome makes an isolated home in the place of a whole one something that
// narrows, and says of the way back only what is there now.
func sayHome(gained []Grant, lost *[]Grant) {
	of := func(list []Grant, home string) int {
		return slices.IndexFunc(list, func(g Grant) bool { return g.Kind == "reads" && strings.HasSuffix(g.Text, home) })
	}
	if now := of(gained, listedHome); now >= 0 && of(*lost, wholeHome) >= 0 {
		gained[now].Tightens = true
	}
	if was := of(*lost, listedHome); was >= 0 && of(gained, wholeHome) >= 0 {
		*lost = slices.Delete(*lost, was, was+1)
	}
}

// missing returns what is in a and not in b.
func missing(a, b []Grant) []Grant {
	type atom struct {
		kind, words, item string
		tightens          bool
	}
	have := map[atom]bool{}
	for _, g := range b {
		words, items := parts(g)
		for _, it := range items {
			have[atom{g.Kind, words, it, g.Tightens}] = true
		}
	}
	var out []Grant
	for _, g := range a {
		words, items := parts(g)
		items = slices.DeleteFunc(slices.Clone(items), func(it string) bool { return have[atom{g.Kind, words, it, g.Tightens}] })
		switch {
		case len(items) == 0:
			continue
		case items[0] != "":
			g.Text = words + ": " + strings.Join(items, ", ")
		}
		out = append(out, g)
	}
	return out
}

// parts returns the items of a list, or one empty item.
func parts(g Grant) (words string, items []string) {
	if listed(g) {
		if words, items = splitItems(g.Text); len(items) > 0 {
			return words, items
		}
	}
	return g.Text, []string{""}
}
