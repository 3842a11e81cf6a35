# shellcheck shell=bash
# kube-checks.sh: what inner export writes, on the Kubernetes that kube.sh brought up. To be
# sourced, by it.
#
# The namespace "agents" admits only what the strictest of the Pod Security Standards does.
# Each job is what inner export prints, unchanged, unless the check says otherwise.

export INNER_HOME=$K/inner
X=$K/export
mkdir -p -- "$X"
agents() { kubectl -n "${NAMESPACE:-agents}" "$@"; }

# export_job NAME ARGUMENT...: NAME.yaml from NAME.toml.
export_job() {
	local name=$1
	shift
	inner export -p "$X/$name.toml" --to kube --image "$IMAGE" --name "$name" "$@" >"$X/$name.yaml" 2>"$X/$name.said"
}

# pods NAME: a line for each pod of a job: node, exit code of the box, reason.
pods() {
	agents get pods -l "inner.dev/fleet=$1,inner.dev/role=box" --sort-by=.metadata.creationTimestamp -o \
		jsonpath='{range .items[*]}{.spec.nodeName} {.status.containerStatuses[?(@.name=="box")].state.terminated.exitCode} {.status.containerStatuses[?(@.name=="box")].state.terminated.reason}{"\n"}{end}'
}
ended() { [ "$(pods "$1" | awk 'NF > 2' | wc -l)" -ge "${2:-1}" ]; }

# run_job NAME [PODS]: applies NAME.yaml and waits for its boxes; SEEN is what they
# printed, and at the end a line "exit CODE REASON" for each.
run_job() {
	local fleet
	fleet=$(sed -n 's|^ *inner.dev/fleet: ||p' "$X/$1.yaml" | head -n 1) # a patched job keeps its name
	SEEN=$(agents apply -f "$X/$1.yaml" 2>&1) || return 0
	if within ended "$fleet" "${2:-1}"; then
		SEEN=$(agents logs -l "inner.dev/fleet=$fleet,inner.dev/role=box" -c box --tail=-1 2>&1) || :
	else
		SEEN=$(agents describe pods -l "inner.dev/fleet=$fleet" 2>&1 | tail -n 30)
	fi
	SEEN+=$'\n'$(pods "$fleet" | awk '{ print "exit", $2, $3 }')
}
done_with() {
	local fleet
	fleet=$(sed -n 's|^ *inner.dev/fleet: ||p' "$X/$1.yaml" | head -n 1)
	agents delete -f "$X/$1.yaml" --wait=true --timeout="${PATIENCE}s" --ignore-not-found >/dev/null 2>&1 || :
	agents wait --for=delete pod -l "inner.dev/fleet=$fleet" --timeout="${PATIENCE}s" >/dev/null 2>&1 || : # the next job can have that name
}

# patched NAME NEW PATCH: NEW.yaml is NAME.yaml with a JSON patch of its job, its last document.
patched() {
	awk -v job="$X/job.yaml" -v rest="$X/$2.yaml" 'BEGIN { RS = "\n---\n" } { doc[NR] = $0 }
		END { printf "" >rest; for (i = 1; i < NR; i++) print doc[i] "\n---" >rest; print doc[NR] >job }' "$X/$1.yaml"
	command kubectl patch --local --type=json -f "$X/job.yaml" -p "$3" -o yaml >>"$X/$2.yaml"
}

