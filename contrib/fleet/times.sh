# shellcheck shell=bash
# times.sh: how long a box takes to start here, in a pod, and with many agents at once. To be
# sourced, by inside.sh, after kube.sh.

declare -F export_job >/dev/null || {
	failed 'the times need the part kube before them'
	return 0
}

# of_box RUN...: the median of ten runs of a box with nothing to do, in milliseconds.
# shellcheck disable=SC2016 # another shell expands
MEDIAN='for _ in 1 2 3 4 5 6 7 8 9 10; do s=$(date +%s%N); "$@" >/dev/null 2>&1 || echo 999999; e=$(date +%s%N); echo $(((e - s) / 1000000)); done | sort -n | sed -n 5p'

profile quick '[sandbox]
network = false'
here=$(bash -c "$MEDIAN" bash "$FLEET_REPO/bin/inner" run -p "$X/quick.toml" --no-interactive -- true)
export_job quick -- 'sleep 1000'
# shellcheck disable=SC2016 # the pod's shell expands
patched quick waiting '[{"op": "replace", "path": "/spec/template/spec/containers/0/command", "value": ["sleep", "1000"]}]'
agents apply -f "$X/waiting.yaml" >/dev/null
agents wait --for=condition=Ready pod -l inner.dev/fleet=quick --timeout="${PATIENCE}s" >/dev/null || :
pod=$(agents exec job/quick -- bash -c "$MEDIAN" bash inner run -p /inner/profile.toml --no-interactive -- true)
done_with waiting
printf '\n| what | ms |\n|---|---|\n| a box on this machine, as root | %s |\n| a box in a pod that runs | %s |\n' "$here" "$pod"

# A fleet of N: from kubectl apply to the end of the last program.
profile agent '[sandbox]
network = false'
for n in 1 10 50; do
	export_job agent -- true
	patched agent agents '[{"op": "replace", "path": "/spec/completions", "value": '$n'}, {"op": "replace", "path": "/spec/parallelism", "value": '$n'}]'
	begun=$(now)
	agents apply -f "$X/agents.yaml" >/dev/null
	agents wait --for=condition=Complete job/agent --timeout="${PATIENCE}s" >/dev/null || failed "$n agents did not end: $(agents get pods -l inner.dev/fleet=agent | tail -n 5)"
	all=$(($(now) - begun))
	printf '| %s agents, each in a pod and a box of its own: each | %s |\n' "$n" "$((all / n))"
	done_with agents
done
