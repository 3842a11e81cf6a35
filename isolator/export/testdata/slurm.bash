#!/bin/bash
#SBATCH --job-name=agent
#SBATCH --array=0-1
#SBATCH --time=40
# inner.dev/profile: sha256:a622088fa7cf9e273a83156507b69dd521989528d5bde5bd3b0f5465c7499864

digest=a622088fa7cf9e273a83156507b69dd521989528d5bde5bd3b0f5465c7499864
profile='schema_version = "1"
description = "an agent"
capabilities = ["claude"]

[sandbox]
network_mode = "allowlist"
network_allow = ["@github", "registry.example", "10.1.2.3:8443"]
home = "own"

[sandbox.limits]
memory = "2G"
cpu = "150%"
disk = "512M"

[mounts]
"~/data" = { mode = "ro" }
"/scratch" = { mode = "tmpfs" }

[env]
inherit = ["LANG", "ANTHROPIC_API_KEY", "TEAM_TOKEN"]

[env.set]
MODE = "fleet: yes\n"

[entrypoint]
cmd = "claude"
args = ["-p"]
interactive = false

[output]
timeout_seconds = 1800
'
prompts=(
	'say '"'"'it'"'"'
and $(more)'
	two)
arguments=()

# The run of each task of the array. The profile is written for this job alone, and inner hashes
# it again before anything of it counts.
set -eu
umask 077
dir=$(mktemp -d)
trap 'rm -rf -- "$dir"' EXIT
printf '%s' "$profile" >"$dir/profile.toml"
set --
task=${SLURM_ARRAY_TASK_ID:-0}
if [ "${#prompts[@]}" -gt 0 ]; then
	printf '%s' "${prompts[$task]}" >"$dir/prompt"
	set -- --args-file "$dir/prompt"
fi
inner run --approved "sha256:$digest" -p "$dir/profile.toml" --no-interactive "$@" -- ${arguments[@]+"${arguments[@]}"}