namespace() {
	kubectl create namespace agents >/dev/null
	kubectl label namespace agents pod-security.kubernetes.io/enforce=restricted >/dev/null
	within agents get serviceaccount default
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

# check_sandbox: the server knows the resources of agent-sandbox by their definitions, and takes what
# is exported for them. Nothing here acts on them.
check_sandbox() {
	local said
	kubectl apply -f "$FLEET_CACHE/crds" >/dev/null
	kubectl wait --for=condition=Established --timeout="${PATIENCE}s" -f "$FLEET_CACHE/crds" >/dev/null || :
	profile long '[sandbox]
network = false'
	inner export -p "$X/long.toml" --to agent-sandbox --image "$IMAGE" >"$X/long.yaml" 2>"$X/long.said" -- true || :
	said=$(agents apply --dry-run=server --validate=strict -f "$X/long.yaml" 2>&1) || said+=" FAILED $(tail -n 1 "$X/long.said")"
	if grep -qE 'FAILED|Warning' <<<"$said"; then failed "agent-sandbox: $said"; else ok "agent-sandbox: the server takes $(grep -o '^[^ ]*' <<<"$said" | tr '\n' ' ')"; fi
}

check_network() {
	local direct='world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:6443 tcp:10.77.0.1:10250 tcp:10.96.0.1:443 tcp:169.254.169.254:80 tcp:'$1' dns:10.77.0.1:53/allowed.test'
	profile net '[sandbox]
network_mode = "allowlist"
network_allow = ["allowed.test"]'
	# shellcheck disable=SC2016 # the box's shell expands
	export_job net -- 'code() { curl -s -m 30 -o /dev/null -w "%{http_code}" "$1"; }
for url in http://allowed.test/ http://forbidden.test/ https://10.77.0.1:6443/ https://10.77.0.1:10250/ http://169.254.169.254/ http://'"$1"'/ http://10.77.0.1:53/; do
	case $url in https:*) echo "by proxy $url $(curl -sk -m 30 -o /dev/null -w "%{http_connect}" "$url")" ;; *) echo "by proxy $url $(code "$url")" ;; esac
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
	instead "$X/attack.yaml" inner verify --attack -p /inner/profile.toml >"$X/attacked.yaml"
	PATIENCE=3600 run_job attacked
	says 'inner verify --attack in the pod' "$SEEN" ' 0 leaked' '^exit 0'
	grep -E '^\[(!!|\?\?)\]' <<<"$SEEN" || :
	done_with attacked
}

# forge: two repositories with one commit each, at http://forge.test/; who pushes needs the token.
TOKEN=token-of-the-forge
forge() {
	local name
	for name in one two; do
		git init -q -b main "$K/start-$name"
		git -C "$K/start-$name" -c user.name=check -c user.email=check@forge.test commit -q --allow-empty -m "the start of $name"
		git clone -q --bare "$K/start-$name" "$K/forge/$name.git"
	done
	start forge in_world world git "$K/forge" 11.77.0.12:80 "$TOKEN"
	agents create secret generic forge "--from-literal=token=$TOKEN" >/dev/null
	within git ls-remote http://11.77.0.12/one.git
}
start_of() { git -C "$K/start-$1" rev-parse HEAD; }
# forge_refs: a line for each ref of the repositories.
forge_refs() {
	local name
	for name in one two; do git -C "$K/forge/$name.git" for-each-ref "--format=$name %(refname) %(contents:subject)"; done
}

# Two repositories, two tasks each, over two nodes: four branches, and main as it was.
check_fleet() {
	local i name before=''
	forge || failed 'no forge'
	: >"$X/tasks.toml"
	for i in 0 1 2 3; do
		name=$([ $((i % 2)) = 0 ] && echo one || echo two)
		printf '[[task]]\nrepo = "http://forge.test/%s.git"\ncommit = "%s"\nprompt = "echo task %s >result; sleep 2"\n' "$name" "$(start_of "$name")" "$i" >>"$X/tasks.toml"
	done
	profile fleet '[sandbox]
network = false'
	export_job fleet --tasks "$X/tasks.toml" --secret publish=forge
	lacks 'the exported text has no value of a secret' "$(cat "$X/fleet.yaml")" "$TOKEN"
	begun=$(now)
	run_job fleet 4
	agents wait --for=condition=Complete job/fleet --timeout="${PATIENCE}s" >/dev/null 2>&1 || :
	says "a fleet of 4 agents over 2 repositories, $(($(now) - begun)) ms: each box ended well" "$(grep -c '^exit 0' <<<"$SEEN")" '^4$'
	says 'and both nodes had some' "$(pods fleet | cut -d ' ' -f 1 | sort | uniq -c | tr '\n' ' ')" 'node1.*node2'
	says 'four branches, two in each repository' "$(forge_refs | tr '\n' ';')" 'one refs/heads/inner/fleet/0 .*one refs/heads/inner/fleet/2 .*two refs/heads/inner/fleet/1 .*two refs/heads/inner/fleet/3 '
	says 'and main as it was, nothing else' "$(forge_refs | grep -vc refs/heads/inner/fleet/ || :) $(git -C "$K/forge/one.git" rev-parse main) $(git -C "$K/forge/two.git" rev-parse main)" "^2 $(start_of one) $(start_of two)\$"
	says 'each holds the work of its task' "$(git -C "$K/forge/one.git" show inner/fleet/2:result) $(git -C "$K/forge/two.git" show inner/fleet/3:result)" '^task 2 task 3$'
	done_with fleet
	check_again
	check_bundles
}

