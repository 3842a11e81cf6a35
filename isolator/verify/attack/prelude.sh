# What the scripts of attacks are made of: it stands before each of them, on the host. The suite has
# set SELF and INNER (two programs), P (the profile), D (a folder of the attack's own), H and A (the home
# and the project in it), M (the mark), SECRET, BARE (not empty: there is no box), and Z, K and F (a zone,
# a kept folder and a kept file of the project).
# shellcheck shell=sh disable=SC2016,SC2034,SC2154 # the box expands; rows.txt and the suite set and use variables
rm -f "$0"
T='' told='' extra=''
R="echo $M >>$H/outside/ran" # what is not to run on the host
leaked() { printf '%s\n' "$*" >>"$D/leak"; }

# Files are named from the home. planted and aimed ones are the words of the attack ("$@"); of watched
# ones the mark is looked for afterwards.
put() {
	text=$1
	shift
	for p; do
		case $p in */*) mkdir -p "${p%/*}" ;; esac
		printf '%b\n' "$text" >"$p"
	done
}
tell() { told="$told$1='$2' "; }
say() { for t; do T="$T '$t'"; done; }
target() { for t; do case $t in /*) say "$t" ;; *) say "$H/$t" ;; esac; done; }
watch() { for w; do printf '%s\n' "$H/$w" >>"$D/watched"; done; }
plant() { put "$SECRET" "$@"; }
planted() { target "$@" && plant "$@"; }
aim() { watch "$@" && target "$@"; }
with() { for w; do extra="$extra '$w'"; done; } # variables of the caller
program() { for w; do put "#!/bin/sh\n$R" "$w" && chmod 0700 "$w"; done; }
repo() {
	mkdir -p "$1/.git/objects/info" "$1/.git/refs/heads" "$1/.git/hooks" "$1/.git/info"
	put 'ref: refs/heads/main' "$1/.git/HEAD"
	put '[core]\n\trepositoryformatversion = 0' "$1/.git/config"
}
temp() { TMP=$(mktemp -d "$1/inner-attack.XXXXXX") && printf '%s\n' "$TMP" >>"$D/temps"; }

# start has the suite do something until the attack is over: AT is what it says first.
start() {
	: >"$D/at"
	HEARD=$D/heard VICTIM=$SECRET "$SELF" __do "$@" >"$D/at" 2>&1 </dev/null &
	started $!
}
started() {
	V=$1
	until [ -s "$D/at" ]; do sleep 0.01; done
	read -r AT <"$D/at"
	case $AT in no\ *) echo "$AT" && return 1 ;; esac
}
serve() { start serve "$@" && say "$1" "$AT"; }
# soon waits for what another process is about to do.
soon() {
	i=0
	until "$@"; do
		[ $((i += 1)) -lt 40 ] || return 1
		sleep 0.02
	done
}
heard() { ! soon grep -qs "$M" "$D/heard" || leaked the host has got the message; }
died() { ! grep -qas . "/proc/$V/cmdline"; }
# victim is a process that has the secret in its memory, its environment, its words and an open file.
victim() {
	plant "$D/open"
	: >"$D/at"
	VICTIM=$SECRET "$SELF" __do hold "$SECRET" 3<"$D/open" >"$D/at" &
	started $!
	rm "$D/open"
	tell PID "$V"
	tell ADDR "$AT"
	tell LEN "${#SECRET}"
}
parts() {
	plant app/.env
	put mine app/src/file
	put '' "app/$Z/there" "app/$K/there"
	put '{}' "app/$F"
	watch app/src/file app/src/new app/new outside/file
}

# What scripts of a box begin with. x is the suite's own hand, for what has no word in a shell.
lude='x() { "$X" __do "$@"; }
allowed() { "$@" && echo "allowed-$M"; }
add() { for p; do mkdir -p "${p%/*}"; printf "\n%s\n" "$M" >>"$p"; done; }
look() { x look "$@"; }
own() { sh -c "$@"; PATH=$PATH:/usr/sbin:/sbin unshare -Urm sh -c "$@"; }
evil() { git init -q "$1" && git -C "$1" -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; }
'
body() {
	B="$lude X='$2' I='$3' H='$H' A='$A' M='$M' R='$R' Z='$Z' K='$K' F='$F' $told
set -- $T
$1
echo was run >&2"
}
# box runs a script in a box in which the suite and inner are shown; run has inner itself run it, and
# go is run without a process of its own. Bare all three run it as it is.
bare() { eval "exec env $extra /bin/sh -c \"\$B\""; }
box() {
	if [ "$BARE" ]; then
		body "$1" "$SELF" "$INNER"
		(bare)
	else
		body "$1" /run/inner/attack /run/inner/attacked
		eval "env $extra \"\$SELF\" --build=\"\$BUILD\" --inner=\"\$INNER\" __box \"\$P\" \"\$B\""
	fi
}
go() {
	body "$1" "$SELF" "$INNER"
	shift
	[ -z "$BARE" ] || bare
	eval "exec env $extra \"\$INNER\" run -p \"\$P\" -w \"\$A\" \"\$@\" --entrypoint /bin/sh -- -c \"\$B\""
}
run() { (go "$@"); }
call() { # in a session
	(
		body "$2" "$SELF" "$INNER"
		[ -z "$BARE" ] || bare
		exec "$INNER" exec -p "$P" --session "$1" -- /bin/sh -c "$B"
	)
}
# launch has a run go on until a process of it sleeps for W seconds; L is inner.
launch() {
	W=$(date +%s%N)
	tell W "$W"
	go "$1" &
	L=$!
	[ -z "$(await up)" ] || echo was run
}
await() { "$SELF" __do await "$W" "$1"; }
# session leaves the secret in the /tmp of one session, and has two calls of another look for it.
session() {
	at=/tmp/$M NOTE=$LAST
	if [ "$BARE" ]; then
		at=$H/.inner/sessions/one.x/tmp/$M NOTE=$H/note
		put "$SECRET" "$at" "/tmp/$M"
		echo "/tmp/$M" >>"$D/temps"
	fi
	said=$(call one "echo '$SECRET' >'$at'" 2>&1)
	case $said in
	*"without a session"*) echo was run && return ;; # refused for just this
	*"was run"*) ;;
	*) echo "$said" && return ;;
	esac
	tell NOTE "$NOTE"
	tell FOLDER "$(echo "$H"/.inner/sessions/one.*)"
	call two "$1" && call two "$1" # the second starts where the first has ended
}
# git_ is the person's git, after what ran where the attack did.
git_() {
	watch outside/ran
	rm -f "$H/outside/ran"
	GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true git -C "$@"
}

# What the host is looked at for.
outlived() {
	p=$(await now)
	[ -z "$p" ] || { kill -9 "$p" && leaked what ran in the box still runs; }
}
made() {
	set -- "$H"/outside/made/*
	[ ! -e "$1" ] || leaked "$1 was made"
}
kept() {
	if [ -f "$A/$F" ] && [ ! -L "$A/$F" ]; then ! grep -q mine "$A/$F" || leaked "$A/$F is what a link led to"; else leaked "$A/$F is no file any more"; fi
}
typed() {
	n=$("$SELF" __do typed)
	[ "$n" = 0 ] || leaked "$n bytes were typed into the terminal"
}

# Every home is somebody's who works in it, with a project.
u=$(umask)
umask 077
set -e
mkdir -p "$XDG_RUNTIME_DIR" "$A"
cd "$H"
put mine outside/file
put '# mine' .bashrc .config/fish/config.fish
put '#!/bin/sh' .local/bin/tool
put '[user]\n\tname = me' .gitconfig
put 'schema_version = "1"' app/.inner/profiles/mine.toml
put 'package main' app/main.go
repo app
