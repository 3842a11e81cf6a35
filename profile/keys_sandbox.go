package profile

import "github.com/enr/inner/profile/strict"

// The rows of keyRules for what stands above all tables, and for [shim] and [sandbox].

func generalRules() []keyRule {
	return []keyRule{
		{key: "schema_version", check: (*validator).version, remote: kept},
		{key: "name", check: (*validator).name, remote: kept},
		{key: "description", remote: kept},
		{key: "extends", remote: kept}, // Loader takes global names only; elsewhere the profile travels as one file
		{
			key:    "workspaces_path",
			check:  func(v *validator, s *source, key string) { v.text(s.WorkspacesPath, key) },
			remote: reset("a remote profile does not choose where folders are created", func(s *source) *strict.String { return &s.WorkspacesPath }),
		},
		{key: "experimental", remote: kept},
		{
			key: "capabilities",
			check: func(v *validator, s *source, key string) {
				v.names(s.Capabilities, key, v.capabilities(s.Capabilities))
			},
			take:   func(r *resolver) { r.rc.Capabilities = r.s.Capabilities.Texts() },
			grants: "capability",
			say: func(g *granter, rc *RunConfig) {
				g.list("capability", "capability", "gets a copy of your login and settings of", texts(rc.Capabilities))
			},
			container: when("the programs and settings of agents are this computer's, not the image's", func(rc *RunConfig) bool { return len(rc.Capabilities) > 0 }),
			remote:    kept,
		},
		{
			key:    "sync_credentials",
			take:   func(r *resolver) { r.rc.SyncLogin = r.s.SyncCredentials.V },
			grants: "login",
			beyond: "login",
			say:    (*granter).login,
			remote: switchOff("a login is not written back", true, func(s *source) *strict.Bool { return &s.SyncCredentials }),
		},

		{key: "shim.commands", check: (*validator).commands, remote: kept}, // claims nothing: a URL is typed, and nobody types in a pod
		{key: "shim.when", remote: kept},
	}
}