# An index that fails is run once more: what that leaves is the branch.
check_again() {
	local last
	cp "$X/fleet.toml" "$X/again.toml"
	# shellcheck disable=SC2016 # the box's shell expands
	export_job again --repo http://forge.test/two.git --commit "$(start_of two)" --secret publish=forge -- 'echo "try $(date +%s%N)" | tee result; exit 3'
	run_job again 2
	within pushed again 2 || :
	last=$(agents get pods -l inner.dev/fleet=again,inner.dev/role=box --sort-by=.metadata.creationTimestamp -o name | tail -n 1)
	says 'an index that failed and was run again: the later result is the branch' "$(agents logs "$last" -c box 2>&1)" "^$(git -C "$K/forge/two.git" show inner/again/0:result)\$"
	done_with again
	git -C "$K/forge/two.git" update-ref -d refs/heads/inner/again/0
}

# bundle NAME SCRIPT: a pod whose box is replaced by a shell that leaves a bundle of its own.
bundle() {
	cp "$X/fleet.toml" "$X/$1.toml"
	export_job "$1" --repo http://forge.test/one.git --commit "$(start_of one)" --secret publish=forge -- true
	patched "$1" "$1-patched" '[{"op": "replace", "path": "/spec/template/spec/containers/0/command", "value": ["bash", "-c", "git config user.name x; git config user.email x@x; git commit -q --allow-empty -m work; '"$2"'"]}]'
	run_job "$1-patched"
	within pushed "$1" 1 || :
	SEEN+=$'\n'$(agents logs -l "inner.dev/fleet=$1" -c publish --tail=-1 2>&1) || :
	done_with "$1-patched"
}
# pushed NAME N: so many containers publish of a job have said what they pushed, or why not.
pushed() { [ "$(agents logs -l "inner.dev/fleet=$1" -c publish --tail=-1 2>&1 | grep -c pushed)" -ge "$2" ]; }

