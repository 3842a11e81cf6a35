# shellcheck shell=bash
# kube-checks.sh: what inner export writes, on the Kubernetes that kube.sh brought up. To be
# sourced, by it.
#
# The namespace "agents" admits only what the strictest of the Pod Security Standards does.
# Each job is what inner export prints, unchanged, unless the check says otherwise.

IMAGE=localhost/inner-agent@$(cat -- "$FLEET_CACHE/images/agent.digest")
export INNER_HOME=$K/inner
X=$K/export
mkdir -p -- "$X"
inner() { command "$FLEET_REPO/bin/inner" "$@"; }
agents() { kubectl -n agents "$@"; }

# profile NAME TEXT: a profile whose program is bash -c, with TEXT under its head. What it
# says after "top:" lines comes first: TOML has plain keys before tables.
profile() {
	printf 'schema_version = "1"\nname = "%s"\ndescription = "a check"\n\n%s\n\n[env]\ninherit = ["PATH", "HOME"]\n\n[entrypoint]\ncmd = "bash"\nargs = ["-c"]\ninteractive = false\n' "$1" "$2" >"$X/$1.toml"
}
# export_job NAME ARGUMENT...: NAME.yaml from NAME.toml.
export_job() {
	local name=$1
	shift
	inner export -p "$X/$name.toml" --to kube --image "$IMAGE" --name "$name" "$@" >"$X/$name.yaml" 2>"$X/$name.said"
}

# pods NAME: a line for each pod of a job: node, exit code of the box, reason.
pods() {
	agents get pods -l "inner.dev/fleet=$1" --sort-by=.metadata.creationTimestamp -o \
		jsonpath='{range .items[*]}{.spec.nodeName} {.status.containerStatuses[?(@.name=="box")].state.terminated.exitCode} {.status.containerStatuses[?(@.name=="box")].state.terminated.reason}{"\n"}{end}'
}
ended() { [ "$(pods "$1" | awk 'NF > 2' | wc -l)" -ge "${2:-1}" ]; }

# run_job NAME [SECONDS [PODS]]: applies NAME.yaml and waits for its boxes; SEEN is what they
# printed, and at the end a line "exit CODE REASON" for each.
run_job() {
	local fleet
	fleet=$(sed -n 's|^ *inner.dev/fleet: ||p' "$X/$1.yaml" | head -n 1) # a patched job keeps its name
	SEEN=$(agents apply -f "$X/$1.yaml" 2>&1) || return 0
	if within "${2:-90}" ended "$fleet" "${3:-1}"; then
		SEEN=$(agents logs -l "inner.dev/fleet=$fleet" -c box --tail=-1 2>&1) || :
	else
		SEEN=$(agents describe pods -l "inner.dev/fleet=$fleet" 2>&1 | tail -n 30)
	fi
	SEEN+=$'\n'$(pods "$fleet" | awk '{ print "exit", $2, $3 }')
}
done_with() { agents delete -f "$X/$1.yaml" --wait=true --ignore-not-found >/dev/null 2>&1 || :; }

# patched NAME NEW PATCH: NEW.yaml is NAME.yaml with a JSON patch of its job, its last document.
patched() {
	awk -v job="$X/job.yaml" -v rest="$X/$2.yaml" 'BEGIN { RS = "\n---\n" } { doc[NR] = $0 }
		END { printf "" >rest; for (i = 1; i < NR; i++) print doc[i] "\n---" >rest; print doc[NR] >job }' "$X/$1.yaml"
	command kubectl patch --local --type=json -f "$X/job.yaml" -p "$3" -o yaml >>"$X/$2.yaml"
}

namespace() {
	kubectl create namespace agents >/dev/null
	kubectl label namespace agents pod-security.kubernetes.io/enforce=restricted >/dev/null
	within 20 agents get serviceaccount default
}

