package profile

import "github.com/enr/inner/profile/strict"

// source is one profile file as written, or several of them merged: see strict.Merge. Tags say of
// a key what is plain text:
//
//	words   all that it takes
//	grants  the kinds of Grant that come from it
//	remote  "kept": a profile from a URL may say it; without, its row says what becomes of it
type source struct {
	SchemaVersion  strict.String `toml:"schema_version" merge:"own" remote:"kept"`
	Name           strict.String `toml:"name" merge:"own" remote:"kept"`
	Description    strict.String `toml:"description" remote:"kept"`
	Extends        strict.String `toml:"extends" merge:"own" remote:"kept"` // Loader takes global names only; elsewhere the profile travels as one file
	WorkspacesPath strict.String `toml:"workspaces_path"`
	Experimental   strict.Bool   `toml:"experimental" remote:"kept"`
	Capabilities   strict.List   `toml:"capabilities" grants:"capability" remote:"kept"`

	SyncCredentials strict.Bool `toml:"sync_credentials" grants:"login"`

	Shim       shimTable               `toml:"shim"`
	Sandbox    sandboxTable            `toml:"sandbox"`
	Mounts     strict.Table[mountSpec] `toml:"mounts" grants:"writes reads copies hides"`
	Env        envTable                `toml:"env"`
	Git        gitTable                `toml:"git"`
	Entrypoint entrypointTable         `toml:"entrypoint"`
	Output     outputTable             `toml:"output"`
	Noop       noopTable               `toml:"noop"`
	Verify     verifyTable             `toml:"verify"`

	former  []strict.Problem // lines of the version before, and what they are read as
	without []string         // words of sandbox.allow that they take out of the base's
}

type shimTable struct {
	Commands strict.List   `toml:"commands" merge:"replace" remote:"kept"`
	When     strict.String `toml:"when" words:"always,tty,pipe" remote:"kept"`
}

type sandboxTable struct {
	Network      strict.Bool   `toml:"network" grants:"network" remote:"kept"`
	NetworkMode  strict.String `toml:"network_mode" words:"off,full,allowlist,ask" grants:"network" remote:"kept"`
	NetworkAllow strict.List   `toml:"network_allow" grants:"network"`
	Publish      strict.List   `toml:"publish" grants:"network"`
	HostPorts    strict.List   `toml:"host_ports" grants:"network"`
	Clipboard    strict.Bool   `toml:"clipboard" grants:"clipboard"`
	Devices      strict.List   `toml:"devices" grants:"device"`
	Allow        strict.List   `toml:"allow" grants:"secret layer"`
	Base         strict.String `toml:"base" words:"host,minimal" grants:"reads writes" remote:"kept"`
	WorkdirMode  strict.String `toml:"workdir_mode" words:"rw,ro,keep,none" grants:"writes reads" remote:"kept"`
	Writable     strict.List   `toml:"writable" grants:"writes" remote:"kept"`
	Keep         strict.List   `toml:"keep" grants:"writes" remote:"kept"`
	Etc          strict.String `toml:"etc" words:"host,minimal" grants:"hides" remote:"kept"`
	Home         strict.String `toml:"home" words:"host,own,isolated" grants:"reads writes"`
	HomeAllow    strict.List   `toml:"home_allow" grants:"reads"`
	Hide         strict.List   `toml:"hide" grants:"hides"`
	GitDir       strict.String `toml:"git_dir" words:"checked,ro,rw" grants:"layer"`
	Proc         strict.String `toml:"proc" words:"auto,fresh,empty" grants:"layer" remote:"kept"`
	Landlock     strict.String `toml:"landlock" words:"auto,required" grants:"layer" remote:"kept"`
	Backend      strict.String `toml:"backend" words:"auto,bwrap,podman,docker" grants:"reads" remote:"kept"`
	Image        strict.String `toml:"image" grants:"reads" remote:"kept"`
	Limits       LimitsTable   `toml:"limits"`
	// Not one of the table: [default_limits] of config.toml has none.
	LimitsRequired strict.Bool   `toml:"limits_required" grants:"limit" remote:"kept"`
	Session        strict.String `toml:"session" words:"files,box" grants:"layer" remote:"kept"`

	formerSandbox
}

