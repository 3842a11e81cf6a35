# shellcheck shell=bash
# hand.sh: one hand of a story. It reads a command a line, runs each in a subshell, and answers
# with the lines of stdout behind "1 ", those of stderr behind "2 ", and the exit code behind "0 ".
export GIT_EDITOR=true
answer=$(mktemp -d)
while IFS= read -r line; do
	(eval "$line") >"$answer/1" 2>"$answer/2" </dev/null
	code=$?
	awk '{ print "1 " $0 }' "$answer/1"
	awk '{ print "2 " $0 }' "$answer/2"
	echo "0 $code"
done
rm -rf "$answer"
