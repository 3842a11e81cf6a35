#!/bin/bash
# test.sh [PACKAGE...] [FLAG...]: go test, the way that counts.
#
# With the race detector, the true binary (INNER_TEST_BIN), and no test skipped in
# silence (INNER_TEST_MUST). As a plain user: for root, the tests are built by
# root from a copy of the tree that everybody can read (the checkout may be in a
# folder only root can enter) and run through as-plain-user.sh.
# make test has run setup.sh and built bin/inner before.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- ./...

export INNER_TEST_MUST=1
INNER_TEST_CLAUDE=$(contrib/claude.sh path)
export INNER_TEST_CLAUDE
flags=(-buildvcs=false -race -timeout 15m)

if [ "$(id -u)" -ne 0 ]; then
	export INNER_TEST_BIN=$PWD/bin/inner
	exec "${GO:-go}" test "${flags[@]}" "$@"
fi

# The same folder each time would let Go reuse what it built, but two runs at once
# would meet in it; -trimpath gives the first without the second.
stage=$(mktemp -d /var/tmp/innertest.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
chmod 0755 "$stage"
mkdir "$stage/inner" "$stage/bin"
if git ls-files -z >/dev/null 2>&1; then
	# What git knows and what is new; not what is ignored or was deleted.
	git ls-files -z --cached --others --exclude-standard |
		while IFS= read -r -d '' file; do
			if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi
		done | tar --null --no-recursion -T - -cf - | tar -C "$stage/inner" --no-same-owner -xf -
else
	tar --exclude=./.git --exclude=./bin -cf - . | tar -C "$stage/inner" --no-same-owner -xf -
fi
cp bin/inner "$stage/bin/inner"
chmod -R a+rX,go-w "$stage"
export INNER_TEST_BIN=$stage/bin/inner

cd "$stage/inner"
# Some tests start their own binary a thousand times, which takes ten times as
# long under the race detector. The plain user has no Go to build one without.
export INNER_TEST_PLAIN=$stage/bin
CGO_ENABLED=0 "${GO:-go}" test -c -buildvcs=false -trimpath -o "$stage/bin/" ./shims
chmod -R a+rX "$stage/bin"
code=0
"${GO:-go}" test "${flags[@]}" -trimpath -exec "$stage/inner/contrib/as-plain-user.sh" "$@" || code=$?
exit "$code"
