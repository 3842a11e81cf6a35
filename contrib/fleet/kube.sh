# shellcheck shell=bash
# kube.sh: two nodes of a real Kubernetes. To be sourced, by inside.sh; kube-checks.sh follows.

K=$FLEET_STATE/kube
API=10.77.0.1
mkdir -p -- "$K/pki"

kubectl() { command kubectl --kubeconfig="$K/admin.conf" "$@"; }

# The keys of one run. What the API server shows it makes itself.
keys() {
	openssl genrsa -out "$K/pki/sa.key" 2048
	openssl rsa -in "$K/pki/sa.key" -pubout -out "$K/pki/sa.pub"
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout "$K/pki/ca.key" -out "$K/pki/ca.crt"
	openssl req -newkey rsa:2048 -nodes -subj /O=system:masters/CN=apiserver -keyout "$K/pki/api.key" -out "$K/pki/api.csr"
	openssl x509 -req -days 2 -in "$K/pki/api.csr" -CA "$K/pki/ca.crt" -CAkey "$K/pki/ca.key" -CAcreateserial -out "$K/pki/api.crt"
	cat >"$K/tokens.csv" <<-C
		admin,admin,admin,system:masters
		one,system:node:node1,node1,system:nodes
		two,system:node:node2,node2,system:nodes
	C
}

# login NAME TOKEN: how a client of that name reaches the API server.
login() {
	cat >"$K/$1.conf" <<-Y
		apiVersion: v1
		kind: Config
		clusters: [{name: c, cluster: {server: "https://$API:6443", certificate-authority: $K/pki/apiserver.crt}}]
		users: [{name: u, user: {token: $2}}]
		contexts: [{name: x, context: {cluster: c, user: u}}]
		current-context: x
	Y
}

control_plane() {
	keys >"$FLEET_STATE/logs/keys" 2>&1
	login admin admin
	start etcd etcd --data-dir "$K/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
		--advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
	start apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --bind-address=$API --advertise-address=$API --secure-port=6443 \
		--cert-dir="$K/pki" --service-cluster-ip-range=10.96.0.0/24 --service-account-issuer=https://kubernetes.default.svc \
		--service-account-signing-key-file="$K/pki/sa.key" --service-account-key-file="$K/pki/sa.pub" --token-auth-file="$K/tokens.csv" \
		--authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --kubelet-preferred-address-types=InternalIP \
		--kubelet-client-certificate="$K/pki/api.crt" --kubelet-client-key="$K/pki/api.key" --client-ca-file="$K/pki/ca.crt"
	needed apiserver kubectl get --raw /readyz
	start controllers kube-controller-manager --kubeconfig="$K/admin.conf" --service-account-private-key-file="$K/pki/sa.key" \
		--root-ca-file="$K/pki/apiserver.crt" --leader-elect=false --bind-address=127.0.0.1
	start scheduler kube-scheduler --kubeconfig="$K/admin.conf" --leader-elect=false --bind-address=127.0.0.1
}

# group_tree GROUP: in each tree of control groups; a new group of cpuset has no processors
# in version 1, and none of the controllers in version 2.
group_tree() {
	local tree file
	if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
		mkdir -p -- "/sys/fs/cgroup/$1"
		for tree in /sys/fs/cgroup "/sys/fs/cgroup/${1%/*}"; do
			sed 's/[a-z]*/+&/g' "$tree/cgroup.controllers" >"$tree/cgroup.subtree_control"
		done
		return
	fi
	for tree in /sys/fs/cgroup/*/; do
		case $tree in */unified/) continue ;; esac
		mkdir -p -- "$tree$1"
	done
	for tree in "/sys/fs/cgroup/cpuset/${1%/*}" "/sys/fs/cgroup/cpuset/$1"; do
		for file in cpuset.cpus cpuset.mems; do cat -- "/sys/fs/cgroup/cpuset/$file" >"$tree/$file"; done
	done
}

