#!/bin/bash
# as-plain-user.sh PROGRAM [ARG...]: run a program as somebody without privileges,
# in a home of its own.
#
# Made for `go test -exec contrib/as-plain-user.sh`. bwrap run by root keeps
# capabilities and reads what others may not, so a test that passes as root proves
# little: root's program runs as the user "innertest" (made by setup.sh). Whoever
# calls, the program gets a fresh home, removed afterwards, and an environment
# without the caller's secrets; the working folder stays, and must be readable for
# that user. An executable given by path need not be: it is copied.
set -eu
umask 022

die() {
	printf 'inner: as-plain-user: %s\n' "$1" >&2
	exit 125
}
bin='' hosts=''
# PR_SET_PDEATHSIG: what runs here ends with this script, also when go test kills
# it at a timeout.
drop=(setpriv --pdeathsig KILL)
if [ "$(id -u)" -eq 0 ]; then
	user=innertest
	id "$user" >/dev/null 2>&1 || die "there is no user \"$user\" yet; contrib/setup.sh test makes it"
	home=$(getent passwd "$user" | cut -d: -f6)
	path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	# No capability may come back: not inherited, not ambient.
	drop+=("--reuid=$user" "--regid=$user" --init-groups --inh-caps=-all --ambient-caps=-all)
	case $1 in
	*/*)
		bin=$(mktemp -d /var/tmp/innertest-bin.XXXXXX)
		chmod 0755 "$bin"
		cp -- "$1" "$bin/${1##*/}"
		chmod 0755 "$bin/${1##*/}"
		set -- "$bin/${1##*/}" "${@:2}"
		;;
	esac
else
	user=$(id -un)
	home=$HOME # not below a dot entry, which boxes with the host's home do not show; short: the names of sockets hold 107 bytes
	path=$PATH:/usr/sbin:/sbin
fi

# Another git than that of the machine.
[ -z "${INNER_TEST_GIT_PATH-}" ] || path=$INNER_TEST_GIT_PATH:$path

env=("HOME=$home" "USER=$user" "LOGNAME=$user" SHELL=/bin/bash "PATH=$path" LANG=C.UTF-8 TERM=xterm-256color)
for name in $(compgen -e); do
	case $name in
	INNER_TEST_* | INNER_BENCH_* | GORACE | GOTRACEBACK | GOMAXPROCS) env+=("$name=${!name}") ;;
	esac
done

# Everything in that home is made and removed by the plain user itself: root
# follows no name in a folder that somebody else can write.
# The same for temporary files. chattr +T places each folder in there apart from the
# others on the disk: an ext4 without a journal takes no inode that was freed within
# the last minutes, and looks at every one of them, in the part of the disk where a
# folder lies, for each file that it makes. Tests make and remove files all the time.
# shellcheck disable=SC2016 # the inner shell expands
run_home=$("${drop[@]}" env -i "${env[@]}" sh -c 'mkdir -p -- "$1" && mktemp -d -- "$1/inner.XXXXXX"' sh "$home")
# shellcheck disable=SC2016
run_tmp=$("${drop[@]}" env -i "${env[@]}" sh -c 'tmp=$(mktemp -d /tmp/t.XXXXXX) && printf "%s\n" "$tmp" && { chattr +T "$tmp" 2>/dev/null || :; }')
# shellcheck disable=SC2016,SC2317 # the inner shell expands; the trap calls it
cleanup() {
	"${drop[@]}" env -i "${env[@]}" sh -c 'chmod -R u+rwX -- "$@" 2>/dev/null; rm -rf -- "$@"' sh "$run_home" "$run_tmp" || :
	[ -z "$bin$hosts" ] || rm -rf -- "$bin" "$hosts"
}
trap cleanup EXIT
env+=("HOME=$run_home" "TMPDIR=$run_tmp")

# Names of servers that stories of the network start. Nobody else sees them: they stand in a mount namespace of this run.
names=()
if [ "$(id -u)" -eq 0 ] && unshare --mount true 2>/dev/null; then
	hosts=$(mktemp /var/tmp/innertest-hosts.XXXXXX)
	printf '%s\n' '127.0.0.2 plain.names.test' '127.0.0.3 other.names.test' '127.0.0.4 down.names.test' '127.0.1.1 own.names.test' | cat /etc/hosts - >"$hosts"
	chmod 0644 "$hosts"
	# shellcheck disable=SC2016 # the inner shell expands
	names=(unshare --mount sh -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' sh "$hosts")
fi

code=0
${names[@]+"${names[@]}"} "${drop[@]}" env -i "${env[@]}" "$@" || code=$?
exit "$code"
