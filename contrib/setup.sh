#!/bin/bash
# setup.sh GOAL...: make this machine able to reach a goal.
#
# Goals: test, agents, podman, docker, reach, lint, demo, bench, package, fleet, site. Each needs programs; what is missing is said
# and then installed with apt-get, through sudo when the caller is not root.
# Nothing that is present is touched, and a second run does nothing.
#
# For `test` and `agents` there is more:
#   - started by root, the tests run as a plain user of their own, "innertest",
#     which is created here: bwrap run by root hides mistakes;
#   - Claude Code is installed from npm into a cache, for the test that shows the
#     real program in the box (contrib/agents.sh); for `agents` Gemini CLI, Codex
#     and opencode as well; Nushell from npm, for the tests of its hook.
set -eu
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'inner: %s\n' "$*" >&2; }
die() {
	say "$1"
	shift
	local hint
	for hint in "$@"; do printf 'inner: hint: %s\n' "$hint" >&2; done
	exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

[ "$(uname -s)" = Linux ] || die "inner runs on Linux only: it is made of bubblewrap and Linux namespaces"
[ $# -gt 0 ] || die "usage: setup.sh test|agents|podman|docker|reach|lint|demo|bench|package|fleet|site ..."

# sbin is not on every plain user's PATH, and useradd lives there.
PATH=$PATH:/usr/sbin:/sbin

# 1. Which packages are missing. One line per program: `want PROGRAM PACKAGE`.
missing=()
want_always() {
	case " ${missing[*]-} " in *" $1 "*) ;; *) missing+=("$1") ;; esac
}
want() { have "$1" || want_always "$2"; }
# want_plain PROGRAM PACKAGE: for root it must be where the plain user finds it, too.
want_plain() {
	(
		[ "$(id -u)" -ne 0 ] || PATH=/usr/local/bin:/usr/bin:/bin
		have "$1"
	) || want_always "$2"
}
# The cargo of Debian 12 is older than registries by https (1.68); it has a newer one by another name, beside which
# it cannot be.
cargo_package() { if apt-cache show cargo-web >/dev/null 2>&1; then echo cargo-web; else echo cargo; fi; }
# agents GOAL ACTION: for the agents that a goal needs; none named is all of them.
agents() { if [ "$1" = agents ]; then contrib/agents.sh "$2"; else contrib/agents.sh "$2" claude; fi; }
for goal; do
	case $goal in
	demo)
		want bwrap bubblewrap
		;;
	lint)
		want zsh zsh
		want fish fish
		want shellcheck shellcheck
		;;
	test | agents)
		want bwrap bubblewrap
		want zsh zsh
		want fish fish
		want elvish elvish
		want tcsh tcsh
		want dash dash
		want ksh ksh
		want mksh mksh
		want tmux tmux
		want strace strace
		want direnv direnv
		want shellcheck shellcheck
		want ps procps
		want ss iproute2
		want python3 python3
		want perl perl-base
		want script bsdutils
		want setpriv util-linux
		want git git
		want newuidmap uidmap
		# The race detector is the one thing here that needs a C compiler.
		want gcc gcc
		[ -e /usr/include/stdlib.h ] || want_always libc6-dev
		[ "$(id -u)" -ne 0 ] || want useradd passwd
		# Real clients for a network by name.
		want curl curl
		want ssh openssh-client
		want_plain npm npm
		want_plain node nodejs
		# What the home of a box refers to: certificates, terminals, fonts.
		want openssl openssl
		want tic ncurses-bin
		want fc-list fontconfig
		want_plain pip3 python3-pip
		# What people install with for themselves.
		want_plain cargo "$(cargo_package)"
		want_plain pipx pipx
		want_plain gem ruby
		;;
	podman)
		want podman podman
		want newuidmap uidmap
		want crun crun
		want runc runc
		want slirp4netns slirp4netns
		want pgrep procps
		# A static one, for an image of nothing else.
		if ! have busybox || ldd "$(command -v busybox)" >/dev/null 2>&1; then want_always busybox-static; fi
		;;
	docker)
		want dockerd docker.io
		;;
	reach)
		for program in curl wget openssl python3 git; do want $program $program; done
		want ip iproute2
		want ssh openssh-client
		want sshd openssh-server
		want psql postgresql-client
		compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || want_always postgresql
		want redis-cli redis-tools
		want redis-server redis-server
		want gh gh
		want twine twine
		want tmux tmux
		# The cores are the programs alone, without a service.
		want mariadb mariadb-client-core
		want mariadbd mariadb-server-core
		want_plain npm npm
		want_plain pip3 python3-pip
		want_plain java openjdk-17-jdk-headless
		want_plain javac openjdk-17-jdk-headless
		want gcc gcc
		want musl-gcc musl-tools
		[ -e /usr/include/stdlib.h ] || want_always libc6-dev
		/usr/bin/python3 -c 'import grpc' 2>/dev/null || want_always python3-grpcio
		/usr/bin/python3 -c 'import websockets' 2>/dev/null || want_always python3-websockets
		case $(PATH=/usr/local/bin:/usr/bin:/bin cargo --version 2>/dev/null) in
		'' | 'cargo 1.'[1-5][0-9]'.'* | 'cargo 1.6'[0-7]'.'*) want_always "$(cargo_package)" ;;
		esac
		;;
	package)
		want dpkg-deb dpkg
		want bsdtar libarchive-tools
		want zstd zstd
		want debootstrap debootstrap
		want ssh-keygen openssh-client
		;;
	site)
		want mkdocs mkdocs
		;;
	fleet)
		want debootstrap debootstrap
		want dpkg-deb dpkg
		want git git
		want ip iproute2
		want openssl openssl
		want nsenter util-linux
		want pgrep procps
		want podman podman
		want runc runc
		want newuidmap uidmap
		[ -e /usr/lib/cni/bridge ] || want_always containernetworking-plugins
		# runc is built against it.
		want gcc gcc
		want pkg-config pkg-config
		[ -e /usr/include/seccomp.h ] || want_always libseccomp-dev
		[ -e /usr/include/stdlib.h ] || want_always libc6-dev
		;;
	bench)
		want bwrap bubblewrap
		want zsh zsh
		want fish fish
		want script bsdutils
		want setpriv util-linux
		want direnv direnv
		[ "$(id -u)" -ne 0 ] || want useradd passwd
		want firejail firejail
		# For srt, from npm.
		want socat socat
		want rg ripgrep
		;;
	*) die "unknown goal \"$goal\": test, agents, podman, docker, reach, lint, demo, bench, package, fleet or site" ;;
	esac
