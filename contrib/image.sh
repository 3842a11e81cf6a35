#!/bin/bash
# image.sh TAR: the root of a container image with a few programs of this machine, as a tar
# file that everybody can read.
set -eu
umask 022
tar=$1
dir=$(mktemp -d "$tar.XXXXXX")
trap 'rm -rf -- "$dir"' EXIT
chmod 0755 "$dir"
mkdir -p "$dir"/{usr/bin,usr/lib,usr/lib64,etc,home,proc,sys,dev,run,tmp,var/tmp}
ln -s usr/bin "$dir/bin"
ln -s usr/lib "$dir/lib"
ln -s usr/lib64 "$dir/lib64"
chmod 1777 "$dir/tmp" "$dir/var/tmp"
for name in bash cat env grep head id ls mkdir readlink rm sleep stat touch true unshare; do
	path=$(readlink -f "$(command -v "$name")")
	[ "$name" != true ] || path=/usr/bin/true # not the shell's own
	cp -- "$path" "$dir/usr/bin/$name"
	ldd "$path" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$dir$(dirname "$lib")"
		cp -nL -- "$lib" "$dir$lib"
	done
done
ln -s bash "$dir/usr/bin/sh"
tar -C "$dir" -cf "$tar" .
chmod 0644 "$tar"
