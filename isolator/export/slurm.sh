# shellcheck shell=bash disable=SC2154 # what it uses stands before it in the job
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
