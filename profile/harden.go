package profile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// Harden returns a Remote profile without what a stranger has no business
// deciding, and says in one line each what was taken out. What is kept is kept
// because Grants shows it, and somebody is asked. The profile itself is not
// changed.
//
// It works on the merged profile: a remote one may build on the user's own, and
// must not get at what those grant by naming them.
func (p *Profile) Harden() (*Profile, []string) {
	hard := *p
	h := hardener{src: &hard.src}
	for _, rule := range hardening() {
		if rule.do != nil {
			rule.do(&h, rule.key)
		}
	}
	return &hard, h.lines
}

// policy says what becomes of one key of a remote profile.
type policy struct {
	key string
	do  func(h *hardener, key string) // nil: kept as written
}

// hardening has a policy for every key a profile can have, in the order of the
// schema; a test compares them.
func hardening() []policy {
	reset := func(words string, field func(*source) *strict.String, bad ...string) func(*hardener, string) {
		return func(h *hardener, key string) {
			if f := field(h.src); slices.Contains(bad, f.V) || len(bad) == 0 && f.V != "" {
				h.say("%s = %q is ignored: %s", key, f.V, words)
				*f = strict.String{}
			}
		}
	}
	off := func(words string, danger bool, field func(*source) *strict.Bool) func(*hardener, string) {
		return func(h *hardener, key string) {
			if f := field(h.src); f.Set && f.V == danger {
				h.say("%s = %t is ignored: %s", key, f.V, words)
				*f = strict.Bool{}
			}
		}
	}
	none := func(words string, field func(*source) *strict.List) func(*hardener, string) {
		return func(h *hardener, key string) {
			for _, it := range field(h.src).Items {
				h.say("%s: %q is dropped: %s", key, it.Text, words)
			}
			*field(h.src) = strict.List{}
		}
	}
	return []policy{
		{"schema_version", nil},
		{"name", nil},
		{"description", nil},
		{"extends", nil}, // Loader takes global names only
		{"workspaces_path", reset("a remote profile does not choose where folders are created", func(s *source) *strict.String { return &s.WorkspacesPath })},
		{"experimental", nil},
		{"capabilities", nil},
		{"sync_credentials", off("a login is not written back", true, func(s *source) *strict.Bool { return &s.SyncCredentials })},

		{"shim.commands", nil}, // claims nothing: a URL is typed
		{"shim.when", nil},

		{"sandbox.network", nil},
		{"sandbox.network_mode", nil},
		{"sandbox.network_allow", nil},
		{"sandbox.network_deny", nil},
		{"sandbox.publish", none("nothing of it listens on your computer", func(s *source) *strict.List { return &s.Sandbox.Publish })},
		{"sandbox.host_ports", none("the services of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.HostPorts })},
		{"sandbox.clipboard", off("the clipboard stays yours", true, func(s *source) *strict.Bool { return &s.Sandbox.Clipboard })},
		{"sandbox.devices", none("the devices of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.Devices })},
		{"sandbox.allow", (*hardener).allow},
		{"sandbox.base", nil},
		{"sandbox.workdir_mode", nil},
		{"sandbox.writable", nil}, // of the folder where the person is, and shown
		{"sandbox.keep", nil},
		{"sandbox.etc", nil},
		{"sandbox.home", (*hardener).home},
		{"sandbox.home_name", reset("it shares no home", func(s *source) *strict.String { return &s.Sandbox.HomeName })},
		{"sandbox.home_allow", func(h *hardener, key string) { h.list(key, &h.src.Sandbox.HomeAllow) }},
		{"sandbox.hide", (*hardener).hide}, // a variable it may not use is an error: what narrows is not dropped
		{"sandbox.pid_namespace", off("it does not see your other processes", false, func(s *source) *strict.Bool { return &s.Sandbox.PIDNamespace })},
		{"sandbox.git_dir", reset("it gets a git directory of its own", func(s *source) *strict.String { return &s.Sandbox.GitDir }, "rw")},
		{"sandbox.proc", reset("it gets a /proc of its own", func(s *source) *strict.String { return &s.Sandbox.Proc }, "bind")},
		{"sandbox.seccomp", reset("the system call filter stays on", func(s *source) *strict.String { return &s.Sandbox.Seccomp }, "off")},
		{"sandbox.landlock", reset("the second layer stays on", func(s *source) *strict.String { return &s.Sandbox.Landlock }, "off")},
		{"sandbox.backend", nil},
		{"sandbox.image", nil}, // never fetched by inner, and shown
		{"sandbox.cgroup_manager", nil},
		{"sandbox.limits.memory", nil},
		{"sandbox.limits.cpu", nil},
		{"sandbox.limits.pids", nil},
		{"sandbox.limits.files", nil},
		{"sandbox.limits.file_size", nil},
		{"sandbox.limits.disk", nil},
		{"sandbox.limits_required", nil}, // one without limits starts as well

		{"mounts", (*hardener).mounts}, // what shows a hidden resource elsewhere is refused for every profile

		{"env.clearenv", off("your environment stays outside", false, func(s *source) *strict.Bool { return &s.Env.Clearenv })},
		{"env.inherit_all", off("your environment stays outside", true, func(s *source) *strict.Bool { return &s.Env.InheritAll })},
		{"env.inherit", (*hardener).inherit},
		{"env.set", (*hardener).set},
		{"env.path_prepend", func(h *hardener, key string) { h.list(key, &h.src.Env.PathPrepend) }},

		{"git.strip_sections", nil},
		{"git.overrides", nil},

		{"entrypoint.cmd", nil},
		{"entrypoint.args", nil},
		{"entrypoint.interactive", nil},
		{"entrypoint.tui", nil},
		{"entrypoint.cursor_fix", nil},
		{"entrypoint.workdir", reset("it works where you are", func(s *source) *strict.String { return &s.Entrypoint.Workdir })},
		{"entrypoint.history", nil},

		{"output.summary", nil},
		{"output.log", reset("the log is kept where your others are", func(s *source) *strict.String { return &s.Output.Log })},
		{"output.timeout_seconds", nil},
		{"output.record", (*hardener).record},
		{"output.review", nil},
		{"output.max_output", nil},

		{"noop.block", nil},
		{"noop.rewrite", nil},
		{"noop.message", nil},
		{"noop.mode", nil},

		{"verify.custom.checks", nil}, // run in the box, by inner verify only
	}
}

type hardener struct {
	src   *source
	lines []string
}

func (h *hardener) say(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// allow keeps the one key that opens nothing of the user's. What is not known
// here is dropped, so that a new key is not let through.
func (h *hardener) allow(key string) {
	l := &h.src.Sandbox.Allow
	l.Items = keepItems(l.Items, func(it strict.Item) bool {
		ok := it.Text == "nested-user-ns"
		if !ok {
			h.say("%s: %q is dropped: it stays hidden", key, it.Text)
		}
		return ok
	})
}

// home gives it an empty one: it gets at nothing that other boxes left in theirs.
func (h *hardener) home(key string) {
	if f := &h.src.Sandbox.Home; f.V == "own" {
		h.say(`%s = "own" becomes "isolated": nothing of its home stays`, key)
		f.V = "isolated"
	}
}

// hide keeps it from showing what a profile of the user's own that it extends hides.
func (h *hardener) hide(key string) {
	l := &h.src.Sandbox.Hide
	l.Items = keepItems(l.Items, func(it strict.Item) bool {
		shows := strings.HasPrefix(it.Text, "!")
		if shows {
			h.say("%s: %q is dropped: what is hidden stays hidden", key, it.Text)
		}
		return !shows
	})
}

// record keeps it from leaving less behind than other runs.
func (h *hardener) record(key string) {
	if h.src.Output.Record.V == "audit" {
		h.say("%s = %q is ignored: its runs are recorded as your others are", key, "audit")
		h.src.Output.Record = strict.Switch{}
	}
}

func (h *hardener) inherit(key string) {
	l := &h.src.Env.Inherit
	l.Items = keepItems(l.Items, func(it strict.Item) bool {
		secret := LooksSecret(it.Text)
		if secret {
			h.say("%s: %q is dropped: it looks like a secret", key, it.Text)
		}
		return !secret
	})
}

func (h *hardener) list(key string, l *strict.List) {
	l.Items = keepItems(l.Items, func(it strict.Item) bool { return h.plain(key+": "+strconv.Quote(it.Text), it.Text) })
}

func (h *hardener) set(key string) {
	t := &h.src.Env.Set
	t.Entries = slices.DeleteFunc(slices.Clone(t.Entries), func(e strict.Entry[string]) bool {
		return !h.plain(strict.Join("env", "set", e.Key), e.Value)
	})
}

func (h *hardener) mounts(string) {
	t := &h.src.Mounts
	t.Entries = slices.Clone(t.Entries)
	for i := range t.Entries {
		if m := &t.Entries[i]; m.Value.Missing.V == "create" {
			h.say("%s: missing = \"create\" is ignored: a remote profile makes no folders", strict.Join("mounts", m.Key))
			m.Value.Missing = strict.String{}
		}
	}
	t.Entries = slices.DeleteFunc(slices.Clone(t.Entries), func(e strict.Entry[mountSpec]) bool {
		return !h.plain(strict.Join("mounts", e.Key), e.Key, e.Value.Dest.V)
	})
}

// keepItems is slices.DeleteFunc on a copy: what was merged may share its lists.
func keepItems(items []strict.Item, ok func(strict.Item) bool) []strict.Item {
	return slices.DeleteFunc(slices.Clone(items), func(it strict.Item) bool { return !ok(it) })
}

// plain reports whether values use only what a remote profile may know of the
// environment.
func (h *hardener) plain(what string, values ...string) bool {
	var asked []string
	x := expander{home: "/", workdir: "/", workspaces: "/", lookup: func(name string) (string, bool) {
		if _, ok := remoteLookup(func(string) (string, bool) { return "", true })(name); !ok && !slices.Contains(asked, name) {
			asked = append(asked, name)
		}
		return "", true
	}}
	for _, v := range values {
		_, _ = x.expand(v, tilde|vars|workdir|workspaces) // what is malformed is told when it is resolved
	}
	if len(asked) > 0 {
		h.say("%s is dropped: a remote profile knows HOME, USER and UID, not %s", what, strings.Join(asked, ", "))
	}
	return len(asked) == 0
}

// remoteLookup is the environment as a remote profile may know it.
func remoteLookup(lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name != "HOME" && name != "USER" {
			return "", false
		}
		return lookup(name)
	}
}
