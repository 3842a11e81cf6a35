#!/bin/bash
# frozen.sh OLD NEW [HOST...]: does NEW, a binary of inner, do what OLD does?
#
# For each made-up host of frozen/hosts.sh (or those named) and each profile, the built-in
# ones, those of contrib/profiles and those of frozen/profiles.sh, both binaries print the plan
# (run --dry-run, with --json all that the launcher gets) and what else they can print about a
# profile or a host, most of it as JSON. Then the runs of frozen/runs.sh are made with both,
# under strace: what they print, what the box looks like from inside, which files they make
# in between, and what they leave. The host "runs" is those alone.
#
# Every difference is printed, but for ids and times of runs; exit code 1 when there is one.
# Needs root: each host has mounts, processes, a network and homes of its own, all in memory.
# In it inner runs as the user "innertest", and as root on hosts of root.
set -eu
umask 022
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() {
	printf 'inner: frozen: %s\n' "$1" >&2
	exit 125
}
[ $# -ge 2 ] || die "frozen.sh OLD NEW [HOST...]"
[ "$(id -u)" -eq 0 ] || die "hosts are made with mounts: run it as root"
id innertest >/dev/null 2>&1 || die 'there is no user "innertest" yet; contrib/setup.sh test makes it'
for tool in strace script git ssh-agent unshare setpriv ip jq; do
	command -v "$tool" >/dev/null || die "$tool is not installed"
done

work=$(mktemp -d /var/lib/inner-frozen.XXXXXX)
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work/out" "$work/bin" "$work/stubs"
cp -- "$1" "$work/bin/old"
cp -- "$2" "$work/bin/new"
mkdir -p "$work/beside/old" "$work/beside/new"
cp -P -- "$(dirname -- "$1")"/inner-* "$work/beside/old" 2>/dev/null || : # the version before has one program
cp -P -- "$(dirname -- "$2")"/inner-* "$work/beside/new"
shift 2
cp -r "$here/frozen" "$here/profiles" "$work/"
mkdir "$work/features"
"$here/frozen/profiles.sh" "$work/features"
for program in claude gemini codex opencode cursor-agent node python3 go cargo mvn gradle podman npm pip pip3; do
	printf '#!/bin/sh\necho "%s $*"\n' "$program" >"$work/stubs/$program"
done
chmod -R a+rX "$work"
chmod a+x "$work"/bin/* "$work"/stubs/*

# shellcheck source=contrib/frozen/hosts.sh
. "$here/frozen/hosts.sh"
if [ $# -eq 0 ]; then
	mapfile -t hosts < <(declare -F | sed -n 's/^declare -f make_//p')
	set -- runs "${hosts[@]}"
fi

# one HOST: in namespaces of its own; what differs is in out/HOST/diff, the number of what was
# compared in out/HOST/count.
one() {
	if [ "$1" = runs ]; then
		local which
		mkdir "$work/out/runs"
		for which in old new; do
			unshare -mnp --fork --kill-child --mount-proc "$work/frozen/host.sh" "$work" runs "$which" >"$work/out/runs.$which.log" 2>&1 &
		done
		wait
		diff -rU1 "$work/out/runs.old" "$work/out/runs.new" >"$work/out/runs/diff" 2>&1 || :
		find "$work/out/runs.old" -type f 2>/dev/null | wc -l >"$work/out/runs/count"
		if [ ! -e "$work/out/runs.new/done" ] || [ ! -e "$work/out/runs.old/done" ]; then
			cat "$work"/out/runs.*.log >>"$work/out/runs/diff"
		fi
		return
	fi
	if ! unshare -mnp --fork --kill-child --mount-proc "$work/frozen/host.sh" "$work" "$1" >"$work/out/$1.log" 2>&1; then
		mkdir -p "$work/out/$1"
		{ echo "the host cannot be made:" && cat "$work/out/$1.log"; } >>"$work/out/$1/diff"
	fi
}
begun=$SECONDS
for host; do
	while [ "$(jobs -rp | wc -l)" -ge "${FROZEN_JOBS:-$(nproc)}" ]; do wait -n || :; done
	one "$host" &
done
wait

total=0 differ=0
for host; do
	count=$(cat "$work/out/$host/count" 2>/dev/null || echo 0)
	total=$((total + count))
	if [ -s "$work/out/$host/diff" ] || [ "$count" -eq 0 ]; then
		differ=$((differ + 1))
		printf '== %s\n' "$host"
		sed "s#$work/out/##g" "$work/out/$host/diff" || echo "nothing was compared"
	fi
done
[ -z "${FROZEN_KEEP-}" ] || cp -r "$work/out" "$FROZEN_KEEP"
printf 'inner: frozen: %d outputs compared on %d hosts in %d s; %d hosts differ\n' "$total" $# $((SECONDS - begun)) "$differ"
[ "$differ" -eq 0 ]
