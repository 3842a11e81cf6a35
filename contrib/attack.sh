#!/bin/bash
# attack.sh [--root] [PROFILE...]: inner verify --attack with the built-in profiles
# and those of contrib/profiles, under the umasks 022 and 077, as a plain user and,
# when root calls, as root. Given profiles, only those; with --root, only as root.
# A line for each, what leaked below it; exit code 1 when something did.
#
# Programs of profiles that are not installed are stood in for by a file of the
# name: the attacks run in their place anyway.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."
users="plain root"
if [ "${1-}" = --root ]; then
	users=root
	shift
fi
dir=$(mktemp -d /var/tmp/inner-attack.XXXXXX)
trap 'rm -rf -- "$dir"' EXIT
mkdir "$dir/bin"
cp -P "${INNER_TEST_BIN:-bin/inner}" "$(dirname "${INNER_TEST_BIN:-bin/inner}")"/inner-* "$dir/bin"
for program in claude gemini codex opencode cursor-agent node python3 go cargo mvn gradle podman; do
	command -v "$program" >/dev/null || printf '#!/bin/sh\n' >"$dir/bin/$program"
done
cp -r contrib/profiles "$dir/profiles"
chmod -R a+rX "$dir"
chmod -R a+x "$dir/bin"
if [ $# -eq 0 ]; then
	set --
	for f in profile/builtin/*.toml; do
		f=${f##*/}
		set -- "$@" "${f%.toml}"
	done
	for f in contrib/profiles/*.toml; do
		f=${f##*/}
		set -- "$@" "${f%.toml}"
	done
fi

# One profile, in a home of its own: inner's own folder is made there. Root's is not
# below /root: a .inner there would be taken for a project's.
cat >"$dir/one.sh" <<'EOF'
umask "$3"
export PATH=$1/bin:$PATH
home=$HOME
[ "$(id -u)" -ne 0 ] || home=$(mktemp -d /var/lib/inner-attack.XXXXXX)
export HOME=$home XDG_RUNTIME_DIR=$home/run XDG_CACHE_HOME=$home/c
mkdir -p "$home/app" "$home/run" "$home/.m2/repository" "$home/.gradle/caches" "$home/.gradle/wrapper"
cd "$home/app" || exit 125
inner init >/dev/null 2>&1
cp "$1"/profiles/*.toml "$home/.inner/profiles/"
chmod 0600 "$home"/.inner/profiles/*.toml
code=0
inner verify --attack -p "$2" >"$home/out" 2>&1 || code=$?
printf '%-7s umask %s  %-20s %s\n' "$(id -un)" "$3" "$2" "$(grep -m 1 "refused here" "$home/out" || tail -n 1 "$home/out")"
# A profile for containers does not start for a user without subordinate ids.
if grep -q "refused here.*nested-user-ns" "$home/out"; then code=0; fi
sed -n '/^\[\(!!\|??\)\]/p' "$home/out"
[ "$(id -u)" -ne 0 ] || rm -rf -- "$home"
exit "$code"
EOF
plain=$PWD/contrib/as-plain-user.sh
cd /

# all USER PROFILE...: each profile under each umask, what one run says in one piece.
all() {
	local user=$1 mask profile code=0 said
	shift
	for mask in ${INNER_ATTACK_UMASKS-022 077}; do
		for profile in "$@"; do
			if [ "$user" = root ]; then
				said=$(env -i HOME=/root USER=root LOGNAME=root SHELL=/bin/bash LANG=C.UTF-8 TERM=xterm-256color "PATH=$PATH" bash "$dir/one.sh" "$dir" "$profile" "$mask") || code=1
			else
				said=$("$plain" bash "$dir/one.sh" "$dir" "$profile" "$mask") || code=1
			fi
			printf '%s\n' "$said"
		done
	done
	return "$code"
}

# Both users side by side.
lanes=()
for user in $users; do
	[ "$user" = plain ] || [ "$(id -u)" -eq 0 ] || {
		printf 'inner: not run here: the attacks as root\n' >&2
		continue
	}
	all "$user" "$@" &
	lanes+=($!)
done
code=0
for lane in "${lanes[@]}"; do
	wait "$lane" || code=1
done
exit "$code"
