#!/bin/bash
# test.sh [PACKAGE...] [FLAG...]: go test, the way that counts.
#
# With the race detector, the true binary (INNER_TEST_BIN), no test skipped in
# silence (INNER_TEST_MUST), and each test binary as a plain user in a home of its
# own (as-plain-user.sh). For root the tests are built from a copy of the tree that
# everybody can read: the checkout may be in a folder only root can enter.
# make test has run setup.sh and built bin/inner before.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- ./...

# shellcheck source=contrib/stage.sh
. contrib/stage.sh
test_env
# The other agents are half a gigabyte: make agents sets INNER_TEST_AGENTS.
if [ -n "${INNER_TEST_AGENTS-}" ]; then
	INNER_TEST_GEMINI=$(contrib/agents.sh path gemini)
	INNER_TEST_CODEX=$(contrib/agents.sh path codex)
	INNER_TEST_OPENCODE=$(contrib/agents.sh path opencode)
	export INNER_TEST_GEMINI INNER_TEST_CODEX INNER_TEST_OPENCODE
else
	printf 'inner: not run here: Gemini CLI, Codex and opencode themselves (make agents)\n' >&2
fi
[ -n "${INNER_TEST_PODMAN-}" ] || printf 'inner: not run here: podman in a box (make podman)\n' >&2
[ -n "${INNER_TEST_ONLINE-}" ] || printf 'inner: not run here: the registries of the world through a list of hosts (make online)\n' >&2
# One package at a time: terminals and timeouts share two cores badly.
flags=(-buildvcs=false -race -timeout 15m -p 1)

stage=$(mktemp -d /var/tmp/innertest.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
chmod 0755 "$stage"
mkdir "$stage/bin"
cp bin/inner "$stage/bin/inner"
export INNER_TEST_BIN=$stage/bin/inner INNER_TEST_PLAIN=$stage/bin

if [ "$(id -u)" -eq 0 ]; then
	copy_tree "$stage/inner"
	cd "$stage/inner"
	# The folder is another one each time, and still Go finds what it built before.
	flags+=(-trimpath)
fi

# Some tests start their own binary a thousand times, which takes ten times as long
# under the race detector; and in their new home Go would find nothing built.
CGO_ENABLED=0 "${GO:-go}" test -c -buildvcs=false -trimpath -o "$stage/bin/" ./shims ./isolator/verify
chmod -R a+rX "$stage/bin"

code=0
# The whole suite: the attacks as root, too, before everything else is somebody's
# without privileges. make attack has all profiles and umasks.
if [ "$*" = ./... ]; then
	if [ "$(id -u)" -eq 0 ]; then
		INNER_ATTACK_UMASKS=077 contrib/attack.sh --root shell claude-one-shot || code=1
	else
		printf 'inner: not run here: the attacks as root (make attack)\n' >&2
	fi
fi
"${GO:-go}" test "${flags[@]}" -exec "'$PWD/contrib/as-plain-user.sh'" "$@" || code=$?
exit "$code"