done

# 2. Root's rights, for apt-get and nothing else.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif [ -t 0 ]; then
		sudo -- "$@"
	else
		sudo -n -- "$@"
	fi
}
can_root() {
	[ "$(id -u)" -eq 0 ] && return
	have sudo || return 1
	[ -t 0 ] || sudo -n true 2>/dev/null
}

apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
	have apt-get || die "this machine has no apt-get; install these yourself (names as in Debian): ${missing[*]}"
	can_root || die "missing: ${missing[*]}; installing them needs root, and sudo is unavailable" \
		"sudo apt-get install --no-install-recommends ${missing[*]}"
	sudo=''
	[ "$(id -u)" -eq 0 ] || sudo='sudo '
	say "installing: ${missing[*]} (${sudo}apt-get install --no-install-recommends)"
	log=$(mktemp)
	trap 'rm -f -- "$log"' EXIT
	# The package lists are fetched only when there are none or they are too old
	# to name what is wanted.
	if ! apt install --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
		say "refreshing the package lists (${sudo}apt-get update)"
		if ! { apt update && apt install --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
			cat -- "$log" >&2
			die "apt-get could not install: ${missing[*]}" "its own words are above"
		fi
	fi
fi

have "${GO:-go}" || die "Go is not on PATH" "https://go.dev/doc/install, or: sudo apt-get install golang"

# 3. What only some goals need.
for goal; do
	case $goal in
	test | agents | bench | reach)
		if [ "$(id -u)" -eq 0 ] && [ "$(stat -c %a /dev/fuse 2>/dev/null)" = 600 ]; then
			say 'making /dev/fuse what udev makes of it, writable for all: without it boxes work on clones of repositories'
			chmod 666 /dev/fuse || say 'that failed; the stories of a repository that is served are not run'
		fi
		if [ "$(id -u)" -eq 0 ] && ! id innertest >/dev/null 2>&1; then
			say 'creating the plain user "innertest", as whom root'\''s tests run (gone again with: userdel -r innertest)'
			useradd --create-home --user-group --shell /bin/bash --comment 'runs the tests of inner' innertest 2>/dev/null ||
				die "useradd could not create the user \"innertest\"" "run make test as a plain user instead"
		fi
		;;
	esac
	case $goal in
	test | agents)
		agents "$goal" install || exit 1
		contrib/agents.sh install nu || exit 1
		;;
	reach) contrib/agents.sh install node18 node22 node claude codex gemini || exit 1 ;;
	esac
done

# 4. Does bwrap work for the person the boxes will run as? The usual reason for a
# no is a rule of Ubuntu's AppArmor; what to do about it is that person's choice,
# so it is said and not done.
probe=(bwrap --unshare-user --unshare-pid --ro-bind / / --proc /proc --dev /dev true)
case " $* " in
*" test "* | *" agents "* | *" bench "* | *" reach "*) probe=("$PWD/contrib/as-plain-user.sh" "${probe[@]}") ;;
*" demo "*) ;;
*) exit 0 ;;
esac
# From / because the checkout may be in a folder that user cannot enter.
if ! why=$(cd / && "${probe[@]}" 2>&1); then
	hints=()
	if [ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns 2>/dev/null)" = 1 ]; then
		hints=("AppArmor keeps user namespaces from plain users here; this lets bwrap, and only bwrap, have them:"
			"printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }' | sudo tee /etc/apparmor.d/bwrap >/dev/null && sudo apparmor_parser -r /etc/apparmor.d/bwrap")
	elif [ "$(cat /proc/sys/kernel/unprivileged_userns_clone 2>/dev/null)" = 0 ]; then
		hints=("sudo sysctl -w kernel.unprivileged_userns_clone=1")
	elif [ "$(cat /proc/sys/user/max_user_namespaces 2>/dev/null)" = 0 ]; then
		hints=("sudo sysctl -w user.max_user_namespaces=15000")
	fi
	die "bwrap does not work here: ${why:-no reason given}" ${hints[@]+"${hints[@]}"}
fi
