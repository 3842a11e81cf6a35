#!/bin/bash
# demo.sh: the main job, for real, in a sample project.
#
# With a terminal you end up in a hooked bash in that project, with four things
# to type. Without one the same things are typed for you in a pseudo-terminal; the
# exit code is 0 only when the command that was typed really ran inside.
#
# Everything is in one new folder that is removed at the end, inner's own files
# (INNER_HOME) as well: nothing of yours is changed.
set -eu
umask 022
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Below the home, where projects are; /tmp is a place of its own inside the box.
home=${HOME:-/root}
base=${XDG_CACHE_HOME:-$home/.cache}
mkdir -p -- "$base" 2>/dev/null || base=/var/tmp
demo=$(mktemp -d -- "$base/inner-demo.XXXXXX")
trap 'chmod -R u+rwX -- "$demo" 2>/dev/null; rm -rf -- "$demo"' EXIT

project=$demo/sample
mkdir -p -- "$project/.inner/profiles" "$demo/bin"
printf 'a key that is nobody else'\''s business\n' >"$demo/secret"
printf 'Nothing to see but this file.\n' >"$project/README"
# What was built here, with the programs beside it; or DEMO_INNER, an inner that is installed.
ln -s -- "${DEMO_INNER:-$repo/bin/inner}" "$demo/bin/inner"
cat >"$project/.inner/profiles/bash.toml" <<'TOML'
schema_version = "1"
description    = "a shell that sees and touches only this project"

[sandbox]
home = "isolated"   # the home folder is empty inside

[env]
inherit = ["TERM", "LANG", "HOME", "USER", "PATH"]

[entrypoint]
cmd     = "bash"
history = ["ps ax", "ls -A ~", "cat /run/.innerenv"]
TOML

# Without the shims of an inner that is in use here: the demo has its own. Where Claude
# Code is not installed, a few lines stand in for it.
path=
IFS=: read -ra dirs <<<"$PATH"
for dir in "${dirs[@]}"; do
	case $dir in */shims/bin) ;; *) path+=:$dir ;; esac
done
PATH=${path#:}
claude=$(command -v claude || :)
if [ -z "$claude" ]; then
	cat >"$demo/bin/claude" <<'SH'
#!/bin/sh
echo "0.0.0 (Claude Code, a stand-in)"
SH
	chmod 0755 "$demo/bin/claude"
fi
cat >"$demo/rc" <<'RC'
PS1='[outside] \W \$ '
HISTFILE=$DEMO/history # what is typed here is not history
eval "$(inner hook bash)"
RC
export DEMO=$demo INNER_HOME=$demo/inner PATH=$demo/bin:$PATH

if [ -t 0 ] && [ -t 1 ]; then
	cat <<TEXT

This is bash with one more line in its start-up file:  eval "\$(inner hook bash)"
The sample project has one profile, .inner/profiles/bash.toml.

Things to type:

  1.  inner init       questions, with an answer suggested to each; it writes a profile for
                       each agent that you choose, and asks whether you allow what it grants
  2.  claude           ${claude:+Claude Code, sandboxed, with your login}${claude:-which is not installed, so a few lines stand in for it; a second time, too}
  3.  inner allow      what the profile for bash grants; answer y
  4.  bash             just that: it starts inside the sandbox. Look around, e.g.
                         cat ../secret    ls -A ~    ps ax    touch /etc/x
                       and leave with exit

exit (or ^D) ends the demo and removes everything it made.

TEXT
	cd -- "$project"
	bash --noprofile --rcfile "$demo/rc" -i || :
	cd -- "$repo"
	printf 'inner: the demo is over; %s is removed\n' "$demo" >&2
	exit 0
fi

printf 'inner: no terminal here, so these are typed for you: inner init claude, claude twice, inner allow, bash\n\n'
cat >"$demo/steps" <<'STEPS'
expect outside. sample [#$] $
# 1. The project is set up by questions, which have an answer suggested.
send "inner init claude\r"
expect Enter: here\] $
send "\r"
expect on the network
expect Enter: 1\] $
send "\r"
expect Enter: nothing\] $
send "\r"
expect without asking you.*Y/n\] $
send "\r"
expect runs:? claude
expect \[y/N\]
send "y\r"
expect allowed claude: claude runs in the sandbox from now on
expect type: claude
expect outside. sample [#$] $
# 2. Then it is just typed; the second start is the warm one.
send "claude --version; echo code=$?\r"
expect \(Claude Code
expect ^code=0
expect outside. sample [#$] $
send "time claude --version; echo code=$?\r"
expect \(Claude Code
expect ^real
expect ^code=0
expect outside. sample [#$] $
# 3. A profile that came with the project: refused, until it is read and allowed.
send "inner status\r"
expect profile  bash: untrusted
expect outside. sample [#$] $
send "inner allow\r"
expect runs:? bash
expect \[y/N\]
send "y\r"
expect allowed bash: bash runs in the sandbox from now on
expect outside. sample [#$] $
# 4. Typed, not wrapped: and it is inside.
send "bash\r"
expect [#$] $
send "cat /run/.innerenv\r"
expect ^profile=bash
expect [#$] $
send "cat ../secret\r"
expect secret: No such file or directory
expect [#$] $
send "touch /etc/inner-was-here\r"
expect Read-only file system
expect [#$] $
send "ls -A ~ | grep -c .ssh\r"
expect ^0
expect [#$] $
send "echo made inside > made\r"
expect [#$] $
send "exit\r"
expect outside. sample [#$] $
send "cat made\r"
expect ^made inside
expect outside. sample [#$] $
STEPS
cat >>"$demo/steps" <<'STEPS'
send "exit\r"
exit 0
STEPS
cd -- "$repo"
if [ -n "${DEMO_PLAY-}" ]; then # built before, for a machine without Go
	cp -- "$DEMO_PLAY" "$demo/play"
else
	CGO_ENABLED=0 "${GO:-go}" build -buildvcs=false -trimpath -o "$demo/play" ./contrib/play
fi
cd -- "$project"
code=0
"$demo/play" "$demo/steps" bash --noprofile --rcfile "$demo/rc" -i || code=$?
cd -- "$repo"
echo
if [ "$code" -eq 0 ] && [ ! -e /etc/inner-was-here ] && grep -q '"type":"start".*"command":"bash"' "$INNER_HOME/logs/audit.jsonl"; then
	printf 'inner: the bash that was typed ran inside: it could not read %s, nor write outside the project\n' '../secret'
else
	printf 'inner: the demo did not go as it should\n' >&2
	exit 1
fi
