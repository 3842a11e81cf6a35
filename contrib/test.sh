#!/bin/bash
# test.sh [PACKAGE...] [FLAG...]: go test, the way that counts.
#
# With the true binaries (INNER_TEST_BIN, and the programs beside it), no test skipped in silence
# (INNER_TEST_MUST), each test binary as a plain user in a home of its own
# (as-plain-user.sh), and the race detector where Go code runs concurrently. For
# root the tests are built from a copy of the tree that everybody can read: the
# checkout may be in a folder only root can enter.
# make test has run setup.sh and built bin before.
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
[ -n "${INNER_TEST_DOCKER-}" ] || printf 'inner: not run here: sandboxes that docker makes (make docker)\n' >&2
[ -n "${INNER_TEST_ONLINE-}" ] || printf 'inner: not run here: the registries of the world through a list of hosts (make online)\n' >&2
[ -n "${INNER_TEST_GIT-}" ] || printf 'inner: not run here: all git commands in all layouts, and four fifths of the attacks on a repository (INNER_TEST_GIT=1)\n' >&2
[ -n "${INNER_TEST_TWINS-}" ] || printf 'inner: not run here: stories of two hands in one repository (make twins)\n' >&2
[ -n "${INNER_TEST_CALLS-}" ] || printf 'inner: not run here: a thousand calls of the library from fifty goroutines, and ten thousand of one inner exec --serve (INNER_TEST_CALLS=1)\n' >&2
[ -n "$(find /dev/fuse -perm -006 2>/dev/null)" ] || printf 'inner: not run here: a git directory that a box shares (a plain user cannot open /dev/fuse)\n' >&2
[ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null || printf 'inner: not run here: names in a box (a plain user cannot have names of its own in /etc/hosts)\n' >&2
[ -x /usr/sbin/sshd ] || printf 'inner: not run here: what a real ssh server starts (openssh-server is not installed)\n' >&2
command -v keytool >/dev/null || printf 'inner: not run here: what Java reads of the certificates that a box trusts (no JDK is installed; make reach has it)\n' >&2
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
cp -P bin/inner bin/inner-* "$stage/bin"
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
flags=(-buildvcs=false -trimpath -vet=off -timeout "${INNER_TEST_TIMEOUT:-45m}" -p 1 -exec "'$PWD/contrib/as-plain-user.sh'")
module=$("${GO:-go}" list -m)
tests=$("${GO:-go}" list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' "${packages[@]}")

# Two jobs at a time, each with its own packages, one after the other. The first two have
# the true binary and the runner below it, whose tests wait for terminals and signals: the
# others give way to them. The race detector is for packages whose code runs concurrently,
# but not for those whose tests drive programs: it sees nothing of these, and makes each
# start of a test binary ten times as long.
command=() launch=() race=() plain=()
for package in $tests; do
	dir=./${package#"$module"/}
	case $dir in
	./cmd/inner) command+=("$package") ;;
	./isolator/launch) launch+=("$package") ;;
	./hooks | ./shims | ./isolator/verify | ./isolator/git/server) plain+=("$package") ;;
	*)
		if find "$dir" -maxdepth 1 -name '*.go' ! -name '*_test.go' -exec grep -qE '^[[:space:]]+go (func|[A-Za-z.]+\()|"sync(/atomic)?"' {} +; then
			race+=("$package")
		else
			plain+=("$package")
		fi
		;;
	esac
done
job() {
	case $1 in
	command) CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${command[@]}" "${@:2}" ;;
	launch) CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${launch[@]}" "${@:2}" ;;
	race)
		# One package at a time is for the tests, not for the compiler.
		"${GO:-go}" build -race -buildvcs=false -trimpath "${race[@]}" &&
			"${GO:-go}" test -race "${flags[@]}" -parallel 4 "${race[@]}" "${@:2}"
		;;
	plain) CGO_ENABLED=0 "${GO:-go}" test "${flags[@]}" "${plain[@]}" "${@:2}" ;;
	# The attacks a second time, on a profile that shows more of the home than the one of
	# the story attack.txtar, under another umask, and as root, for whom a box is another
	# one, where root calls.
	attack)
		local root=()
		[ "$(id -u)" -ne 0 ] || root=(--root)
		INNER_ATTACK_UMASKS=077 contrib/attack.sh ${root[@]+"${root[@]}"} shell
		;;
	esac
}
jobs=()
[ ${#command[@]} -eq 0 ] || jobs+=(command)
[ ${#race[@]} -eq 0 ] || jobs+=(race)
[ ${#launch[@]} -eq 0 ] || jobs+=(launch)
[ "${packages[*]}" != ./... ] || jobs+=(attack)
[ ${#plain[@]} -eq 0 ] || jobs+=(plain)
# start runs one job in the background. What the first prints is seen as it comes, the others' at the end.
start() {
	if [ "$1" = "${jobs[0]}" ]; then
		job "$@" &
	else
		job "$@" >"$stage/$1.log" 2>&1 &
	fi
	case $1 in
	command | launch) ;;
	*) renice -n 10 -p $! >/dev/null 2>&1 || : ;; # who is nicer already cannot become less so
	esac
}
code=0 running=0
for name in ${jobs[@]+"${jobs[@]}"}; do
	if [ $running -eq 2 ]; then
		wait -n || code=1
		running=1
	fi
	start "$name" "$@"
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || code=1
	running=$((running - 1))
done
for name in ${jobs[@]+"${jobs[@]}"}; do
	[ ! -e "$stage/$name.log" ] || cat -- "$stage/$name.log"
done
exit "$code"
