package profile

import (
	"strings"

	"github.com/enr/inner/profile/strict"
)

// The rows of keyRules for what stands above all tables, and for [shim] and [sandbox].

func generalRules() []keyRule {
	return []keyRule{
		{key: "schema_version", merge: "own", whole: (*validator).version, remote: kept},
		{key: "name", merge: "own", check: (*validator).name, remote: kept},
		{key: "description", remote: kept},
		{key: "extends", merge: "own", remote: kept}, // Loader takes global names only; elsewhere the profile travels as one file
		{
			key:    "workspaces_path",
			check:  (*validator).text,
			remote: dropped("a remote profile does not choose where folders are created"),
		},
		{key: "experimental", kind: strict.ABool, remote: kept},
		{
			key:   "capabilities",
			kind:  strict.AList,
			words: strings.Join(Capabilities(), ","),
			take:  func(r *resolver) { r.rc.Capabilities = r.s.Value("capabilities").Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("capability", "capability", "gets a copy of your login and settings of", texts(rc.agents(false)))
				g.list("capability", "capability settings", "gets a copy of your settings of", texts(rc.agents(true)))
			},
			remote: kept,
		},
		{
			key:    "sync_credentials",
			kind:   strict.ABool,
			take:   func(r *resolver) { r.rc.SyncLogin = r.s.Value("sync_credentials").On() },
			say:    (*granter).login,
			remote: dropped("a login is not written back", "true"),
		},

		{ // claims nothing: a URL is typed, and nobody types in a pod
			key:    "shim.commands",
			kind:   strict.AList,
			merge:  "replace",
			whole:  (*validator).commands,
			check:  func(v *validator, key string, p strict.Item) { v.Judge(p.At, key, CheckCommand(p.Text)) },
			remote: kept,
		},
		{key: "shim.when", words: "always,tty,pipe", remote: kept},
	}
}

func networkRules() []keyRule {
	return []keyRule{
		{key: "sandbox.network", kind: strict.ABool, remote: kept},
		{
			key:    "sandbox.network_mode",
			words:  "off,full,allowlist,ask",
			check:  (*validator).networkMode,
			say:    (*granter).network,
			remote: kept,
		},
		{key: "sandbox.network_allow", kind: strict.AList, check: (*validator).networkAllow, remote: each(near)},
		{
			key:    "sandbox.publish",
			kind:   strict.AList,
			check:  (*validator).port,
			remote: dropped("nothing of it listens on your computer"),
		},
		{
			key:    "sandbox.host_ports",
			kind:   strict.AList,
			check:  (*validator).port,
			remote: dropped("the services of your computer stay yours"),
		},
	}
}

