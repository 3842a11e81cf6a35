#!/bin/bash
# package.sh [OUT]: deb, rpm, apk and Arch packages of inner and the programs beside it in OUT (default
# bin/packages), with SHA256SUMS and inner.cdx.json, the list of what the binary
# was built from. Everything bears the time of the commit, so that the same
# commit gives the same bytes. KEY=file signs SHA256SUMS with that ssh key.
# make sets the tools' versions.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${GO:=go}" "${NFPM:?set by make}"
out=$(realpath -m -- "${1:-bin/packages}")
umask 022

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
ARCH=$("$GO" env GOARCH)
# A tag vX.Y.Z is the version; any other commit sorts before every release.
if PACKAGE_VERSION=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null); then
	PACKAGE_VERSION=${PACKAGE_VERSION#v}
else
	PACKAGE_VERSION=0.0.0-git$(TZ=UTC git log -1 --date=format-local:%Y%m%d%H%M%S --format=%cd)
fi
[ -z "$(git status --porcelain)" ] || printf 'inner: warning: the tree has changes that no commit has: these packages cannot be built again\n' >&2
export SOURCE_DATE_EPOCH ARCH PACKAGE_VERSION TZ=UTC

rm -rf -- "$out"
mkdir -p -- "$out"
stage=$(mktemp -d)
trap 'rm -rf -- "$stage"' EXIT
mkdir -- "$stage/man" "$stage/examples"
cp -- bin/inner bin/inner-beside completions/inner.bash completions/_inner completions/inner.fish contrib/package/apparmor \
	contrib/package/*.sh contrib/package/nfpm.yaml README.md LICENSE "$stage"
cp -- contrib/profiles/*.toml "$stage/examples"

export CGO_ENABLED=0
"$GO" run -tags manual -ldflags "-X main.version=$(bin/inner version | cut -d" " -f2)" ./cmd/inner "$stage/man"
"$GO" run -tags manual -ldflags "-X main.version=$(bin/inner version | cut -d" " -f2)" ./cmd/inner-beside "$stage/man"
"$GO" build -o "$stage/tool" ./contrib/package
"$stage/tool" manual docs/profile-language.md >"$stage/man/inner.toml.5"
gzip -9n -- "$stage"/man/*
"$stage/tool" schema >"$stage/profile.schema.json"
"$stage/tool" sbom bin/inner >"$out/inner.cdx.json"

# The apk has the time that the files of its scripts bear.
find "$stage" -exec touch -d "@$SOURCE_DATE_EPOCH" {} +
for kind in deb rpm apk archlinux; do
	(cd -- "$stage" && "$GO" run "$NFPM" package --config nfpm.yaml --packager "$kind" --target "$out/" >/dev/null)
done
cd -- "$out"
sha256sum -- * >"$stage/SHA256SUMS"
mv -- "$stage/SHA256SUMS" .
if [ -n "${KEY-}" ]; then
	ssh-keygen -q -Y sign -f "$KEY" -n inner SHA256SUMS
fi
printf 'inner: %s holds:\n' "$out"
ls -- "$out"
