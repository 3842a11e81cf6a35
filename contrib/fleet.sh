#!/bin/bash
# fleet.sh [PART...]: a whole Kubernetes and podman on this machine, and inner on them.
#
# Parts: kube podman times; none named is all of them. Each check prints one line,
# "ok" or "FAILED" and what was seen; the exit code is 1 when one failed.
#
# Everything runs in namespaces of its own: mounts, processes, network. With the last
# process they are gone, and with them each mount, link and process of the engines. What
# the kernel keeps beyond that, the control groups and one folder, is removed here.
# Only the cache stays: the built engines and the image (1 GB), in ~/.cache/inner-fleet.
#
# Needs root. The first run builds Kubernetes, containerd and runc: about ten minutes.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
FLEET_REPO=$PWD
FLEET_CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/inner-fleet
FLEET_STATE=/var/tmp/inner-fleet
FLEET_GROUP=inner-fleet
FLEET_UID=61234 # of the plain user, whom only the mounts of this run know
export FLEET_REPO FLEET_CACHE FLEET_STATE FLEET_GROUP FLEET_UID

say() { printf 'inner: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
[ "$(id -u)" -eq 0 ] || die 'make fleet needs root: engines make mounts, networks and control groups'
for part; do
	case $part in
	kube | podman | times) ;;
	*) die "unknown part \"$part\": kube, podman or times" ;;
	esac
done
[ $# -gt 0 ] || set -- kube podman times

mkdir -p -- "$FLEET_CACHE"
exec 9>"$FLEET_CACHE/lock"
flock -n 9 || die 'another make fleet runs here'

podman_groups=(-o -path '*/libpod_parent*')
[ -z "$(find /sys/fs/cgroup -type d -name libpod_parent)" ] || podman_groups=()
# groups: the control groups of an engine, those inside first. Version 1 has a tree for each
# controller, version 2 has one.
# podman makes its own beside them; where they were before, they stay.
groups() { find /sys/fs/cgroup -depth -type d \( -path "*/$FLEET_GROUP*" ${podman_groups[@]+"${podman_groups[@]}"} \) 2>/dev/null || :; }

# sweep removes what is left of this run, or of one that was killed.
sweep() {
	local group
	for _ in {1..50}; do
		groups | while read -r group; do rmdir -- "$group" 2>/dev/null || :; done
		[ -n "$(groups)" ] || break
		sleep 0.1 # the last processes are being reaped
	done
	[ -z "$FLEET_STATE" ] || rm -rf --one-file-system -- "$FLEET_STATE"
}
sweep
before=$(contrib/fleet/left.sh)
trap sweep EXIT
trap 'exit 130' INT TERM HUP

contrib/fleet/build.sh "$@"
contrib/fleet/image.sh

mkdir -m 0755 -- "$FLEET_STATE"
code=0
# What is started in there dies with this script, whatever ends it. The first process of
# a namespace ignores signals that it has not asked for, so that a ^C needs the last line.
setpriv --pdeathsig KILL unshare --mount --net --pid --uts --ipc --fork --kill-child --propagation private \
	contrib/fleet/inside.sh "$@" </dev/null 9>&- &
inside=$!
trap 'kill -KILL "$inside" 2>/dev/null || :; sweep' EXIT
wait "$inside" || code=$?
sweep
trap - EXIT
after=$(contrib/fleet/left.sh)
if [ "$before" = "$after" ]; then
	printf 'ok      nothing is left: mounts, namespaces, control groups, processes, folders\n'
else
	printf 'FAILED  something is left:\n'
	diff <(printf '%s\n' "$before") <(printf '%s\n' "$after") || :
	code=1
fi
exit "$code"