check_bundles() {
	local before
	before=$(forge_refs)
	bundle two 'git branch more; git bundle create /out/changes.bundle inner more'
	says 'a bundle with two refs is not pushed' "$SEEN" 'not pushed: the bundle does not hold refs/heads/inner and nothing else'
	bundle other 'git branch other; git bundle create /out/changes.bundle other'
	says 'a bundle with a ref of another name is not pushed' "$SEEN" 'not pushed: the bundle does not hold refs/heads/inner and nothing else'
	says 'and the repositories are as they were' "$([ "$before" = "$(forge_refs)" ] && echo the same)" 'the same'
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
	agents wait --for=condition=Failed job/closed --timeout="${PATIENCE}s" >/dev/null 2>&1 || : # the check says it
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

# Where contrib/fleet/admission.yaml is in force, only what was approved comes in, as it was exported.
check_admission() {
	local digest form
	profile admitted '[sandbox]
network_mode = "allowlist"
network_allow = ["allowed.test"]'
	export_job admitted --repo http://forge.test/one.git --commit "$(printf 'a%.0s' {1..40})" --secret publish=forge -- 'echo the program ran'
	cp "$X/admitted.yaml" "$X/repository.yaml"
	export_job admitted -- 'echo the program ran'
	digest=$(sed -n 's|^ *inner.dev/profile: \(.*\)|\1|p' "$X/admitted.yaml" | head -n 1)
	kubectl create namespace approved >/dev/null
	kubectl label namespace approved inner.dev/boxes=only >/dev/null
	approve "$digest"
	kubectl apply -f contrib/fleet/admission.yaml >/dev/null
	sed 's/a check/another check/' "$X/admitted.toml" >"$X/other.toml"
	inner export -p "$X/other.toml" --to kube --image "$IMAGE" --name other 2>/dev/null >"$X/other.yaml"
	within denied other
	approved_says 'the profile changed: denied at admission' other 'is not approved here'
	for form in admitted repository; do
		approved_says "an approved profile is admitted ($form)" "$form" 'job.batch/admitted created'
	done
	check_denied
}
approve() { kubectl -n approved create configmap inner-approved "--from-literal=admitted=$1" "--from-literal=image=$IMAGE" --dry-run=client -o yaml | kubectl apply -f - >/dev/null 2>&1; }
denied() { ! kubectl -n approved apply --dry-run=server -f "$X/$1.yaml"; }
# approved_says NAME FILE PATTERN: what the server says of FILE.yaml where the policy is in force.
approved_says() {
	SEEN=$(kubectl -n approved apply --dry-run=server --validate=strict -f "$X/$2.yaml" 2>&1) || :
	says "$1" "$SEEN" "$3"
}

# What would run something else in a pod of an approved profile, one thing at a time.
check_denied() {
	local pod=/spec/template/spec what patch
	sed "s|$IMAGE|localhost/inner-agent:1|" "$X/admitted.yaml" >"$X/changed.yaml"
	approved_says 'denied: an image by its tag' changed 'named by its digest'
	sed "s|$IMAGE|localhost/inner-agent@sha256:$(printf '0%.0s' {1..64})|" "$X/admitted.yaml" >"$X/changed.yaml"
	approved_says 'denied: another image' changed 'image is not approved'
	while IFS='|' read -r what patch; do
		patched admitted changed "[$patch]"
		approved_says "denied: $what" changed 'inner-boxes.* denied request'
	done <<-P
		the box under another name|{"op": "remove", "path": "/spec/podFailurePolicy"}, {"op": "replace", "path": "$pod/containers/0/name", "value": "b0x"}
		another command|{"op": "replace", "path": "$pod/containers/0/command/0", "value": "sh"}
		a second digest|{"op": "add", "path": "$pod/containers/0/command/4", "value": "--approved=sha256:$(printf '0%.0s' {1..64})"}
		arguments behind the command|{"op": "add", "path": "$pod/containers/0/args", "value": ["x"]}
		a second container|{"op": "add", "path": "$pod/containers/-", "value": {"name": "more", "image": "$IMAGE", "command": ["sh"]}}
		a container before the box|{"op": "add", "path": "$pod/initContainers", "value": [{"name": "checkout", "image": "$IMAGE", "command": ["sh"]}]}
		a probe in the box|{"op": "add", "path": "$pod/containers/0/livenessProbe", "value": {"exec": {"command": ["sh"]}}}
		a hook in the box|{"op": "add", "path": "$pod/containers/0/lifecycle", "value": {"preStop": {"exec": {"command": ["sh"]}}}}
		another PATH|{"op": "add", "path": "$pod/containers/0/env/-", "value": {"name": "PATH", "value": "/work"}}
		a volume over the programs|{"op": "add", "path": "$pod/containers/0/volumeMounts/-", "value": {"name": "work", "mountPath": "/usr/local/bin"}}
		a folder of the node|{"op": "add", "path": "$pod/volumes/-", "value": {"name": "node", "hostPath": {"path": "/"}}}
		a capability|{"op": "add", "path": "$pod/containers/0/securityContext/capabilities/add", "value": ["SYS_ADMIN"]}
		the processes of the node|{"op": "remove", "path": "$pod/hostUsers"}, {"op": "replace", "path": "$pod/hostPID", "value": true}
		the processes of the pod|{"op": "add", "path": "$pod/shareProcessNamespace", "value": true}
		the token|{"op": "replace", "path": "$pod/automountServiceAccountToken", "value": true}
	P
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
	agents wait --for=condition=Ready pod/neighbour --timeout="${PATIENCE}s" >/dev/null
	NEIGHBOUR=$(agents get pod neighbour -o jsonpath='{.status.podIP}'):8080
}

namespace
ok "the namespace is restricted: $(kubectl get namespace agents -o jsonpath='{.metadata.labels}')"
check_builtin
check_sandbox
neighbour || failed "a plain pod does not start: $(agents describe pod neighbour | tail -n 5)"
check_admission
check_closed
check_limits
check_network "$NEIGHBOUR"
check_fleet
check_attack