func networkRules() []keyRule {
	return []keyRule{
		{key: "sandbox.network", grants: "network", remote: kept},
		{
			key:    "sandbox.network_mode",
			check:  (*validator).networkMode,
			grants: "network",
			say:    (*granter).network,
			remote: kept,
		},
		{key: "sandbox.network_allow", check: (*validator).networkAllow, grants: "network", remote: (*hardener).networkAllow},
		{
			key:    "sandbox.publish",
			check:  func(v *validator, s *source, key string) { v.ports(s.Sandbox.Publish, key) },
			grants: "network",
			remote: dropAll("nothing of it listens on your computer", func(s *source) *strict.List { return &s.Sandbox.Publish }),
		},
		{
			key:    "sandbox.host_ports",
			check:  func(v *validator, s *source, key string) { v.ports(s.Sandbox.HostPorts, key) },
			grants: "network",
			remote: dropAll("the services of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.HostPorts }),
		},
	}
}

func sandboxRules() []keyRule {
	clipboard := func(rc *RunConfig) bool { return rc.Clipboard }
	devices := func(rc *RunConfig) bool { return len(rc.Devices) > 0 }
	return []keyRule{
		{
			key:    "sandbox.clipboard",
			take:   func(r *resolver) { r.rc.Clipboard = r.s.Sandbox.Clipboard.V },
			grants: "clipboard",
			beyond: "clipboard",
			say: func(g *granter, rc *RunConfig) {
				if rc.Clipboard {
					g.say("clipboard", "clipboard", "can read and change your clipboard, and with an X11 display see your windows and keys")
				}
			},
			container: when("a container has no display", clipboard),
			remote:    switchOff("the clipboard stays yours", true, func(s *source) *strict.Bool { return &s.Sandbox.Clipboard }),
		},
		{
			key:    "sandbox.devices",
			check:  func(v *validator, s *source, key string) { v.names(s.Sandbox.Devices, key, deviceNames()) },
			take:   func(r *resolver) { r.rc.Devices = r.s.Sandbox.Devices.Texts() },
			grants: "device",
			beyond: "device",
			say: func(g *granter, rc *RunConfig) {
				g.list("device", "devices", "can use the devices", itemsOf(rc.Devices, deviceWords))
			},
			container: when("the devices of a container are its engine's", devices),
			remote:    dropAll("the devices of your computer stay yours", func(s *source) *strict.List { return &s.Sandbox.Devices }),
		},
		{
			key:    "sandbox.allow",
			check:  func(v *validator, s *source, key string) { v.names(s.Sandbox.Allow, key, AllowKeys()) },
			take:   (*resolver).allow,
			grants: "secret layer",
			beyond: "secret",
			say: func(g *granter, rc *RunConfig) {
				g.list("secret", "allow", "can use what is hidden otherwise", itemsOf(rc.Allow, explained))
			},
			container: nestedContainers,
			remote:    (*hardener).allow,
		},
		{key: "sandbox.base", grants: "reads writes", remote: kept},
		{key: "sandbox.workdir_mode", grants: "writes reads", remote: kept},
		{
			key:    "sandbox.writable",
			check:  func(v *validator, s *source, key string) { v.inside(s.Sandbox.Writable, key, true) },
			grants: "writes",
			remote: kept, // of the folder where the person is, and shown
		},
		{
			key:    "sandbox.keep",
			check:  func(v *validator, s *source, key string) { v.inside(s.Sandbox.Keep, key, false) },
			grants: "writes",
			remote: kept,
		},
		{key: "sandbox.etc", grants: "hides", remote: kept},
		{key: "sandbox.home", grants: "reads writes", remote: (*hardener).home},
		{
			key:    "sandbox.home_allow",
			check:  (*validator).homeAllow,
			grants: "reads",
			remote: func(h *hardener, key string) { h.list(key, &h.src.Sandbox.HomeAllow) },
		},
		{
			key:    "sandbox.hide",
			check:  (*validator).hide,
			grants: "hides",
			say:    (*granter).hide,
			remote: (*hardener).hide, // a variable it may not use is an error: what narrows is not dropped
		},
		{
			key:    "sandbox.git_dir",
			take:   func(r *resolver) { r.rc.GitDir = or(r.s.Sandbox.GitDir, "checked") },
			grants: "layer",
			beyond: "layer",
			say:    (*granter).layers, // of all keys that are about one
			remote: reset("what it changes in git is checked", func(s *source) *strict.String { return &s.Sandbox.GitDir }, "rw"),
		},
		{
			key:       "sandbox.proc",
			grants:    "layer",
			container: when("a container has a /proc of its own", func(rc *RunConfig) bool { return rc.Proc == "bind" || rc.Proc == "empty" }),
			remote:    kept,
		},
		{key: "sandbox.landlock", grants: "layer", remote: kept},
		{key: "sandbox.backend", grants: "reads", remote: kept},
		{
			key:    "sandbox.image",
			check:  (*validator).image,
			grants: "reads",
			remote: kept, // never fetched by inner, and shown
		},
		{
			key:    "sandbox.limits.memory",
			check:  func(v *validator, s *source, _ string) { s.Sandbox.Limits.Check("sandbox.limits", &v.problems) }, // of all limits
			grants: "limit",
			say:    (*granter).limits,
			remote: kept,
		},
		{key: "sandbox.limits.cpu", grants: "limit", remote: kept},
		{key: "sandbox.limits.pids", grants: "limit", remote: kept},
		{key: "sandbox.limits.files", grants: "limit", remote: kept},
		{key: "sandbox.limits.file_size", grants: "limit", remote: kept},
		{
			key:       "sandbox.limits.disk",
			grants:    "limit writes",
			container: when("not all that can be written has a size there", func(rc *RunConfig) bool { return rc.Limits.Disk != "" }),
			remote:    kept,
		},
		{key: "sandbox.limits_required", grants: "limit", remote: kept}, // one without limits starts as well
		{ // a URL has no session, and a pod is one run
			key:    "sandbox.session",
			grants: "layer",
			remote: kept,
		},
	}
}
