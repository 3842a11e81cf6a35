# What the attacks on git directories have in common, after prelude.sh.
# shellcheck shell=sh disable=SC2034,SC2154 # the suite sets and uses variables
gitenv='GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=true GIT_TERMINAL_PROMPT=0
	GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org'
told="$told
export $(echo "$gitenv" | tr -d "\n") "
tell PWN "$A/pwn"
tell VICTIM "$H/outside/file"
tell VICTIMS "$H/outside/victims"
tell TRAP "$H/trap.git"
program_() { put "#!/bin/sh\necho $M >>$H/outside/ran\nexit 1" "$1" && chmod 0700 "$1"; }
outside() {
	find "$H/outside" -printf '%p %y\n' | sort
	find "$H/outside" -type f | sort | xargs -d '\n' cat
}
g() {
	timeout "$patience" git "$@" </dev/null
	[ $? -ne 124 ] || hangs=1
}
# used USE FOLDER COMMIT: what comes of it when the person's git does something, and whether the repository is whole.
used() {
	hangs=
	# shellcheck disable=SC2086,SC2163 # words
	export $gitenv
	eval "$1" >"$D/use" 2>&1
	[ -z "$hangs" ] || leaked git hangs outside
	[ "$(outside)" = "$before" ] || leaked git outside ran or wrote something outside of the repository
	if ! timeout "$patience" sh -c "git status && git fsck --strict --no-dangling --no-progress && git log --format=%s $3" >"$D/use" 2>&1 </dev/null; then
		leaked "the repository is broken for git outside: $(grep -m 1 fatal: "$D/use")"
	elif [ "$(tail -n 3 "$D/use" | tr '\n' ' ')" != 'sub two one ' ]; then
		leaked git outside sees another history
	elif [ -n "$(find "$H/$2/.git" -name '*.lock')" ]; then
		leaked locks are left in the repository
	fi
}
put mine outside/victims/mine
put '[init]\n\tdefaultBranch = main\n[gc]\n\tautoDetach = false' .gitconfig
program_ app/pwn