# Every built-in profile is accepted by the server, or refused with each reason.
check_builtin() {
	local name said code
	inner profile list --json >"$X/list.json" 2>/dev/null
	for name in "$FLEET_REPO"/profile/builtin/*.toml; do
		name=${name##*/} name=${name%.toml} code=0
		local secrets=() agent=${name%%-*}
		case $agent in claude | gemini | codex | cursor | opencode) secrets=(--secret "$agent=login") ;; esac
		inner export -p "$name" --to kube --image "$IMAGE" ${secrets[@]+"${secrets[@]}"} >"$X/b.yaml" 2>"$X/b.said" || code=$?
		said=$(grep '^inner: refused: ' "$X/b.said" | tr '\n' ' ' || :)
		if [ "$code" = 0 ] && said=$(agents apply --dry-run=server --validate=strict -f "$X/b.yaml" 2>&1) && [ "$(grep -c 'server dry run' <<<"$said")" = 3 ]; then
			if grep -q Warning <<<"$said"; then failed "export $name: $said"; else ok "export $name: the server takes all three objects"; fi
		elif [ "$code" = 125 ] && [ ! -s "$X/b.yaml" ] && [ -n "$said" ]; then
			ok "export $name: 125, $said"
		else
			failed "export $name: $code $said $(tail -n 1 "$X/b.said")"
		fi
	done
}

check_network() {
	local direct='world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:6443 tcp:10.77.0.1:10250 tcp:10.96.0.1:443 tcp:169.254.169.254:80 tcp:'$1' dns:10.77.0.1:53/allowed.test'
	profile net '[sandbox]
network_mode = "allowlist"
network_allow = ["allowed.test"]'
	# shellcheck disable=SC2016 # the box's shell expands
	export_job net -- 'code() { curl -s -m 5 -o /dev/null -w "%{http_code}" "$1"; }
for url in http://allowed.test/ http://forbidden.test/ https://10.77.0.1:6443/ https://10.77.0.1:10250/ http://169.254.169.254/ http://'"$1"'/ http://10.77.0.1:53/; do
	case $url in https:*) echo "by proxy $url $(curl -sk -m 5 -o /dev/null -w "%{http_connect}" "$url")" ;; *) echo "by proxy $url $(code "$url")" ;; esac
done
'"$direct"
	run_job net
	says 'a listed host answers, others are refused' "$SEEN" 'allowed.test/ 200' 'forbidden.test/ 403'
	says 'by the proxy: API server, kubelet, metadata, pod, DNS are refused' "$SEEN" '6443/ 403' '10250/ 403' '169.254.169.254/ 403' "$1/ 403" '10.77.0.1:53/ 403'
	lacks 'directly: no host, API server, kubelet, service, metadata, pod or DNS answers' "$SEEN" REACHED
	says 'directly: each was tried' "$SEEN" 'directly: tcp:10.77.0.1:6443' 'directly: dns:10.77.0.1:53'
	done_with net
	# The same without a box: these addresses do answer a pod.
	patched net bare '[{"op": "replace", "path": "/spec/template/spec/containers/0/command", "value": ["bash", "-c", "'"$direct"'"]}]'
	run_job bare
	says 'without the box the same are reached' "$SEEN" '10.77.0.1:6443: REACHED' '169.254.169.254:80: REACHED' 'tcp:'"$1"': REACHED' 'dns:.*REACHED'
	done_with bare
}

check_attack() {
	profile attack '[sandbox]
network = false'
	export_job attack -- true
	# A shell as first process, which reaps what the attacks leave behind.
	patched attack attacked '[{"op": "replace", "path": "/spec/template/spec/containers/0/command", "value": ["bash", "-c", "inner verify --attack -p /inner/profile.toml; exit $?"]}]'
	run_job attacked 240
	says 'inner verify --attack in the pod' "$SEEN" ' 0 leaked' '^exit 0'
	grep -E '^\[(!!|\?\?)\]' <<<"$SEEN" || :
	done_with attacked
}

check_limits() {
	profile memory '[sandbox]
network = false

[sandbox.limits]
memory = "96M"'
	# shellcheck disable=SC2016 # the box's shell expands
	export_job memory -- 'tail /dev/zero; code=$?; echo tail ended with $code; exit $code'
	run_job memory
	says 'memory: what takes more than its limit is killed' "$SEEN" '^exit 137'
	done_with memory
	profile late '[output]
timeout_seconds = 3'
	export_job late -- 'sleep 100'
	run_job late
	says 'timeout: 124' "$SEEN" '^exit 124'
	done_with late
	profile disk '[sandbox.limits]
disk = "8M"'
	export_job disk -- 'head -c 32M /dev/zero >/tmp/x; ls -s --block-size=1M /tmp/x'
	run_job disk
	says 'disk: /tmp is full at its size' "$SEEN" 'No space left' '^[78] /tmp/x'
	done_with disk
}

