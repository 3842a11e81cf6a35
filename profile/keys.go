package profile

import (
	"cmp"
	"slices"

	"github.com/enr/inner/profile/strict"
)

// keyRule is what the parts of inner must know about one key of the language, besides its value.
// The rows of keyRules do not name the columns, so that one without a column does not compile.
type keyRule struct {
	key       string
	grants    string                        // the kinds of Grant that come from it, see OriginsOf
	forbid    []forbiddable                 // what words of [forbid] grants refuse it for
	container says                          // why no container engine can hold it; nil: the plan shows that
	remote    func(h *hardener, key string) // what becomes of it in a profile from a URL; nil: kept as written
}

// says is what there is to say about a box, "" when there is nothing, and the name to say it of
// when that is not the key.
type says func(rc *RunConfig) (text, name string)

// forbiddable is one grant that an organisation can forbid.
type forbiddable struct {
	word string
	has  says
}

// keyRules has a row for every key, in the order of the schema; a test compares them. What comes
// after a row is about profiles from a URL. What a pod makes of a key is in the table of
// isolator/export.
func keyRules() []keyRule {
	clipboard := func(rc *RunConfig) bool { return rc.Clipboard }
	devices := func(rc *RunConfig) bool { return len(rc.Devices) > 0 }
	return []keyRule{
		{"schema_version", "", nil, nil, nil},
		{"name", "", nil, nil, nil},
		{"description", "", nil, nil, nil},
		{"extends", "", nil, nil, nil}, // Loader takes global names only
		{
			"workspaces_path", "",
			nil,
			nil,
			reset("a remote profile does not choose where folders are created", func(s *source) *strict.String { return &s.WorkspacesPath }),
		},
		{"experimental", "", nil, nil, nil},
		{
			"capabilities", "capability",
			forbid("own-capabilities", when("a capability of your own config.toml", ownCapability)),
			when("the programs and settings of agents are this computer's, not the image's", func(rc *RunConfig) bool { return len(rc.Capabilities) > 0 }),
			nil,
		},
		{"sync_credentials", "login", nil, nil, switchOff("a login is not written back", true, func(s *source) *strict.Bool { return &s.SyncCredentials })},

		{"shim.commands", "", nil, nil, nil}, // claims nothing: a URL is typed
		{"shim.when", "", nil, nil, nil},

		{"sandbox.network", "network", nil, nil, nil},
		{
			"sandbox.network_mode", "network",
			slices.Concat(
				forbid("full-network", when("the whole network", func(rc *RunConfig) bool { return rc.Network == NetFull })),
				forbid("ask-network", when("a network that is asked about", func(rc *RunConfig) bool { return rc.Network == NetAsk })),
			),
			nil,
			nil,
		},
		{"sandbox.network_allow", "network", nil, nil, nil},
		{"sandbox.network_deny", "network", nil, nil, nil},
		{
			"sandbox.publish", "network",
			forbid("host-ports", when("a port of this computer", func(rc *RunConfig) bool { return len(rc.Publish) > 0 })),
			nil,
			dropAll("nothing of it listens on your computer", func(s *source) *strict.List { return &s.Sandbox.Publish }),
		},
		{
			"sandbox.host_ports", "network",
			forbid("host-ports", when("a port of this computer", func(rc *RunConfig) bool { return len(rc.HostPorts) > 0 })),
			nil,
			dropAll("the services of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.HostPorts }),
		},
		{
			"sandbox.clipboard", "clipboard",
			forbid("clipboard", when("the clipboard", clipboard)),
			when("a container has no display", clipboard),
			switchOff("the clipboard stays yours", true, func(s *source) *strict.Bool { return &s.Sandbox.Clipboard }),
		},
		{
			"sandbox.devices", "device",
			forbid("devices", when("a device", devices)),
			when("the devices of a container are its engine's", devices),
			dropAll("the devices of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.Devices }),
		},
		{"sandbox.allow", "secret", forbid("host-sockets", allowedSocket), nestedContainers, (*hardener).allow},
		{"sandbox.base", "reads writes", nil, nil, nil},
		{"sandbox.workdir_mode", "writes reads", nil, nil, nil},
		{"sandbox.writable", "writes", nil, nil, nil}, // of the folder where the person is, and shown
		{"sandbox.keep", "writes", nil, nil, nil},
		{"sandbox.etc", "hides", nil, nil, nil},
		{"sandbox.home", "reads writes", nil, nil, (*hardener).home},
		{"sandbox.home_name", "", nil, nil, reset("it shares no home", func(s *source) *strict.String { return &s.Sandbox.HomeName })},
		{"sandbox.home_allow", "reads", nil, nil, func(h *hardener, key string) { h.list(key, &h.src.Sandbox.HomeAllow) }},
		{"sandbox.hide", "hides", nil, nil, (*hardener).hide}, // a variable it may not use is an error: what narrows is not dropped
		{
			"sandbox.pid_namespace", "layer",
			forbid("weaker-layers", when("the processes of this computer", func(rc *RunConfig) bool { return !rc.PIDNamespace })),
			nil,
			switchOff("it does not see your other processes", false, func(s *source) *strict.Bool { return &s.Sandbox.PIDNamespace }),
		},
		{
			"sandbox.git_dir", "layer",
			forbid("git-rw", when("the git directory that your own git obeys", func(rc *RunConfig) bool { return rc.GitDir == "rw" })),
			nil,
			reset("it gets a git directory of its own", func(s *source) *strict.String { return &s.Sandbox.GitDir }, "rw"),
		},
		{
			"sandbox.proc", "layer",
			forbid("weaker-layers", when("the /proc of this computer", func(rc *RunConfig) bool { return rc.Proc == "bind" })),
			when("a container has a /proc of its own", func(rc *RunConfig) bool { return rc.Proc == "bind" || rc.Proc == "empty" }),
			reset("it gets a /proc of its own", func(s *source) *strict.String { return &s.Sandbox.Proc }, "bind"),
		},
		{
			"sandbox.seccomp", "layer",
			forbid("weaker-layers", when("no filter of system calls", func(rc *RunConfig) bool { return rc.Seccomp == "off" })),
			nil,
			reset("the system call filter stays on", func(s *source) *strict.String { return &s.Sandbox.Seccomp }, "off"),
		},
		{
			"sandbox.landlock", "layer",
			forbid("weaker-layers", when("no Landlock", func(rc *RunConfig) bool { return rc.Landlock == "off" })),
			nil,
			reset("the second layer stays on", func(s *source) *strict.String { return &s.Sandbox.Landlock }, "off"),
		},
		{"sandbox.backend", "reads", nil, nil, nil},
		{"sandbox.image", "reads", nil, nil, nil}, // never fetched by inner, and shown
		{"sandbox.cgroup_manager", "layer", nil, nil, nil},
		{"sandbox.limits.memory", "limit", nil, nil, nil},
		{"sandbox.limits.cpu", "limit", nil, nil, nil},
		{"sandbox.limits.pids", "limit", nil, nil, nil},
		{"sandbox.limits.files", "limit", nil, nil, nil},
		{"sandbox.limits.file_size", "limit", nil, nil, nil},
		{
			"sandbox.limits.disk", "limit writes",
			nil,
			when("not all that can be written has a size there", func(rc *RunConfig) bool { return rc.Limits.Disk != "" }),
			nil,
		},
		{"sandbox.limits_required", "limit", nil, nil, nil}, // one without limits starts as well
		{"sandbox.session", "layer", nil, nil, nil},         // a URL has no session

		{ // what shows a hidden resource elsewhere is refused for every profile
			"mounts", "writes reads copies hides",
			slices.Concat(forbid("host-sockets", mountedSocket), forbid("writable-outside", writableOutside)),
			nil,
			(*hardener).mounts,
		},

		{"env.clearenv", "passes", nil, nil, switchOff("your environment stays outside", false, func(s *source) *strict.Bool { return &s.Env.Clearenv })},
		{
			"env.inherit_all", "passes",
			nil,
			nil,
			switchOff("your environment stays outside", true, func(s *source) *strict.Bool { return &s.Env.InheritAll }),
		},
		{"env.inherit", "secret passes", nil, nil, (*hardener).inherit},
		{"env.set", "sets", nil, nil, (*hardener).set},
		{"env.path_prepend", "path", nil, nil, func(h *hardener, key string) { h.list(key, &h.src.Env.PathPrepend) }},

		{"git.strip_sections", "git layer", nil, nil, nil},
		{"git.overrides", "git layer", nil, nil, nil},

		{"entrypoint.cmd", "runs", nil, nil, nil},
		{"entrypoint.args", "runs", nil, nil, nil},
		{"entrypoint.interactive", "", nil, nil, nil},
		{"entrypoint.tui", "", nil, nil, nil},
		{"entrypoint.cursor_fix", "", nil, nil, nil},
		{"entrypoint.workdir", "", nil, nil, reset("it works where you are", func(s *source) *strict.String { return &s.Entrypoint.Workdir })},
		{"entrypoint.history", "history", nil, nil, nil},

		{"output.summary", "", nil, nil, nil},
		{"output.log", "writes", nil, nil, reset("the log is kept where your others are", func(s *source) *strict.String { return &s.Output.Log })},
		{"output.timeout_seconds", "limit", nil, nil, nil},
		{"output.record", "writes", nil, nil, (*hardener).record},
		{"output.review", "", nil, nil, nil},
		{"output.max_output", "", nil, nil, nil},

		{"noop.block", "blocks", nil, imagePrograms, nil},
		{"noop.rewrite", "replaces", nil, imagePrograms, nil},
		{"noop.message", "", nil, nil, nil},
		{"noop.mode", "blocks", nil, nil, nil},

		{"verify.custom.checks", "", nil, nil, nil}, // run in the box, by inner verify only
	}
}

func when(text string, has func(rc *RunConfig) bool) says {
	return func(rc *RunConfig) (string, string) {
		if !has(rc) {
			return "", ""
		}
		return text, ""
	}
}

func forbid(word string, has says) []forbiddable { return []forbiddable{{word, has}} }

// Uncontained is the first key of a box that no container engine can hold, and why; "" when
// there is none.
func (rc *RunConfig) Uncontained() (key, why string) {
	for _, r := range keyRules() {
		if r.container == nil {
			continue
		}
		if why, name := r.container(rc); why != "" {
			return cmp.Or(name, r.key), why
		}
	}
	return "", ""
}

func nestedContainers(rc *RunConfig) (text, name string) {
	if !slices.Contains(rc.Allow, "nested-user-ns") {
		return "", ""
	}
	return "there are no containers in a container", `sandbox.allow = ["nested-user-ns"]`
}

func imagePrograms(rc *RunConfig) (text, name string) {
	if len(rc.Noop.Rules) == 0 {
		return "", ""
	}
	return "the programs are those of the image", "noop"
}
