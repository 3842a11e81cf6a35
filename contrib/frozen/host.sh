#!/bin/bash
# host.sh WORK HOST [old|new]: one host, from inside the namespaces that frozen.sh made for it.
# Its homes are in memory, and gone with it.
set -eu
work=$1 host=$2 which=${3-}
out=$work/out
# shellcheck source=contrib/frozen/hosts.sh
. "$work/frozen/hosts.sh"

user=innertest
case $host in root*) user=root ;; esac
uid=$(id -u "$user")
home=$(getent passwd "$user" | cut -d: -f6)

for dir in /home /root /tmp /var/tmp /mnt /media /run; do
	mode=0755
	case $dir in */tmp) mode=1777 ;; esac
	mount -t tmpfs -o "mode=$mode" tmpfs "$dir"
done
ip link set lo up
mkdir -p "$home" "/run/user/$uid"
chown "$user:" "$home" "/run/user/$uid"
chmod 0700 "/run/user/$uid"
out=$out/$host${which:+.$which}
mkdir -p "$out"
chown -R "$user:" "$out"
install -m 0755 "$work/bin/${which:-old}" /run/inner-old
[ -n "$which" ] || install -m 0755 "$work/bin/new" /run/inner-new
[ -z "$which" ] || cp -RP -- "$work/beside/$which" /run/inner-beside
mkdir -m 0755 /run/bin
chown "$user:" /run/bin

# as COMMAND...: as the user of this host, with no variable but these.
as() {
	local drop=()
	[ "$user" = root ] || drop=(setpriv "--reuid=$user" "--regid=$user" --init-groups --inh-caps=-all --ambient-caps=-all)
	"${drop[@]}" env -i "HOME=$home" "USER=$user" "LOGNAME=$user" SHELL=/bin/bash LANG=C.UTF-8 TERM=xterm-256color "XDG_RUNTIME_DIR=/run/user/$uid" \
		"PATH=$home/.inner/shims/bin:/run/bin:$work/stubs:/usr/local/bin:/usr/bin:/bin" GIT_CONFIG_NOSYSTEM=1 "work=$work" "$@"
}
if [ -n "$which" ]; then
	as bash "$work/frozen/runs.sh" "$out"
	exit
fi
# shellcheck disable=SC2016 # the inner shell expands
as bash -euc '. "$work/frozen/hosts.sh"; prepare; make_"$1"' bash "$host"
if declare -F "mount_$host" >/dev/null; then "mount_$host"; fi
as bash "$work/frozen/cases.sh" "$host" "$out"