# What the box needs is taken away, one thing at a time: nothing runs then.
check_closed() {
	local touched='echo the program ran'
	profile closed '[sandbox]
network = false'
	export_job closed -- "$touched"
	run_job closed
	says 'the program runs where the node has the filter' "$SEEN" 'the program ran' '^exit 0'
	done_with closed
	patched closed unfiltered '[{"op": "remove", "path": "/spec/template/spec/containers/0/securityContext/seccompProfile"}]'
	run_job unfiltered
	says 'under RuntimeDefault no box can be made: 125' "$SEEN" '^exit 125'
	lacks 'and the program did not run' "$SEEN" 'program ran'
	agents wait --for=condition=Failed job/closed --timeout=30s >/dev/null 2>&1 || : # the check says it
	says 'and the Job fails with the reason' "$(agents get job closed -o jsonpath='{.status.conditions[*].reason} {.status.conditions[*].message}')" 'PodFailurePolicy' 'exit code 125'
	done_with unfiltered
	# Under a name of its own: a kubelet remembers a ConfigMap that is immutable.
	profile changed '[sandbox]
network = false'
	export_job changed -- "$touched"
	sed -i 's/description = "a check"/description = "a chick"/' "$X/changed.yaml"
	run_job changed
	says 'one byte of the profile changed: refused' "$SEEN" '^exit 12[56]' 'sha256'
	lacks 'and the program did not run' "$SEEN" 'program ran'
	done_with changed
}

# Where contrib/fleet/admission.yaml is in force, only approved digests come in.
check_admission() {
	local digest
	profile admitted '[sandbox]
network = false'
	export_job admitted -- 'echo the program ran'
	digest=$(sed -n 's|^ *inner.dev/profile: "\(.*\)"|\1|p' "$X/admitted.yaml" | head -n 1)
	kubectl create namespace approved >/dev/null
	kubectl label namespace approved pod-security.kubernetes.io/enforce=restricted inner.dev/boxes=only >/dev/null
	kubectl -n approved create configmap inner-approved "--from-literal=admitted=$digest" >/dev/null
	kubectl apply -f contrib/fleet/admission.yaml >/dev/null
	denied() { ! SEEN=$(kubectl -n approved apply --dry-run=server -f "$X/other.yaml" 2>&1); }
	sed -i 's/a check/another check/' "$X/admitted.toml"
	cp "$X/admitted.yaml" "$X/good.yaml"
	export_job admitted -- 'echo the program ran'
	mv "$X/admitted.yaml" "$X/other.yaml"
	within 30 denied || :
	says 'the profile changed: denied at admission' "$SEEN" 'is not approved here'
	SEEN=$(kubectl -n approved apply --dry-run=server --validate=strict -f "$X/good.yaml" 2>&1) || :
	says 'the approved profile is admitted' "$SEEN" 'job.batch/admitted created'
	SEEN=$(sed "s|$IMAGE|localhost/inner-agent:1|" "$X/good.yaml" | kubectl -n approved apply --dry-run=server -f - 2>&1) || :
	says 'an image by its tag is denied' "$SEEN" 'named by its digest'
}

# A pod that answers, beside the boxes; NEIGHBOUR is its address.
neighbour() {
	agents apply -f - >/dev/null <<-Y
		apiVersion: v1
		kind: Pod
		metadata: {name: neighbour}
		spec:
		  automountServiceAccountToken: false
		  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
		  containers:
		  - {name: http, image: "$IMAGE", imagePullPolicy: Never, command: [world, http, ":8080", neighbour], securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}
	Y
	agents wait --for=condition=Ready pod/neighbour --timeout=60s >/dev/null
	NEIGHBOUR=$(agents get pod neighbour -o jsonpath='{.status.podIP}'):8080
}

namespace
ok "the namespace is restricted: $(kubectl get namespace agents -o jsonpath='{.metadata.labels}')"
check_builtin
neighbour || failed "a plain pod does not start: $(agents describe pod neighbour | tail -n 5)"
check_admission
check_closed
check_limits
check_network "$NEIGHBOUR"
check_attack
