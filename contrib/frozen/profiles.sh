#!/bin/bash
# profiles.sh DIR: profiles with what the built-in ones and those of contrib do not use.
set -eu
cd "$1"
profile() { # profile NAME < the rest
	{
		printf 'schema_version = "1"\n'
		cat
	} >"f-$1.toml"
}
profile copies <<'T'
[sandbox]
home = "isolated"
git_dir = "ro"
[mounts]
"${workdir}" = "safe-rw"
[output]
review = true
[entrypoint]
cmd = "sh"
T
profile mounts <<'T'
workspaces_path = "~/.inner/workspaces"
[sandbox]
workdir_mode = "ro"
[mounts]
"~/data" = { dest = "${workspaces_path}/data", mode = "rw" }
"/usr/share" = { dest = "/tmp/share", mode = "ro" }
"/srv" = "tmpfs"
[entrypoint]
cmd = "sh"
T
profile missing <<'T'
[sandbox]
workdir_mode = "keep"
keep = ["notes", "package.json"]
writable = ["src"]
[mounts]
"~/made" = { mode = "rw", missing = "create" }
"~/data" = { dest = "/tmp/data", mode = "ro", missing = "error" }
"~/absent" = { mode = "ro", missing = "skip" }
[entrypoint]
cmd = "sh"
T
profile box <<'T'
[sandbox]
session = "box"
workdir_mode = "ro"
writable = ["notes", "absent"]
[output]
record = "audit"
[entrypoint]
cmd = "sh"
T
profile network <<'T'
[sandbox]
network_mode = "ask"
network_allow = ["example.com", "*.example.org:8443", "@github", "@npm"]
network_deny = ["no.example.org"]
publish = ["18080:3000"]
host_ports = ["5432:15432"]
[env]
inherit = ["OPENAI_BASE_URL"]
[entrypoint]
cmd = "sh"
T
profile full <<'T'
[sandbox]
network_mode = "full"
allow = ["ssh-agent", "ssh-keys", "git-credentials", "agent-state", "project-config", "docker-socket"]
git_dir = "rw"
landlock = "off"
seccomp = "off"
[env]
inherit_all = true
set = { A = "one", B = "$HOME/two" }
path_prepend = ["/opt/first"]
[entrypoint]
cmd = "sh"
T
profile strict <<'T'
[sandbox]
base = "minimal"
seccomp = "strict"
landlock = "required"
proc = "empty"
hide = ["*.key", "private/", "!public.key", "~/data/inner*"]
[sandbox.limits]
files = 200
file_size = "10M"
disk = "20M"
[entrypoint]
cmd = "sh"
T
profile limits <<'T'
[sandbox]
limits_required = false
pid_namespace = true
proc = "bind"
[sandbox.limits]
memory = "256M"
cpu = "50%"
pids = 300
[entrypoint]
cmd = "sh"
T
profile clipboard <<'T'
[sandbox]
clipboard = true
[entrypoint]
cmd = "sh"
T
profile words <<'T'
[noop]
block = ["pip install", "apt-get"]
rewrite = { "docker" = "podman --remote" }
[entrypoint]
cmd = "sh"
T
profile noop <<'T'
[sandbox]
workdir_mode = "none"
[noop]
block = ["curl"]
rewrite = { "docker" = "podman" }
message = { "curl" = "not here" }
mode = "hard"
[entrypoint]
cmd = "sh"
workdir = "~"
T
profile session <<'T'
[sandbox]
allow = ["ssh-agent"]
devices = ["fuse"]
[output]
record = true
summary = true
[entrypoint]
cmd = "bash"
cursor_fix = "shell"
history = ["make test"]
T
profile recorded <<'T'
[output]
record = true
summary = true
[entrypoint]
cmd = "bash"
cursor_fix = "newlines"
history = ["make test"]
T
profile agents <<'T'
capabilities = ["claude", "gemini", "cursor", "codex", "opencode"]
sync_credentials = true
[sandbox]
home = "isolated"
home_allow = ["@toolchains", "~/.config/nvim"]
network_mode = "allowlist"
network_allow = ["@pypi"]
[git]
strip_sections = ["credential", "url"]
overrides = { "push.default" = "nothing" }
[env]
set = { OPENAI_BASE_URL = "http://127.0.0.1:11434/v1" }
[entrypoint]
cmd = "claude"
T
profile child <<'T'
extends = "f-words"
[sandbox]
hide = ["notes/"]
[noop]
block = ["-apt-get", "wget"]
[entrypoint]
cmd = "git"
args = ["status"]
T
profile broken <<'T'
[sandbox]
network_mode = "of"
nonsense = 1
T
