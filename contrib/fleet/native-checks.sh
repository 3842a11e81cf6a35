# shellcheck shell=bash
# native-checks.sh: the native form, in a namespace that lets the container fence have NET_ADMIN.
# To be sourced, by kube-checks.sh.

# export_native NAME ARGUMENT...: NAME.yaml from NAME.toml, with the pod NEIGHBOUR as a canary.
export_native() {
	local name=$1
	shift
	export_job "$name" --form native --canary "$NEIGHBOUR" "$@"
}

native_net='[sandbox]
network_mode = "allowlist"
network_allow = ["allowed.test"]'

check_native() {
	# shellcheck disable=SC2034 # of agents
	local NAMESPACE=fenced
	local direct
	kubectl create namespace fenced >/dev/null
	within agents get serviceaccount default
	direct="world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:6443 tcp:10.77.0.1:10250 tcp:10.96.0.1:443 tcp:169.254.169.254:80 tcp:$NEIGHBOUR dns:10.77.0.1:53/allowed.test"
	profile native "$native_net"
	# shellcheck disable=SC2016 # the box's shell expands
	export_native native -- 'code() { curl -s -m 30 -o /dev/null -w "%{http_code}" "$1"; }
echo the program ran; for url in http://allowed.test/ http://forbidden.test/ http://169.254.169.254/ http://'"$NEIGHBOUR"'/; do echo "by proxy $url $(code "$url")"; done; '"$direct"'; true'
	run_job native
	says 'native: a listed host answers, others are refused' "$SEEN" 'allowed.test/ 200' 'forbidden.test/ 403' '169.254.169.254/ 403' "$NEIGHBOUR/ 403" '^exit 0'
	says 'native: directly each was tried' "$SEEN" 'directly: tcp:10.77.0.1:6443' 'directly: dns:10.77.0.1:53'
	lacks 'native: and nothing was reached' "$SEEN" REACHED
	done_with native
	check_unfenced
	check_killed
	check_policy
}

# Without the rules there is the NetworkPolicy alone, which no network plugin here enforces.
check_unfenced() {
	patched native unfenced '[{"op": "replace", "path": "/spec/template/spec/initContainers/0/command", "value": ["true"]}]'
	run_job unfenced
	says 'native, the fence removed and the policy not enforced: 125, and what was reached' "$SEEN" '^exit 125' 'inner: the network of this pod is open: '
	lacks 'native: and the program did not run' "$SEEN" 'the program ran'
	agents wait --for=condition=Failed job/native --timeout="${PATIENCE}s" >/dev/null 2>&1 || : # the check says it
	says 'native: and the Job fails with the reason' "$(agents get job native -o jsonpath='{.status.conditions[*].reason} {.status.conditions[*].message}')" 'PodFailurePolicy' 'exit code 125'
	done_with unfenced
}

# The proxy is killed when the program has asked it for a host that is not listed: no connection comes about any more.
check_killed() {
	local digest
	profile killed "$native_net"
	# shellcheck disable=SC2016 # the box's shell expands
	export_native killed -- 'echo "before $(curl -s -m 30 -o /dev/null -w "%{http_code}" http://allowed.test/)"; curl -s -o /dev/null http://forbidden.test/; until ! curl -s -m 30 -o /dev/null http://allowed.test/; do sleep 0.5; done
echo "after $(curl -s -m 30 -o /dev/null -w "%{http_code}" http://allowed.test/)"; world probe after tcp:11.77.0.10:80 tcp:10.77.0.1:6443 dns:10.77.0.1:53/allowed.test; true'
	digest=$(sed -n 's|^ *inner.dev/profile: "\(.*\)"|\1|p' "$X/killed.yaml" | head -n 1)
	# shellcheck disable=SC2016 # the pod's shell expands
	patched killed killed-patched '[{"op": "replace", "path": "/spec/template/spec/initContainers/1/command", "value": ["bash", "-c", "trap \"exit 0\" TERM; inner egress --approved '"$digest"' -p /inner/profile.toml 2>/tmp/said & p=$!; until grep -q forbidden.test /tmp/said; do sleep 0.1; done; kill -KILL $p; sleep 1000 & wait; wait"]}]'
	run_job killed-patched
	says 'native: egress killed: no connection any more' "$SEEN" '^before 200' '^after 000' 'after: tcp:11.77.0.10:80'
	lacks 'native: nor directly' "$SEEN" REACHED
	done_with killed-patched
}

# A NetworkPolicy as the fence, in the restricted namespace. Rules of nftables play the two things
# that no cluster of this kind has: the address of a Service, and a network plugin that enforces.
check_policy() {
	# shellcheck disable=SC2034 # of agents
	local NAMESPACE=agents way hook
	profile policy "$native_net"
	# shellcheck disable=SC2016 # the box's shell expands
	export_job policy --form native --fence policy -- 'echo the program ran; for url in http://allowed.test/ http://forbidden.test/; do echo "$url $(curl -s -o /dev/null -w "%{http_code}" "$url")"; done
world probe directly tcp:11.77.0.10:80 tcp:10.77.0.1:6443 tcp:'"$NEIGHBOUR"'; true'
	awk 'BEGIN { RS = "\n---\n" } !/\nkind: Job\n/ { print $0 "\n---" }' "$X/policy.yaml" >"$X/policy-way.yaml"
	agents apply -f "$X/policy-way.yaml" >/dev/null
	agents wait --for=condition=Ready pod/egress-policy --timeout="${PATIENCE}s" >/dev/null
	way=$(agents get pod egress-policy -o jsonpath='{.status.podIP}')
	on_nodes "add table ip service
		add chain ip service to { type nat hook prerouting priority dstnat; }
		add rule ip service to ip daddr $(agents get service egress-policy -o jsonpath='{.spec.clusterIP}') dnat to $way
		add chain ip service back { type nat hook postrouting priority srcnat; }
		add rule ip service back ct status dnat masquerade"
	run_job policy
	says 'native, a policy that is not enforced: 125, and what was reached' "$SEEN" '^exit 125' 'inner: this cluster does not enforce the NetworkPolicy of this pod: .* was reached'
	lacks 'native: and the program did not run' "$SEEN" 'the program ran'
	agents wait --for=condition=Failed job/policy --timeout="${PATIENCE}s" >/dev/null 2>&1 || : # the check says it
	says 'native: and the Job fails with the reason' "$(agents get job policy -o jsonpath='{.status.conditions[*].reason} {.status.conditions[*].message}')" 'PodFailurePolicy' 'exit code 125'
	agents delete job policy --wait=true >/dev/null
	for hook in forward input; do
		on_nodes "add chain ip service $hook { type filter hook $hook priority 0; }
			add rule ip service $hook iifname cni0 ip saddr != $way ct state new tcp dport != 61080 drop
			add rule ip service $hook iifname cni0 ip saddr != $way ct state new udp dport 0-65535 drop"
	done
	run_job policy
	says 'native, the policy enforced: a listed host answers, others are refused' "$SEEN" 'allowed.test/ 200' 'forbidden.test/ 403' '^exit 0'
	says 'native: directly each was tried' "$SEEN" 'directly: tcp:10.77.0.1:6443'
	lacks 'native: and nothing was reached' "$SEEN" REACHED
	on_nodes 'delete table ip service'
	done_with policy
}
on_nodes() { nft "$1" && nsenter --net=/run/netns/node2 nft "$1"; }