# node NUMBER TOKEN ADDRESS PODS ENTER...: containerd and a kubelet; ENTER is how to get
# into its network.
node() {
	local n=$1 token=$2 address=$3 pods=$4 dir=$K/node$1
	shift 4
	mkdir -p -- "$dir"/{cni,run,logs,kubelet/seccomp}
	cp contrib/fleet/inner.json "$dir/kubelet/seccomp/inner.json"
	group_tree "$FLEET_GROUP/node$n"
	login "node$n" "$token"
	cat >"$dir/cni/10-pods.conflist" <<-J
		{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
		 "ipam": {"type": "host-local", "subnet": "$pods", "dataDir": "$dir/cni", "routes": [{"dst": "0.0.0.0/0"}]}}]}
	J
	cat >"$dir/containerd.toml" <<-T
		version = 3
		root = "$dir/containerd"
		state = "$dir/run/containerd"
		[grpc]
		  address = "$dir/run/c.sock"
		[ttrpc]
		  address = "$dir/run/c.sock.ttrpc"
		[plugins."io.containerd.cri.v1.images".pinned_images]
		  sandbox = "localhost/inner-pause:1"
		[plugins."io.containerd.cri.v1.runtime"]
		  restrict_oom_score_adj = true
		  disable_apparmor = true
		  tolerate_missing_hugetlb_controller = true
		  disable_hugetlb_controller = true
		  [plugins."io.containerd.cri.v1.runtime".cni]
		    bin_dirs = ["/usr/lib/cni"]
		    conf_dir = "$dir/cni"
		  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
		    runtime_type = "io.containerd.runc.v2"
		    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
		      BinaryName = "$FLEET_CACHE/bin/runc"
		      Root = "$dir/run/runc"
	T
	cat >"$dir/kubelet.yaml" <<-Y
		apiVersion: kubelet.config.k8s.io/v1beta1
		kind: KubeletConfiguration
		failCgroupV1: false
		cgroupDriver: cgroupfs
		cgroupRoot: /$FLEET_GROUP/node$n
		cgroupsPerQOS: true
		enforceNodeAllocatable: [pods]
		failSwapOn: false
		address: $address
		authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $K/pki/ca.crt}}
		authorization: {mode: Webhook}
		containerRuntimeEndpoint: unix://$dir/run/c.sock
		podLogsDir: $dir/logs
		resolvConf: $FLEET_STATE/resolv.conf
		clusterDNS: [$API]
		clusterDomain: cluster.local
		evictionHard: {memory.available: 100Mi}
		seccompDefault: true
		featureGates: {KubeletInUserNamespace: true}
		protectKernelDefaults: false
	Y
	start "containerd$n" "$@" containerd -c "$dir/containerd.toml"
	needed "containerd$n" ctr -a "$dir/run/c.sock" version
	for image in pause agent; do
		ctr -a "$dir/run/c.sock" -n k8s.io images import --local --digests --base-name "localhost/inner-$image" "$FLEET_CACHE/images/$image.tar" >>"$FLEET_STATE/logs/import" 2>&1
	done
	start "kubelet$n" "$@" kubelet --config="$dir/kubelet.yaml" --kubeconfig="$K/node$n.conf" --hostname-override="node$n" \
		--node-ip="$address" --root-dir="$dir/kubelet" --cert-dir="$dir/pki"
}
ready() { [ "$(kubectl get nodes | grep -cw Ready)" = "$1" ]; }

begun=$(now)
control_plane
node 1 one 10.77.0.1 10.244.0.0/24
node 2 two 10.77.1.2 10.244.1.0/24 nsenter --net=/run/netns/node2
needed kubelet1 ready 2
ok "Kubernetes with two nodes is ready after $(($(now) - begun)) ms: $(kubectl version -o json | sed -n 's/.*"gitVersion": "\(v1[^"]*\)".*/\1/p' | tail -n 1)"

# shellcheck source=contrib/fleet/kube-checks.sh
. contrib/fleet/kube-checks.sh
