#!/bin/bash
# reach.sh [names|full|logins|keys|agents|figures] ...: real programs in boxes, and real servers that they know by name.
#
# names: the network of the boxes is a list of hosts. full: it is the whole network, which shows what these checks are worth
# without it. logins: boxes use logins that they cannot read; keys: those of an ssh agent. agents: real Claude Code, Codex and Gemini CLI do. Each check prints a line, "ok" or "FAILED" and what was seen; the exit code is 1
# when one failed. figures measures; OLD names another binary, whose starts with a list of hosts are measured beside.
#
# Everything is in namespaces of its own: a network for the boxes, one for the servers, at addresses that inner takes for
# public, and mounts over /etc/hosts and the system's authorities. With the last process they are gone. Needs root for that;
# servers and boxes are a plain user's. make reach has run setup.sh and built bin before.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ "$(id -u)" -eq 0 ] || {
	printf 'inner: make reach needs root: it makes networks\n' >&2
	exit 1
}
[ $# -gt 0 ] || set -- names logins keys agents
PATH=$PATH:/usr/sbin:/sbin
# A connection is a descriptor in the server, and two in what stands between.
ulimit -n 65536 2>/dev/null || ulimit -n "$(ulimit -Hn)"

stage=$(mktemp -d /var/tmp/inner-reach.XXXXXX)
trap 'rm -rf -- "$stage"' EXIT
chmod 0755 "$stage"
mkdir "$stage/bin" "$stage/logs"
cp -r contrib/reach contrib/as-plain-user.sh "$stage"
cp -P bin/inner bin/inner-* "$stage/bin"
[ -z "${OLD-}" ] || cp -- "$OLD" "$stage/bin/old"
CGO_ENABLED=0 "${GO:-go}" build -buildvcs=false -trimpath -o "$stage/bin" ./contrib/reach/peer ./contrib/fleet/world
gcc -o "$stage/bin/lookup-glibc" contrib/reach/lookup.c
musl-gcc -static -o "$stage/bin/lookup-musl" contrib/reach/lookup.c
contrib/reach/fixtures.sh "$stage"
for agent in claude codex gemini; do ln -s "$(contrib/agents.sh path $agent)" "$stage/bin/$agent"; done
for node in node18 node22 node; do ln -s "$(contrib/agents.sh path $node | sed 's|/bin/node$||')" "$stage/bin/$node"; done
ln -s "$("${GO:-go}" env GOROOT)" "$stage/bin/go"
export REACH_STAGE=$stage

setpriv --pdeathsig KILL unshare --mount --net --pid --uts --ipc --fork --kill-child --mount-proc --propagation private \
	"$stage/reach/inside.sh" "$@" </dev/null
