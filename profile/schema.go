package profile

import "github.com/enr/inner/profile/strict"

// source is one profile file as written, or several of them merged: see strict.Merge. The tag
// words has all that a key takes.
type source struct {
	SchemaVersion  strict.String `toml:"schema_version" merge:"own"`
	Name           strict.String `toml:"name" merge:"own"`
	Description    strict.String `toml:"description"`
	Extends        strict.String `toml:"extends" merge:"own"`
	WorkspacesPath strict.String `toml:"workspaces_path"`
	Experimental   strict.Bool   `toml:"experimental"`
	Capabilities   strict.List   `toml:"capabilities"`

	SyncCredentials strict.Bool `toml:"sync_credentials"`

	Shim       shimTable               `toml:"shim"`
	Sandbox    sandboxTable            `toml:"sandbox"`
	Mounts     strict.Table[mountSpec] `toml:"mounts"`
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
	Commands strict.List   `toml:"commands" merge:"replace"`
	When     strict.String `toml:"when" words:"always,tty,pipe"`
}

type sandboxTable struct {
	Network      strict.Bool   `toml:"network"`
	NetworkMode  strict.String `toml:"network_mode" words:"off,full,allowlist,ask"`
	NetworkAllow strict.List   `toml:"network_allow"`
	Publish      strict.List   `toml:"publish"`
	HostPorts    strict.List   `toml:"host_ports"`
	Clipboard    strict.Bool   `toml:"clipboard"`
	Devices      strict.List   `toml:"devices"`
	Allow        strict.List   `toml:"allow"`
	Base         strict.String `toml:"base" words:"host,minimal"`
	WorkdirMode  strict.String `toml:"workdir_mode" words:"rw,ro,keep,none"`
	Writable     strict.List   `toml:"writable"`
	Keep         strict.List   `toml:"keep"`
	Etc          strict.String `toml:"etc" words:"host,minimal"`
	Home         strict.String `toml:"home" words:"host,own,isolated"`
	HomeAllow    strict.List   `toml:"home_allow"`
	Hide         strict.List   `toml:"hide"`
	GitDir       strict.String `toml:"git_dir" words:"checked,ro,rw"`
	Proc         strict.String `toml:"proc" words:"auto,fresh,empty"`
	Landlock     strict.String `toml:"landlock" words:"auto,required"`
	Backend      strict.String `toml:"backend" words:"auto,bwrap,podman,docker"`
	Image        strict.String `toml:"image"`
	Limits       LimitsTable   `toml:"limits"`
	// Not one of the table: [default_limits] of config.toml has none.
	LimitsRequired strict.Bool   `toml:"limits_required"`
	Session        strict.String `toml:"session" words:"files,box"`

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
	Clearenv    strict.Bool          `toml:"clearenv"`
	Inherit     strict.List          `toml:"inherit"`
	Set         strict.Table[string] `toml:"set"`
	PathPrepend strict.List          `toml:"path_prepend" merge:"first"`

	formerEnv
}

type gitTable struct {
	StripSections strict.List          `toml:"strip_sections"`
	Overrides     strict.Table[string] `toml:"overrides"`
}

type entrypointTable struct {
	Cmd         strict.String `toml:"cmd"`
	Args        strict.List   `toml:"args" merge:"replace"`
	Interactive strict.Bool   `toml:"interactive"`
	TUI         strict.Bool   `toml:"tui"`
	CursorFix   strict.String `toml:"cursor_fix" words:",newlines,shell"`
	Workdir     strict.String `toml:"workdir"`
	History     strict.List   `toml:"history"`
}

type outputTable struct {
	Summary strict.Bool   `toml:"summary"`
	Log     strict.String `toml:"log"`
	Timeout strict.Int    `toml:"timeout_seconds"`
	Record  strict.Switch `toml:"record" words:"true,false,audit"`
	Review  strict.Bool   `toml:"review"`

	MaxOutput strict.Number `toml:"max_output"`
}

type noopTable struct {
	Block   strict.List          `toml:"block"`
	Rewrite strict.Table[string] `toml:"rewrite"`
	Message strict.Table[string] `toml:"message"`

	formerNoop
}

type verifyTable struct {
	Custom struct {
		Checks strict.Tables[checkRow] `toml:"checks"`
	} `toml:"custom"`
}

type checkRow struct {
	Name     strict.String `toml:"name"`
	Cmd      strict.String `toml:"cmd"`
	Severity strict.String `toml:"severity" words:"critical,high,medium,info"`
}

// LayerWords are the words of [sandbox] allow that switch a layer off.
func LayerWords() []string { return []string{"no-seccomp", "no-landlock", "host-proc"} }

// Capabilities returns the names [capabilities] takes, besides those that the
// user declares.
func Capabilities() []string { return []string{"claude", "gemini", "cursor", "codex", "opencode"} }

// AllowKeys returns the keys [sandbox] allow takes: the nine of the manual, two
// that show a part of the session bus, three that switch a layer off, and one for every other group of
// resources that is hidden by default.
func AllowKeys() []string {
	return []string{
		"ssh-keys", "git-credentials", "gpg-keys", "docker-socket", "podman-socket",
		"nested-user-ns", "netrc", "bash-history", "zsh-history",

		"notifications", "secret-service",

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
