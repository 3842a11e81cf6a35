#!/bin/bash
# left.sh: what engines could leave on this machine, one thing a line. The same lines before
# and after a run of fleet.sh mean that it left nothing.
set -eu
awk '{ print "mount", $5 }' /proc/self/mountinfo | grep -E 'inner-fleet|containers|kubelet|netns' || :
find /sys/fs/cgroup -type d -path '*inner-fleet*' 2>/dev/null | sed 's/^/group /'
find /sys/fs/cgroup -type d \( -name 'kubepods*' -o -name 'libpod*' -o -name 'conmon*' -o -name 'cri-containerd*' \) 2>/dev/null | sed 's/^/group /'
find /sys/class/net -mindepth 1 -printf "network %f\n"
find /run/netns /var/lib/cni /var/lib/kubelet /run/containerd /var/tmp/inner-fleet -maxdepth 1 2>/dev/null | sed 's/^/file /'
find /tmp /var/tmp /home -maxdepth 1 -uid "$FLEET_UID" | sed 's/^/file /'
for name in etcd containerd containerd-shim kube-apiserver kube-scheduler kubelet; do
	pgrep -x -- "$name" 2>/dev/null | sed "s/^/process $name /" || :
done
for name in vm/overcommit_memory kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys kernel/keys/root_maxbytes net/ipv4/ip_forward; do
	printf 'setting %s %s\n' "$name" "$(cat "/proc/sys/$name")"
done
