#!/bin/bash
# as-plain-user.sh PROGRAM [ARG...]: run a program as somebody without privileges.
#
# Made for `go test -exec contrib/as-plain-user.sh` by root: bwrap run by root
# keeps capabilities and reads what others may not, so a test that passes as root
# proves little. The program runs as the user "innertest" (made by setup.sh),
# with a fresh home, an environment of its own (nothing of root's, no secrets of a
# build machine) and the caller's working folder, which must be readable for all.
#
# Root's files need not be: an executable given by path is copied to where that
# user can read it. A caller who is not root gets the program, as is.
set -eu
umask 022

if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi

user=innertest
die() {
	printf 'inner: as-plain-user: %s\n' "$1" >&2
	exit 125
}
id "$user" >/dev/null 2>&1 || die "there is no user \"$user\" yet; contrib/setup.sh test makes it"
home=$(getent passwd "$user" | cut -d: -f6)

# PR_SET_PDEATHSIG: what runs here ends with this script, also when go test kills
# it at a timeout. No capability may come back: not inherited, not ambient.
drop=(setpriv "--reuid=$user" "--regid=$user" --init-groups --inh-caps=-all --ambient-caps=-all --pdeathsig KILL)

env=(
	"HOME=$home" "USER=$user" "LOGNAME=$user" SHELL=/bin/bash
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	LANG=C.UTF-8 TERM=xterm-256color
)
for name in $(compgen -e); do
	case $name in
	INNER_TEST_* | INNER_BENCH_* | GORACE | GOTRACEBACK | GOMAXPROCS) env+=("$name=${!name}") ;;
	esac
done

# The fresh home is made and removed by the plain user itself: root follows no
# name in a folder that somebody else can write.
run_home=$("${drop[@]}" env -i "${env[@]}" mktemp -d "$home/run.XXXXXX")
bin=
# shellcheck disable=SC2016,SC2317 # the inner shell expands; the trap calls it
cleanup() {
	"${drop[@]}" env -i "${env[@]}" sh -c 'chmod -R u+rwX -- "$1" 2>/dev/null; rm -rf -- "$1"' sh "$run_home" || :
	[ -z "$bin" ] || rm -rf -- "$bin"
}
trap cleanup EXIT
env+=("HOME=$run_home")

case $1 in
*/*)
	bin=$(mktemp -d /var/tmp/innertest-bin.XXXXXX)
	chmod 0755 "$bin"
	cp -- "$1" "$bin/${1##*/}"
	chmod 0755 "$bin/${1##*/}"
	set -- "$bin/${1##*/}" "${@:2}"
	;;
esac

code=0
"${drop[@]}" env -i "${env[@]}" "$@" || code=$?
exit "$code"
