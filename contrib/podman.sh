#!/bin/bash
# podman.sh [FLAG...]: show podman in a box, and boxes that podman makes.
#
# Images come from no registry: the one of the boxes is made of this machine's own bash and
# coreutils. The choice of a backend is shown where bwrap is missing: for root its file is
# covered, in a mount namespace of the tests alone. FLAG goes to go test.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d /var/tmp/innertest-podman.XXXXXX)
trap 'rm -rf -- "$work"' EXIT
chmod 0755 "$work"

# image DIR: a root of a few programs with their libraries.
image() {
	local dir=$1 name path lib
	mkdir -p "$dir"/{usr/bin,usr/lib,usr/lib64,etc,home,proc,sys,dev,run,tmp,var/tmp}
	ln -s usr/bin "$dir/bin"
	ln -s usr/lib "$dir/lib"
	ln -s usr/lib64 "$dir/lib64"
	chmod 1777 "$dir/tmp" "$dir/var/tmp"
	for name in bash cat env grep head id ls mkdir readlink rm sleep stat touch unshare; do
		path=$(readlink -f "$(command -v "$name")")
		cp -- "$path" "$dir/usr/bin/$name"
		ldd "$path" | grep -o '/[^ ]*' | while read -r lib; do
			mkdir -p "$dir$(dirname "$lib")"
			cp -nL -- "$lib" "$dir$lib"
		done
	done
	ln -s bash "$dir/usr/bin/sh"
}

image "$work/root"
tar -C "$work/root" -cf "$work/image.tar" .
rm -rf -- "$work/root"
chmod 0644 "$work/image.tar"
export INNER_TEST_PODMAN=1 INNER_TEST_IMAGE=$work/image.tar
contrib/test.sh ./cmd/inner -count=1 -run 'TestPodman$|TestPodmanMakesBoxes' "$@"
if [ "$(id -u)" -ne 0 ]; then
	printf 'inner: not run here: the choice of a backend where bwrap is missing (only root can cover it)\n' >&2
	exit 0
fi
# shellcheck disable=SC2016 # the inner shell expands
unshare --mount bash -c 'mount --bind /dev/null "$(readlink -f "$(command -v bwrap)")" && exec contrib/test.sh ./cmd/inner -count=1 -run TestPodmanIsChosen "$@"' bash "$@"
