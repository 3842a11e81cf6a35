#!/bin/bash
# screenshot.sh: makes the picture in README.md, docs/images/session.svg: a real session
# with Claude Code, typed into a terminal by contrib/play, recorded and drawn.
#
# For root, so that the session can be a plain user's with the home folder /home/ann: the
# picture shows no name and no path of the machine it was made on. `make agents` installs
# Claude Code.
set -eu
umask 022
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

if [ "${1-}" = typed ]; then # as the plain user
	mkdir -p -- ~/.local/bin ~/.ssh ~/src/app/.inner/profiles
	cp -- "$TOOLS/inner" "$TOOLS/claude" ~/.local/bin
	(umask 077 && printf 'a key\n' >~/.ssh/id_ed25519)
	cat >~/src/app/.inner/profiles/claude.toml <<'TOML'
schema_version = "1"

[sandbox]
home          = "isolated"
network_mode  = "allowlist"
network_allow = ["api.anthropic.com", "github.com"]

[entrypoint]
cmd = "claude"

[shim]
commands = ["claude", "bash"]   # bash: to look around in the same sandbox
TOML
	cat >~/.bashrc <<'RC'
PS1='\[\e[1;34m\]\w\[\e[0m\] $ '
PATH=~/.local/bin:$PATH
eval "$(inner hook bash)"
RC
	cat >~/steps <<'STEPS'
expect app.* [$] $
send "cat .inner/profiles/claude.toml\r"
expect app.* [$] $
send "claude --version\r"
expect hint: inner allow
expect app.* [$] $
send "inner allow\r"
expect \[y/N\]
send "y\r"
expect allowed claude
expect app.* [$] $
send "claude --version\r"
expect Claude Code
expect app.* [$] $
send "bash --norc\r"
expect bash-.* $
send "cd; ls -A; cat .ssh/id_ed25519; cd src/app\r"
expect No such file
expect bash-.* $
send "curl -sS https://example.com\r"
expect curl: \(
expect bash-.* $
send "touch /etc/x .inner/x made-inside\r"
expect inner/x
expect bash-.* $
send "exit\r"
expect app.* [$] $
send "ls\r"
expect ^made-inside
expect app.* [$] $
send "exit\r"
exit 0
STEPS
	cd ~/src/app
	~/.local/bin/inner init >/dev/null 2>&1
	exec "$TOOLS/play" -record ~/session.cast ~/steps bash -i
fi

if [ "${1-}" = home ]; then # as root, in a mount namespace of its own
	mount --bind -- "$TOOLS/home" /home
	cd /home/ann
	exec setpriv --reuid=innertest --regid=innertest --init-groups --inh-caps=-all --ambient-caps=-all \
		env -i HOME=/home/ann USER=ann SHELL=/bin/bash PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM=xterm-256color \
		TOOLS="$TOOLS" "$TOOLS/screenshot.sh" typed
fi

cd "$repo"
claude=$(contrib/agents.sh path claude)
export TOOLS
TOOLS=$(mktemp -d /var/tmp/inner-screenshot.XXXXXX)
trap 'rm -rf -- "$TOOLS"' EXIT
chmod 0755 "$TOOLS"
mkdir "$TOOLS/home"
install -d -o innertest "$TOOLS/home/ann"
cp -- bin/inner contrib/screenshot.sh "$claude" "$TOOLS"
for tool in play screenshot; do
	CGO_ENABLED=0 "${GO:-go}" build -buildvcs=false -trimpath -o "$TOOLS/$tool" "./contrib/$tool"
done
unshare --mount "$TOOLS/screenshot.sh" home
"$TOOLS/screenshot" <"$TOOLS/home/ann/session.cast" >docs/images/session.svg
