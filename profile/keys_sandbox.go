package profile

import "github.com/enr/inner/profile/strict"

// The rows of keyRules for what stands above all tables, and for [shim] and [sandbox].

func generalRules() []keyRule {
	return []keyRule{
		{key: "schema_version", whole: (*validator).version},
		{key: "name", check: (*validator).name},
		{
			key:    "workspaces_path",
			check:  (*validator).text,
			remote: dropped("a remote profile does not choose where folders are created"),
		},
		{
			key:  "capabilities",
			take: func(r *resolver) { r.rc.Capabilities = r.s.Capabilities.Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("capability", "capability", "gets a copy of your login and settings of", texts(rc.Capabilities))
			},
			container: when("the programs and settings of agents are this computer's, not the image's", func(rc *RunConfig) bool { return len(rc.Capabilities) > 0 }),
		},
		{
			key:    "sync_credentials",
			take:   func(r *resolver) { r.rc.SyncLogin = r.s.SyncCredentials.On() },
			say:    (*granter).login,
			remote: dropped("a login is not written back", "true"),
		},

		{ // claims nothing: a URL is typed, and nobody types in a pod
			key:   "shim.commands",
			whole: (*validator).commands,
			check: func(v *validator, key string, p strict.Item) { v.Judge(p.At, key, CheckCommand(p.Text)) },
		},
	}
}

func networkRules() []keyRule {
	return []keyRule{
		{key: "sandbox.network_mode", check: (*validator).networkMode, say: (*granter).network},
		{key: "sandbox.network_allow", check: (*validator).networkAllow, remote: each(near)},
		{
			key:    "sandbox.publish",
			check:  (*validator).port,
			remote: dropped("nothing of it listens on your computer"),
		},
		{
			key:    "sandbox.host_ports",
			check:  (*validator).port,
			remote: dropped("the services of your computer stay yours"),
		},
	}
}

func sandboxRules() []keyRule {
	clipboard := func(rc *RunConfig) bool { return rc.Clipboard }
	devices := func(rc *RunConfig) bool { return len(rc.Devices) > 0 }
	return []keyRule{
		{
			key:  "sandbox.clipboard",
			take: func(r *resolver) { r.rc.Clipboard = r.s.Sandbox.Clipboard.On() },
			say: func(g *granter, rc *RunConfig) {
				if rc.Clipboard {
					g.say("clipboard", "clipboard", "can read and change your clipboard, and with an X11 display see your windows and keys")
				}
			},
			container: when("a container has no display", clipboard),
			remote:    dropped("the clipboard stays yours", "true"),
		},
		{
			key:  "sandbox.devices",
			take: func(r *resolver) { r.rc.Devices = r.s.Sandbox.Devices.Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("device", "devices", "can use the devices", itemsOf(rc.Devices, deviceWords))
			},
			container: when("the devices of a container are its engine's", devices),
			remote:    dropped("the devices of your computer stay yours"),
		},
		{
			key:  "sandbox.allow",
			take: (*resolver).allow,
			say: func(g *granter, rc *RunConfig) {
				g.list("secret", "allow", "can use what is hidden otherwise", itemsOf(rc.Allow, explained))
			},
			container: nestedContainers,
			remote:    each(notAllowed),
		},
		{key: "sandbox.writable", check: (*validator).inside},
		{key: "sandbox.keep", check: (*validator).inside},
		{key: "sandbox.home", remote: (*hardener).home},
		{key: "sandbox.home_allow", check: (*validator).homeAllow, remote: each(variables)},
		{
			key:    "sandbox.hide",
			check:  (*validator).hide,
			say:    (*granter).hide,
			remote: each(revealing), // a variable it may not use is an error: what narrows is not dropped
		},
		{
			key:    "sandbox.git_dir",
			take:   func(r *resolver) { r.rc.GitDir = r.s.Sandbox.GitDir.Or("checked") },
			say:    (*granter).layers, // of all keys that are about one
			remote: dropped("what it changes in git is checked", "rw"),
		},
		{
			key:       "sandbox.proc",
			container: when("a container has a /proc of its own", func(rc *RunConfig) bool { return rc.Proc == "bind" || rc.Proc == "empty" }),
		},
		{key: "sandbox.image", check: (*validator).image},
		{
			key:   "sandbox.limits.memory",
			whole: func(v *validator, _ strict.Key) { v.s.Sandbox.Limits.Check("sandbox.limits", &v.Problems) }, // of all limits
			say:   (*granter).limits,
		},
		{
			key:       "sandbox.limits.disk",
			container: when("not all that can be written has a size there", func(rc *RunConfig) bool { return rc.Limits.Disk != "" }),
		},
	}
}
