#!/bin/bash
# test.sh [PACKAGE...] [FLAG...]: go test, the way that counts.
#
# With the true binary (INNER_TEST_BIN), no test skipped in silence
# (INNER_TEST_MUST), each test binary as a plain user in a home of its own
# (as-plain-user.sh), and the race detector where Go code runs concurrently. For
# root the tests are built from a copy of the tree that everybody can read: the
# checkout may be in a folder only root can enter.
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
[ -n "${INNER_TEST_GIT-}" ] || printf 'inner: not run here: all git commands in all layouts, and four fifths of the attacks on a repository (INNER_TEST_GIT=1)\n' >&2
[ -n "${INNER_TEST_CALLS-}" ] || printf 'inner: not run here: a thousand calls of the library from fifty goroutines (INNER_TEST_CALLS=1)\n' >&2
# The sample profiles are run where their programs are: toolchains are not installed for that.
absent=()
for program in node cargo mvn java podman; do
	command -v "$program" >/dev/null || absent+=("$program")
done
[ ${#absent[@]} -eq 0 ] || printf 'inner: not run here: the sample profiles of programs that are not installed (%s)\n' "${absent[*]}" >&2
stage=$(mktemp -d /var/tmp/innertest.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
chmod 0755 "$stage"
mkdir "$stage/bin"
cp bin/inner "$stage/bin/inner"
export INNER_TEST_BIN=$stage/bin/inner

if [ "$(id -u)" -eq 0 ]; then
	copy_tree "$stage/inner"
	cd "$stage/inner"
fi

# Packages first, then flags, as for go test.
packages=()
while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
	packages+=("$1")
	shift
done
flags=(-buildvcs=false -trimpath -vet=off -timeout "${INNER_TEST_TIMEOUT:-15m}" -p 1 -exec "'$PWD/contrib/as-plain-user.sh'")
module=$("${GO:-go}" list -m)
tests=$("${GO:-go}" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${packages[@]}")

# Two lanes side by side, each one package at a time, of about as much work. The
# first has the true binary and the runner below it, whose tests wait for terminals
# and signals. The second has all others and gives way to the first; those whose code
# runs concurrently have the race detector, but not those whose tests drive programs:
# it sees nothing of these, and makes each start of a test binary ten times as long.
programs=() race=() plain=()
for package in $tests; do
	dir=./${package#"$module"/}
	case $dir in
	./cmd/inner | ./isolator/launch) programs+=("$package") ;;
	./hooks | ./shims | ./isolator/verify) plain+=("$package") ;;
	*)
		if find "$dir" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec grep -qE '^[[:space:]]+go (func|[A-Za-z.]+\()|"sync(/atomic)?"' {} +; then
			race+=("$package")
		else
			plain+=("$package")
		fi
		;;
	esac
done
others() {
	local code=0
	# One package at a time is for the tests, not for the compiler.
	[ ${#race[@]} -eq 0 ] || "${GO:-go}" build -race -buildvcs=false -trimpath "${race[@]}" || return 1
	[ ${#race[@]} -eq 0 ] || "${GO:-go}" test -race "${flags[@]}" "${race[@]}" "$@" || code=1
	[ ${#plain[@]} -eq 0 ] || CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${plain[@]}" "$@" || code=1
	# The attacks a second time, on a profile that shows more of the home than the
	# one of the story attack.txtar, under another umask, and as root, for whom a box
	# is another one, where root calls.
	if [ "${packages[*]}" = ./... ]; then
		local root=()
		[ "$(id -u)" -ne 0 ] || root=(--root)
		INNER_ATTACK_UMASKS=077 contrib/attack.sh ${root[@]+"${root[@]}"} shell || code=1
	fi
	return $code
}
code=0
if [ ${#programs[@]} -eq 0 ] || [ $((${#race[@]} + ${#plain[@]})) -eq 0 ]; then
	[ ${#programs[@]} -eq 0 ] || CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${programs[@]}" "$@" || code=1
	others "$@" || code=1
else
	others "$@" >"$stage/others" 2>&1 &
	renice -n 10 -p $! >/dev/null 2>&1 || : # who is nicer already cannot become less so
	CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${programs[@]}" "$@" || code=1
	wait $! || code=1
	cat -- "$stage/others"
fi
exit "$code"