func sandboxRules() []keyRule {
	return []keyRule{
		{
			key:  "sandbox.clipboard",
			kind: strict.ABool,
			take: func(r *resolver) { r.rc.Clipboard = r.s.Value("sandbox.clipboard").On() },
			say: func(g *granter, rc *RunConfig) {
				if rc.Clipboard {
					g.say("clipboard", "clipboard", "can read and change your clipboard, and with an X11 display see your windows and keys")
				}
			},
			remote: dropped("the clipboard stays yours", "true"),
		},
		{
			key:   "sandbox.devices",
			kind:  strict.AList,
			words: strings.Join(deviceNames(), ","),
			take:  func(r *resolver) { r.rc.Devices = r.s.Value("sandbox.devices").Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("device", "devices", "can use the devices", itemsOf(rc.Devices, deviceWords))
			},
			remote: dropped("the devices of your computer stay yours"),
		},
		{
			key:   "sandbox.allow",
			kind:  strict.AList,
			words: strings.Join(AllowKeys(), ","),
			take:  (*resolver).allow,
			say: func(g *granter, rc *RunConfig) {
				g.list("secret", "allow", "can use what is hidden otherwise", append(itemsOf(rc.Allow, explained), g.alone(rc.Mounts)...))
			},
			remote: each(notAllowed),
		},
		{
			key:    "sandbox.mcp",
			kind:   strict.AList,
			check:  (*validator).filled,
			take:   (*resolver).mcp,
			say:    (*granter).mcp,
			remote: dropped("your MCP servers stay yours"),
		},
		{key: "sandbox.base", words: "host,minimal", remote: kept},
		{key: "sandbox.workdir_mode", words: "rw,ro,keep,none", remote: kept},
		{key: "sandbox.writable", kind: strict.AList, check: (*validator).inside, remote: kept},
		{key: "sandbox.keep", kind: strict.AList, check: (*validator).inside, remote: kept},
		{key: "sandbox.etc", words: "host,minimal", remote: kept},
		{key: "sandbox.home", words: "host,own,isolated", remote: (*hardener).home},
		{key: "sandbox.home_allow", kind: strict.AList, check: (*validator).homeAllow, remote: each(variables)},
		{
			key:    "sandbox.hide",
			kind:   strict.AList,
			check:  (*validator).hide,
			say:    (*granter).hide,
			remote: each(revealing), // a variable it may not use is an error: what narrows is not dropped
		},
		{
			key:    "sandbox.git_dir",
			words:  "checked,ro,rw",
			take:   func(r *resolver) { r.rc.GitDir = r.s.Value("sandbox.git_dir").Or("checked") },
			say:    (*granter).layers, // of all keys that are about one
			remote: dropped("what it changes in git is checked", "rw"),
		},
		{ // gives the box nothing
			key:    "sandbox.undo",
			kind:   strict.ABool,
			take:   func(r *resolver) { r.rc.Undo = r.s.Value("sandbox.undo").On() },
			remote: kept,
		},
		{key: "sandbox.proc", words: "auto,fresh,empty", remote: kept},
		{key: "sandbox.landlock", words: "auto,required", remote: kept},
		{key: "sandbox.backend", words: "auto,bwrap,podman,docker", remote: kept},
		{key: "sandbox.image", check: (*validator).image, remote: kept},
	}
}

// limitRules are the rows of [sandbox.limits], and of what is about boxes as a whole.
func limitRules() (rules []keyRule) {
	for _, name := range limitNames() {
		rules = append(rules, keyRule{
			key:    "sandbox.limits." + name,
			kind:   strict.ANumber,
			check:  (*validator).limit,
			remote: kept,
		})
	}
	rules[0].say = (*granter).limits // of all
	return append(
		rules,
		keyRule{key: "sandbox.limits_required", kind: strict.ABool, remote: kept},
		keyRule{key: "sandbox.session", words: "files,box", remote: kept},
	)
}

// LayerWords are the words of [sandbox] allow that switch a layer off.
func LayerWords() []string { return []string{"no-seccomp", "no-landlock", "host-proc"} }

// Capabilities returns the names [capabilities] takes.
func Capabilities() []string { return []string{"claude", "gemini", "cursor", "codex", "opencode"} }

// AllowKeys returns the keys [sandbox] allow takes: the nine of the manual, three that
// switch a layer off, and one for every other group of resources that is hidden by default.
func AllowKeys() []string {
	return []string{
		"ssh-keys", "git-credentials", "gpg-keys", "docker-socket", "podman-socket",
		"nested-user-ns", "netrc", "bash-history", "zsh-history",

		"no-seccomp", "no-landlock", "host-proc",

		"agent-state", "aws-credentials", "azure-credentials", "browser-profiles", "cargo-credentials", "ci-logins",
		"clipboard-history", "cloud-credentials", "container-sockets",
		"database-credentials", "docker-config", "editor-state",
		"env-files", "file-sync", "fish-history", "gcloud-credentials", "gh-config", "gpg-agent", "gradle-properties",
		"helm-config", "hub-config", "kerberos", "key-files",
		"keyrings", "kube-config", "mail-credentials", "maven-settings",
		"messengers", "mounted-media", "mysql-config", "named-like-secrets", "notebooks", "npmrc", "onepassword-config",
		"other-homes", "package-tokens", "password-store", "pgpass",
		"project-config", "pypirc", "rclone", "remote-desktops",
		"repl-history", "session-bus", "session-cookies", "snapshots", "ssh-agent", "ssh-known-hosts", "system-logs",
		"system-secrets", "systemd-user", "terraform-credentials", "vault-token", "vpn-config", "wallets",
	}
}
