# shellcheck shell=bash
# lib.sh: what the scripts of the engines share. To be sourced, by inside.sh.

# start NAME COMMAND...: a server in the background; what it says is in logs/NAME.
start() {
	local name=$1
	shift
	"$@" </dev/null >"$FLEET_STATE/logs/$name" 2>&1 &
}

# within SECONDS COMMAND...: until the command succeeds, and no longer than that.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

# needed SECONDS NAME COMMAND...: the same for what everything after it needs.
needed() {
	local seconds=$1 name=$2
	shift 2
	within "$seconds" "$@" && return
	printf 'FAILED  %s did not start in %s s\n' "$name" "$seconds"
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
