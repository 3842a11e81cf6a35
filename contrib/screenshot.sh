#!/bin/bash
# screenshot.sh: makes the picture in README.md, docs/images/session.svg: a real session
# with the real Claude Code, typed into a terminal (tmux) and drawn. Its model is
# contrib/screenshot/model.py, on loopback: the session needs no network and no account.
#
# For root, so that the session can be a plain user's with the home folder /home/ann: the
# picture shows no name and no path of the machine it was made on. Of the session, the lines
# that are named at the end are drawn.
set -eu
umask 022
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
port=8089

pane() { tmux -S ~/tmux "$@"; }
shown() { pane capture-pane -p -J -S -; }
# want TEXT: until the terminal shows it, for a minute.
want() {
	local end=$((SECONDS + 60))
	until shown | grep -q -e "$1"; do
		[ $SECONDS -lt $end ] || { shown && printf 'inner: never shown: %s\n' "$1" >&2 && exit 1; }
		sleep 0.1
	done
}
enter() { pane send-keys -l -- "$1" && pane send-keys Enter; }

if [ "${1-}" = typed ]; then # as the plain user
	mkdir -p -- ~/.local/bin ~/.ssh ~/.claude ~/src/calc
	cp -- "$TOOLS/inner" "$TOOLS/claude" ~/.local/bin
	(umask 077 && printf 'a key\n' >~/.ssh/id_ed25519)
	printf 'def add(a, b):\n    return a - b\n' >~/src/calc/calc.py
	printf 'import unittest\nfrom calc import add\n\n\nclass Test(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 2), 4)\n' >~/src/calc/test_calc.py
	printf '{"hasCompletedOnboarding":true,"theme":"dark"}' >~/.claude.json
	printf '{"claudeAiOauth":{"accessToken":"x","refreshToken":"x","expiresAt":4102444800000,"scopes":["user:inference"],"subscriptionType":"pro"}}' >~/.claude/.credentials.json
	cat >~/.bashrc <<'RC'
PS1='\[\e[1;34m\]\w\[\e[0m\] $ '
PATH=~/.local/bin:$PATH
eval "$(inner hook bash)"
RC
	printf 'set -g default-terminal tmux-256color\nset -ga terminal-overrides ",*:Tc"\nset -g status off\n' >~/.tmux.conf
	python3 "$TOOLS/model.py" $port &
	trap 'pane kill-server 2>/dev/null; kill %1' EXIT
	cd ~/src/calc
	ANTHROPIC_BASE_URL=http://127.0.0.1:$port pane -f ~/.tmux.conf new-session -d -x 96 -y 50 bash -i
	want 'calc.* [$] *$'
	enter 'inner init'
	want 'Enter: here\]'
	enter ''
	want 'Enter: 1\]'
	enter ''
	want 'Enter: nothing\]'
	enter ''
	want '\[Y/n\]'
	enter ''
	want '\[y/N\]'
	enter y
	want 'type: claude'
	enter 'claude "fix the failing test"'
	want 'out of my reach'
	enter '/exit'
	want 'refused.*paste\|paste.*refused'
	pane capture-pane -e -p -S - >~/session
	exit
fi

if [ "${1-}" = home ]; then # as root, in a mount namespace of its own
	mount --bind -- "$TOOLS/home" /home
	cd /home/ann
	exec setpriv --reuid=innertest --regid=innertest --init-groups --inh-caps=-all --ambient-caps=-all \
		env -i HOME=/home/ann USER=ann SHELL=/bin/bash PATH=/usr/local/bin:/usr/bin:/bin LANG=C.UTF-8 TERM=xterm-256color \
		COLORTERM=truecolor TOOLS="$TOOLS" "$TOOLS/screenshot.sh" typed
fi

cd "$repo"
claude=$(contrib/agents.sh path claude)
export TOOLS
TOOLS=$(mktemp -d /var/tmp/inner-screenshot.XXXXXX)
trap 'rm -rf -- "$TOOLS"' EXIT
chmod 0755 "$TOOLS"
mkdir "$TOOLS/home"
install -d -o innertest "$TOOLS/home/ann"
cp -- bin/inner contrib/screenshot.sh contrib/screenshot/model.py "$claude" "$TOOLS"
unshare --mount "$TOOLS/screenshot.sh" home
python3 contrib/screenshot/draw.py 'A recorded session' \
	'[$] inner init$' 'installed: claude' 'Enter: ' 'reach on the network' 'Y/n' \
	'^  can change files' '^Allow this' '[$] claude "fix' '^● (Bash|Fixed)' '└' \
	'^     (cp|curl):' '^inner: refused' <"$TOOLS/home/ann/session" >docs/images/session.svg
