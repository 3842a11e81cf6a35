#!/bin/bash
# package-test.sh: the packages, on a machine that has never seen inner.
#
# They are built twice and must be the same bytes. The deb is installed in a
# Debian made by debootstrap, where a plain user runs inner doctor, the demo and
# inner uninstall; after a purge the file system is what it was before. The rpm,
# apk and Arch packages are unpacked and must hold the same files with the same
# bytes, but for those that each distribution looks for elsewhere.
# Needs root. The Debian stays in ~/.cache/inner-package-root for the next time.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
repo=$PWD
root=${XDG_CACHE_HOME:-$HOME/.cache}/inner-package-root
say() { printf 'inner: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
[ "$(id -u)" -eq 0 ] || die 'make package-test needs root: it makes a Debian of its own'

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

# 1. Twice the same bytes; a key of the moment signs, and the documented command verifies.
ssh-keygen -q -t ed25519 -N '' -C test -f "$work/key"
KEY=$work/key contrib/package.sh bin/packages >/dev/null
contrib/package.sh "$work/again" >/dev/null
cmp bin/packages/SHA256SUMS "$work/again/SHA256SUMS" || die 'the packages differ when built twice'
printf 'packages@inner %s\n' "$(cat -- "$work/key.pub")" >"$work/signers"
verify() { (cd bin/packages && ssh-keygen -q -Y verify -f "$work/signers" -I packages@inner -n inner -s SHA256SUMS.sig && sha256sum -c --quiet SHA256SUMS) <"$1"; }
verify bin/packages/SHA256SUMS || die 'the signature of SHA256SUMS does not verify'
sed 's/^./x/' bin/packages/SHA256SUMS >"$work/forged"
! verify "$work/forged" 2>/dev/null || die 'a changed SHA256SUMS verifies'
say "ok    the packages are the same bytes when built twice, and their signature verifies"

# 2. The same files in all four.
for package in bin/packages/inner*.{deb,rpm,apk,pkg.tar.zst}; do
	kind=${package##*.}
	mkdir -- "$work/$kind"
	case $kind in
	deb) dpkg-deb -x "$package" "$work/deb" ;;
	*) bsdtar -x -f "$package" -C "$work/$kind" ;;
	esac
	# What has a place of its own: zsh's completion and the licence.
	(cd -- "$work/$kind" && find usr -type f -printf '%m  %p\n' -exec sha256sum -- {} +) |
		sed 's,usr/share/zsh/[^/]*/,ZSH/,; s,usr/share/licenses/inner/LICENSE,LICENCE,; s,usr/share/doc/inner/copyright,LICENCE,' |
		LC_ALL=C sort >"$work/$kind.list"
	[ -s "$work/$kind.list" ] || die "$package is empty"
	diff "$work/deb.list" "$work/$kind.list" || die "$package does not hold what the deb holds"
done
say "ok    deb, rpm, apk and Arch packages hold the same $(find "$work/deb" -type f | wc -l) files"

# 3. A Debian that has what the package depends on and nothing of inner.
if [ ! -e "$root" ]; then
	say "making a Debian in $root (debootstrap, 150 MB)"
	mirror=$(awk '/^URIs:/ { print $2; exit } /^deb / { for (i = 2; i <= NF; i++) if ($i ~ /^http/) { print $i; exit } }' \
		/etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null || :)
	rm -rf -- "$root.new"
	debootstrap --variant=minbase --include=bubblewrap,uidmap,bash-completion bookworm "$root.new" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
		{ tail -n 5 -- "$work/log" && die 'debootstrap failed'; }
	mv -- "$root.new" "$root"
fi
id=$(sed -n 's/^person:[^:]*:\([0-9]*\):.*/\1/p' "$root/etc/passwd")
[ -n "$id" ] || chroot "$root" useradd --create-home --shell /bin/bash person

mkdir -p -- "$work/src/contrib"
cp -- contrib/demo.sh contrib/package/inside.sh "$work/src/contrib"
cp -- bin/packages/inner*.deb "$work/src/inner.deb"
CGO_ENABLED=0 "${GO:-go}" build -trimpath -o "$work/src/play" ./contrib/play
chmod -R a+rX -- "$work"
cd /

# The root is entered with pivot_root: in a chroot nobody can make user namespaces.
# shellcheck disable=SC2016 # its dollars are the inner shell's
ROOT=$root SRC=$work/src setsid --wait unshare --mount --pid --fork --propagation private bash -eu -c '
	mount --bind "$ROOT" "$ROOT"
	mkdir -p "$ROOT/old" "$ROOT/src"
	mount --bind -o ro "$SRC" "$ROOT/src"
	mount -t proc proc "$ROOT/proc"
	mount --rbind /sys "$ROOT/sys"
	mount --rbind /dev "$ROOT/dev"
	mount -t tmpfs tmpfs "$ROOT/tmp" -o mode=1777
	mount -t tmpfs tmpfs "$ROOT/run"
	cd "$ROOT"
	pivot_root . old
	umount -l /old
	exec /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=xterm LANG=C.UTF-8 bash /src/contrib/inside.sh
' </dev/null || die 'the package does not do in a clean Debian what it should'
cd "$repo"
say 'ok    installed, used, uninstalled and purged in a clean Debian'
