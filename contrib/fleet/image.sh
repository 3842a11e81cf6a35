#!/bin/bash
# image.sh: the two images, as archives in the format of OCI, with their digests beside them.
#
#	pause   what holds the namespaces of a pod: one static program
#	agent   a small Debian with bwrap, git and curl, and inner from this tree
#
# They are written by hand, so that nothing but debootstrap is needed and the digest is
# known before any engine has seen them. The Debian is made once and stays in the cache.
set -eu
: "${FLEET_CACHE:?set by fleet.sh}" "${FLEET_REPO:?}"
images=$FLEET_CACHE/images
include=bubblewrap,ca-certificates,curl,git,iproute2,openssh-client,procps,python3-minimal
mkdir -p -- "$images"
umask 022
say() { printf 'inner: %s\n' "$*" >&2; }

base=$images/base.tar
if [ "$(cat -- "$base.from" 2>/dev/null)" != "$include" ]; then
	say 'making the Debian of the image (debootstrap, 250 MB)'
	root=$images/root
	rm -rf -- "$root"
	mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /^http/) { print $i; exit } }' \
		/etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || :)
	debootstrap --variant=minbase "--include=$include" bookworm "$root" ${mirror:+"$mirror"} >"$images/log" 2>&1 ||
		{ tail -n 5 -- "$images/log" >&2 && exit 1; }
	chroot "$root" useradd --uid 1000 --create-home --shell /bin/bash agent
	rm -rf -- "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
	tar -C "$root" --numeric-owner --sort=name -cf "$base" .
	rm -rf -- "$root"
	printf '%s\n' "$include" >"$base.from"
fi

# blob FILE: moves a file into the folder of blobs, and prints digest and size.
blob() {
	local sum
	sum=$(sha256sum <"$1" | cut -d ' ' -f 1)
	cp -- "$1" "$oci/blobs/sha256/$sum"
	printf '%s %s\n' "$sum" "$(stat -c %s -- "$1")"
}
# image NAME CONFIG LAYER...: NAME.tar, and its digest in NAME.digest.
image() {
	local name=$1 config=$2 layers='' diffs='' sum size layer type=application/vnd.oci.image
	shift 2
	oci=$(mktemp -d)
	mkdir -p -- "$oci/blobs/sha256"
	for layer; do
		read -r sum size < <(blob "$layer")
		layers+=${layers:+,}"{\"mediaType\":\"$type.layer.v1.tar\",\"digest\":\"sha256:$sum\",\"size\":$size}"
		diffs+=${diffs:+,}"\"sha256:$sum\""
	done
	printf '{"architecture":"%s","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":[%s]}}' \
		"$("${GO:-go}" env GOARCH)" "$config" "$diffs" >"$oci/config"
	read -r sum size < <(blob "$oci/config")
	printf '{"schemaVersion":2,"mediaType":"%s.manifest.v1+json","config":{"mediaType":"%s.config.v1+json","digest":"sha256:%s","size":%s},"layers":[%s]}' \
		"$type" "$type" "$sum" "$size" "$layers" >"$oci/manifest"
	read -r sum size < <(blob "$oci/manifest")
	printf '{"schemaVersion":2,"manifests":[{"mediaType":"%s.manifest.v1+json","digest":"sha256:%s","size":%s,"annotations":{"org.opencontainers.image.ref.name":"localhost/inner-%s:1","io.containerd.image.name":"localhost/inner-%s:1"}}]}' \
		"$type" "$sum" "$size" "$name" "$name" >"$oci/index.json"
	printf '{"imageLayoutVersion":"1.0.0"}' >"$oci/oci-layout"
	tar -C "$oci" --sort=name --mtime=@0 -cf "$images/$name.tar" oci-layout index.json blobs
	printf 'sha256:%s\n' "$sum" >"$images/$name.digest"
	rm -rf -- "$oci"
}

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -p -- "$work/pause" "$work/agent/usr/local/bin" "$work/agent/inner"
install -m 0755 "$FLEET_CACHE/bin/world" "$work/pause/world"
install -m 0755 "$FLEET_CACHE/bin/world" "$work/agent/usr/local/bin"
cp -P -- "$FLEET_REPO/bin/inner" "$FLEET_REPO"/bin/inner-* "$work/agent/usr/local/bin"
for layer in pause agent; do
	tar -C "$work/$layer" --owner=0 --group=0 --numeric-owner --sort=name --mtime=@0 -cf "$work/$layer.tar" .
done
image pause '{"Entrypoint":["/world","pause"],"User":"65535:65535"}' "$work/pause.tar"
image agent '{"Env":["PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin","HOME=/home/agent"],"User":"1000:1000","WorkingDir":"/home/agent"}' "$base" "$work/agent.tar"
