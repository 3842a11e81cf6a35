# shellcheck shell=bash
# try.sh: how a check is tried and told. To be sourced, in a box.
failures=0
# told NAME DONE SEEN PATTERN: the line of a check that was done or not, and printed SEEN.
told() {
	local line
	if [ "$2" = yes ] && line=$(grep -m 1 -E -e "$4" <<<"$3"); then
		printf 'ok      %s: %s\n' "$1" "$line"
	else
		printf 'FAILED  %s: done: %s, wanted "%s", seen:\n' "$1" "$2" "$4"
		tail -n 8 <<<"$3" | sed 's/^/            /'
		failures=$((failures + 1))
	fi
}
# try NAME PATTERN COMMAND...: the command succeeds within a minute and prints the pattern (grep -E).
try() {
	local seen done=yes
	seen=$(timeout 60 "${@:3}" 2>&1 </dev/null) || done="exit code $?"
	told "$1" "$done" "$seen" "$2"
}
# refuse NAME PATTERN COMMAND...: the command fails, and prints the pattern, at once: within two seconds on a busy machine.
refuse() {
	local seen done=no begin=${EPOCHREALTIME/./} code=0 took
	seen=$(timeout 20 "${@:3}" 2>&1 </dev/null) || code=$?
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	if [ $code -eq 0 ]; then done='it was not refused'; elif [ $took -ge 2000 ]; then done="after $took ms"; else done=yes; fi
	told "$1" "$done" "$seen" "$2"
}