// mountSpec is what a key of [mounts] says about its path; a plain string is
// the mode.
type mountSpec struct {
	Dest strict.String `toml:"dest"`
	Mode strict.String `toml:"mode,short" words:"ro,rw,safe-rw,tmpfs"`
	// Missing is what becomes of a source that is not there.
	Missing strict.String `toml:"missing" words:"error,skip,create"`
}

type envTable struct {
	Clearenv    strict.Bool                 `toml:"clearenv" grants:"passes"`
	Inherit     strict.List                 `toml:"inherit" grants:"secret passes"`
	Set         strict.Table[strict.String] `toml:"set" grants:"sets"`
	PathPrepend strict.List                 `toml:"path_prepend" merge:"first" grants:"path"`

	formerEnv
}

type gitTable struct {
	StripSections strict.List                 `toml:"strip_sections" grants:"git layer" remote:"kept"`
	Overrides     strict.Table[strict.String] `toml:"overrides" grants:"git layer" remote:"kept"`
}

type entrypointTable struct {
	Cmd         strict.String `toml:"cmd" grants:"runs" remote:"kept"`
	Args        strict.List   `toml:"args" merge:"replace" grants:"runs" remote:"kept"`
	Interactive strict.Bool   `toml:"interactive" remote:"kept"`
	TUI         strict.Bool   `toml:"tui" remote:"kept"`
	CursorFix   strict.String `toml:"cursor_fix" words:",newlines,shell" remote:"kept"`
	Workdir     strict.String `toml:"workdir"`
	History     strict.List   `toml:"history" grants:"history" remote:"kept"`
}

type outputTable struct {
	Summary strict.Bool   `toml:"summary" remote:"kept"`
	Log     strict.String `toml:"log" grants:"writes"`
	Timeout strict.Int    `toml:"timeout_seconds" grants:"limit" remote:"kept"`
	Record  strict.Switch `toml:"record" words:"true,false,audit" grants:"writes"`
	Review  strict.Bool   `toml:"review" remote:"kept"`

	MaxOutput strict.Number `toml:"max_output" remote:"kept"`
}

type noopTable struct {
	Block   strict.List                 `toml:"block" grants:"blocks" remote:"kept"`
	Rewrite strict.Table[strict.String] `toml:"rewrite" grants:"replaces" remote:"kept"`
	Message strict.Table[strict.String] `toml:"message" remote:"kept"`

	formerNoop
}

type verifyTable struct {
	Custom struct {
		Checks strict.Tables[checkRow] `toml:"checks" remote:"kept"`
	} `toml:"custom"`
}

type checkRow struct {
	Name     strict.String `toml:"name"`
	Cmd      strict.String `toml:"cmd"`
	Severity strict.String `toml:"severity" words:"critical,high,medium,info"`
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
		"clipboard-history", "cloud-credentials", "container-sockets", "database-credentials", "docker-config", "editor-state",
		"env-files", "file-sync", "fish-history", "gcloud-credentials", "gh-config", "gpg-agent", "gradle-properties",
		"helm-config", "hub-config", "kerberos", "key-files", "keyrings", "kube-config", "mail-credentials", "maven-settings",
		"messengers", "mounted-media", "mysql-config", "named-like-secrets", "notebooks", "npmrc", "onepassword-config",
		"other-homes", "package-tokens", "password-store", "pgpass", "project-config", "pypirc", "rclone", "remote-desktops",
		"repl-history", "session-bus", "session-cookies", "snapshots", "ssh-agent", "ssh-known-hosts", "system-logs",
		"system-secrets", "systemd-user", "terraform-credentials", "vault-token", "vpn-config", "wallets",
	}
}
