# shellcheck shell=bash
# lib.sh: what the scripts of the engines share. To be sourced, by inside.sh.

# start NAME COMMAND...: a server in the background; what it says is in logs/NAME.
start() {
	local name=$1
	shift
	"$@" </dev/null >"$FLEET_STATE/logs/$name" 2>&1 &
}

# PATIENCE is how long something is waited for that has to come, in seconds: on a busy machine all
# of it takes long, and no check passes by waiting less.
PATIENCE=600

# within COMMAND...: until the command succeeds.
within() {
	local end=$((SECONDS + PATIENCE))
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# needed NAME COMMAND...: the same for what everything after it needs.
needed() {
	local name=$1
	shift
	within "$@" && return
	printf 'FAILED  %s did not start in %s s\n' "$name" "$PATIENCE"
	tail -n 20 -- "$FLEET_STATE/logs/$name" >&2 || :
	exit 1
}

failures=0
ok() { printf 'ok      %s\n' "$*"; }
failed() {
	printf 'FAILED  %s\n' "$*"
	failures=$((failures + 1))
}

# says NAME SEEN PATTERN...: each pattern (grep -E) must be in what was seen. The line
# shows what the patterns matched, or else all of it.
says() {
	local name=$1 seen=$2 pattern line shown=''
	shift 2
	for pattern; do
		if ! line=$(grep -m 1 -E -e "$pattern" <<<"$seen"); then
			failed "$name: wanted \"$pattern\", seen:"
			while IFS= read -r line; do printf '            %s\n' "$line"; done <<<"$seen"
			return
		fi
		shown+=${shown:+; }${line#"${line%%[![:space:]]*}"}
	done
	ok "$name: $shown"
}

# lacks NAME SEEN PATTERN: the pattern must not be in what was seen.
lacks() {
	local line
	if line=$(grep -m 1 -E -e "$3" <<<"$2"); then
		failed "$1: $line"
	else
		ok "$1"
	fi
}

# milliseconds since the epoch.
now() { date +%s%3N; }

# shellcheck disable=SC2034 # used where this is sourced
IMAGE=localhost/inner-agent@$(cat -- "$FLEET_CACHE/images/agent.digest")
inner() { command "$FLEET_REPO/bin/inner" "$@"; }

# profile NAME TEXT: the profile $X/NAME.toml, whose program is bash -c, with TEXT under its head.
profile() {
	printf 'schema_version = "1"\nname = "%s"\ndescription = "a check"\n\n%s\n\n[env]\ninherit = ["PATH", "HOME"]\n\n[entrypoint]\ncmd = "bash"\nargs = ["-c"]\ninteractive = false\n' "$1" "$2" >"$X/$1.toml"
}

# instead FILE COMMAND...: the objects with another command of the box, for what needs the
# same pod.
instead() {
	local file=$1 words
	shift
	words=$(printf '%s\n' "$@" | sed 's/\\/&&/g; s/"/\\"/g; s/.*/"&"/' | paste -sd,)
	awk -v words="$words" '/^ *command:$/ { sub(/:.*/, ": [" words "]"); print; skip = 1; next } skip && /^ *- / { next } { skip = 0; print }' "$file"
}
