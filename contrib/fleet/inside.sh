#!/bin/bash
# inside.sh PART...: called by fleet.sh in namespaces of its own, as their first process.
#
#  1. Mounts: a /proc of these processes; an empty /run and /tmp; layers over the folders that engines
#     write to by name; the unpacked packages over /usr. None of it is seen outside.
#  2. The network: two nodes and a few addresses that play the world.
#  3. The parts, each a script that brings its engine up and checks.
set -eEu
trap 'printf "FAILED  stopped at line %s of %s\n" "$LINENO" "${BASH_SOURCE[0]}"' ERR
cd "$FLEET_REPO"
# shellcheck source=contrib/fleet/lib.sh
. contrib/fleet/lib.sh

mounts() {
	local dir
	mount -t proc proc /proc
	mount -t tmpfs -o mode=0755 run /run
	mount -t tmpfs -o mode=1777 tmp /tmp
	mkdir -p /run/netns /run/lock /run/user "$FLEET_STATE"/{logs,run,proc,sys}
	for dir in /etc /var/lib /var/log; do # what engines write there goes with the run
		mkdir -p -- "$FLEET_STATE/over$dir"/{upper,work}
		mount -t overlay -o "lowerdir=$dir,upperdir=$FLEET_STATE/over$dir/upper,workdir=$FLEET_STATE/over$dir/work" over "$dir"
	done
	mount -t overlay -o "ro,lowerdir=$FLEET_CACHE/root/usr:/usr" usr /usr
	# A kubelet sets the kernel's knobs for the whole machine. The settings of a network are
	# this namespace's own. A second /proc and /sys without anything over them stay: without
	# them no container with a user namespace of its own could mount one.
	mount -t proc proc "$FLEET_STATE/proc"
	mount --bind /proc/sys/net "$FLEET_STATE/run"
	mount --bind /proc/sys /proc/sys
	mount -o remount,bind,ro /proc/sys
	mount --move "$FLEET_STATE/run" /proc/sys/net
	local knob
	for knob in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1 kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
		set -- "$FLEET_STATE/knobs/${knob%=*}" "/proc/sys/${knob%=*}"
		mkdir -p -- "${1%/*}"
		printf '%s\n' "${knob#*=}" >"$1" # a kubelet finds what it wants, and leaves it alone
		mount --bind "$1" "$2"
	done
	mount -t sysfs sysfs "$FLEET_STATE/sys"
	mount --bind /sys/fs/cgroup "$FLEET_STATE/sys/fs/cgroup"
}

# The world is a network of its own with public addresses, which mean something else outside
# of these namespaces: the proxy reaches no private address by name, and none of this machine.
network() {
	ip link set lo up
	ip link add node0 type bridge
	ip address add 10.77.0.1/24 dev node0
	ip link set node0 up
	ip route add default via 10.77.0.254 dev node0 # engines look for one
	echo 1 >/proc/sys/net/ipv4/ip_forward
	joined world 11.77.0.1 11.77.0.2
	ip route add 169.254.169.254/32 via 11.77.0.2
	joined node2 10.77.1.1 10.77.1.2
	ip route add 10.244.1.0/24 via 10.77.1.2
	# shellcheck disable=SC2016 # the other shell expands
	in_world bash -euc 'for a in 11.77.0.{10..12} 169.254.169.254; do ip address add "$a/32" dev lo; done'
	ip route add 11.77.0.8/29 via 11.77.0.2
	start dns world dns 10.77.0.1:53 allowed.test=11.77.0.10 forbidden.test=11.77.0.11 forge.test=11.77.0.12
	start allowed in_world world http 11.77.0.10:80 'this is allowed.test'
	start forbidden in_world world http 11.77.0.11:80 'this is forbidden.test'
	start metadata in_world world http 169.254.169.254:80 'the keys of this machine'
	printf 'nameserver 10.77.0.1\n' >"$FLEET_STATE/resolv.conf"
	mount --bind "$FLEET_STATE/resolv.conf" /etc/resolv.conf
}
in_world() { nsenter --net=/run/netns/world "$@"; }

# joined NAME HERE THERE: a network of that name, whose way out is this one.
joined() {
	ip netns add "$1"
	ip link add "to-$1" type veth peer name eth0 netns "$1"
	ip address add "$2/30" dev "to-$1"
	ip link set "to-$1" up
	# shellcheck disable=SC2016 # the other shell expands
	nsenter "--net=/run/netns/$1" bash -euc '
		ip link set lo up
		ip address add "$2/30" dev eth0
		ip link set eth0 up
		ip route add default via "$1"
		echo 1 >/proc/sys/net/ipv4/ip_forward' bash "$2" "$3"
}

umask 022
export PATH=$FLEET_CACHE/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
export HOME=$FLEET_STATE/home # clients of engines keep things there
mkdir -p -- "$HOME"
mounts
network
for part; do
	# shellcheck disable=SC1090 # one of the four
	. "contrib/fleet/$part.sh"
done
printf '%s checks failed\n' "$failures"
[ "$failures" -eq 0 ]
