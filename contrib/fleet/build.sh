#!/bin/bash
# build.sh PART...: what the engines of these parts need, into the cache; a second run does
# nothing.
#
# Kubernetes and containerd are built by Go from the modules beside this file, whose go.sum
# pins every byte. etcd is Debian's, unpacked and not installed: an installation
# would start daemons. fleet.sh mounts what was unpacked over /usr, for itself only.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${FLEET_CACHE:?set by fleet.sh}" "${GO:=go}"
RUNC=github.com/opencontainers/runc@v1.3.0
SANDBOX=sigs.k8s.io/agent-sandbox@v0.5.6
bin=$FLEET_CACHE/bin
mkdir -p -- "$bin"
say() { printf 'inner: %s\n' "$*" >&2; }

# fresh FILE SOURCE...: whether the file was made from these sources.
fresh() {
	local file=$1
	shift
	[ -e "$file" ] && [ "$(cat -- "$@" | sha256sum)" = "$(cat -- "$file.from" 2>/dev/null)" ]
}
made() {
	local file=$1
	shift
	cat -- "$@" | sha256sum >"$file.from"
}
# build DIR OUTPUT FLAGS PACKAGE...: in the module of that folder, giving way to everything
# else; FLAGS are more of the linker's.
build() {
	local dir=$1 out=$2 flags=$3
	shift 3
	(cd -- "$dir" && CGO_ENABLED=0 nice -n 15 "$GO" build -trimpath -buildvcs=false -ldflags "-s -w $flags" -o "$out" "$@")
}

engine() {
	if ! fresh "$bin/kube" kube/*; then
		say 'building Kubernetes (about 8 minutes on two cores)'
		build kube "$bin/kube" "-X k8s.io/component-base/version.gitVersion=$(cd kube && "$GO" list -m -f '{{.Version}}' k8s.io/kubernetes)" .
		made "$bin/kube" kube/*
	fi
	if ! fresh "$bin/containerd" cri/*; then
		say 'building containerd'
		build cri "$bin/" "" github.com/containerd/containerd/v2/cmd/{containerd,containerd-shim-runc-v2,ctr}
		made "$bin/containerd" cri/*
	fi
	if [ ! -e "$bin/runc" ]; then
		say 'building runc'
		CGO_ENABLED=1 GOBIN=$bin nice -n 15 "$GO" install -trimpath -buildvcs=false -tags seccomp -ldflags '-s -w' "$RUNC"
	fi
	if [ ! -d "$FLEET_CACHE/crds" ]; then
		local dir
		dir=$(GOFLAGS=-mod=mod "$GO" mod download -json "$SANDBOX" | sed -n 's/^.*"Dir": "\(.*\)".*$/\1/p')
		cp -r --no-preserve=mode -- "$dir/k8s/crds" "$FLEET_CACHE/crds"
	fi
	local name
	for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do ln -sfn kube "$bin/$name"; done
}
case " $* " in *" kube "* | *" times "*) engine ;; esac
(cd world && CGO_ENABLED=0 "$GO" build -trimpath -buildvcs=false -ldflags '-s -w' -o "$bin/world" .)

debs=(catatonit etcd-server)
if [ "$(cat -- "$FLEET_CACHE/root.from" 2>/dev/null)" != "${debs[*]}" ]; then
	say "unpacking ${debs[*]}"
	rm -rf -- "$FLEET_CACHE/root" "$FLEET_CACHE/deb"
	mkdir -p -- "$FLEET_CACHE/root" "$FLEET_CACHE/deb/partial"
	apt-get -qq -y --download-only -o DPkg::Lock::Timeout=300 -o "Dir::Cache::archives=$FLEET_CACHE/deb" install --no-install-recommends "${debs[@]}" </dev/null >/dev/null
	for deb in "$FLEET_CACHE"/deb/*.deb; do dpkg-deb -x "$deb" "$FLEET_CACHE/root"; done
	rm -rf -- "$FLEET_CACHE/deb"
	# An installation would make these links (update-alternatives).
	for file in "$FLEET_CACHE"/root/usr/sbin/*-wlm; do ln -s -- "${file##*/}" "${file%-wlm}"; done
	printf '%s\n' "${debs[*]}" >"$FLEET_CACHE/root.from"
fi
