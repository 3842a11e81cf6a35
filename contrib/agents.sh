#!/bin/bash
# agents.sh install|cached|path|versions [AGENT...]: real agents from npm, each in
# a cache of its own, for the tests that show them in the box.
#
# install   puts each into the cache, once, and says so
# cached    succeeds when all of them are there
# path      prints the path of one agent's program, or nothing
# versions  prints what is there
#
# Agents: claude, gemini, codex, opencode; all of them when none is named. By its name
# alone, srt for make bench, nu: Nushell, for the tests of its hook, which distributions do not have, and
# node18, node22, node (the newest), for make reach. The cache is $XDG_CACHE_HOME/inner-test/AGENT; for root, the one of the plain user
# as whom root's tests run, and npm runs as that user as well: what a package does
# when it is installed is nobody's reason to be root. INNER_TEST_CLAUDE_VERSION
# (INNER_TEST_GEMINI_VERSION, …) asks for another version than npm's choice.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'inner: %s\n' "$*" >&2; }
usage() {
	printf 'usage: agents.sh install|cached|path|versions [claude|gemini|codex|opencode|nu ...]\n' >&2
	exit 2
}

if [ "$(id -u)" -eq 0 ]; then
	home=$(getent passwd innertest | cut -d: -f6) || home=/home/innertest
	caches=$home/.cache/inner-test
else
	caches=${XDG_CACHE_HOME:-$HOME/.cache}/inner-test
fi

# select AGENT: its package, its size for people, its folder and program.
select_agent() {
	agent=$1
	case $agent in
	claude) package=@anthropic-ai/claude-code size='250 MB' ;;
	gemini) package=@google/gemini-cli size='100 MB' ;;
	codex) package=@openai/codex size='400 MB' ;;
	opencode) package=opencode-ai size='350 MB' ;;
	srt) package=@anthropic-ai/sandbox-runtime size='10 MB' ;;
	nu) package=nushell size='50 MB' ;;
	node18 | node22) package=node@${agent#node} size='150 MB' ;;
	node) package=node size='200 MB' ;;
	*) usage ;;
	esac
	cache=$caches/$agent
	inside=node_modules/.bin/$agent
	[ "${package%%@*}" != node ] || inside=node_modules/node/bin/node
	program=$cache/$inside
	# There it is a script of node that starts the real one.
	if [ "$agent" = nu ]; then program=$(compgen -G "$cache/node_modules/@nushell/*/bin/nu" | head -n 1) || program=; fi
	local name=INNER_TEST_${agent^^}_VERSION
	spec=$package${!name:+@${!name}}
}

# VERSION is written last: with it the folder is whole.
is_cached() { [ -e "$cache/VERSION" ] && [ -x "$program" ]; }

# The caller's registry and proxies count; its tokens stay with it.
environment() {
	local registry name
	registry=$(npm config get registry --logs-max=0 2>/dev/null) || registry=
	as_user=("$PWD/contrib/as-plain-user.sh" env)
	[ -z "$registry" ] || as_user+=("npm_config_registry=$registry")
	# npm has certificates of its own; those of the system, to which a company adds
	# its own, count as well.
	if [ -z "${NODE_EXTRA_CA_CERTS-}" ] && [ -r /etc/ssl/certs/ca-certificates.crt ]; then
		NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
	fi
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_EXTRA_CA_CERTS; do
		[ -z "${!name-}" ] || as_user+=("$name=${!name}")
	done
}

# Everything happens in a new folder that then takes the old one's place.
install_agent() {
	say "installing: $spec from npm into $cache (about $size, once)"
	# From / because the checkout may be in a folder the plain user cannot enter.
	# shellcheck disable=SC2016 # the inner shell expands
	if ! (cd / && "${as_user[@]}" bash -c '
		set -eu
		umask 022
		cache=$1 spec=$2 inside=$3
		mkdir -p -- "${cache%/*}"
		new=$(mktemp -d -- "$cache.XXXXXX")
		trap "rm -rf -- \"\$new\"" EXIT
		chmod 0755 "$new"
		log=$new/npm.log
		npm install --prefix "$new" --no-audit --no-fund --no-update-notifier --loglevel=error "$spec" >"$log" 2>&1 </dev/null || {
			tail -n 30 -- "$log" >&2
			exit 1
		}
		mkdir -- "$new/home"
		HOME=$new/home "$new/$inside" --version >"$new/VERSION" 2>>"$log" </dev/null || {
			tail -n 30 -- "$log" >&2
			exit 1
		}
		rm -rf -- "$cache" "$new/home"
		mv -T -- "$new" "$cache"
	' bash "$cache" "$spec" "$inside"); then
		say "npm could not install $package; the test with the real program cannot run"
		printf 'inner: hint: all other tests: go test ./...\n' >&2
		exit 1
	fi
	say "installed: $agent $(cat -- "$cache/VERSION")"
}

[ $# -gt 0 ] || usage
action=$1
shift
[ $# -gt 0 ] || set -- claude gemini codex opencode
for each; do select_agent "$each"; done # all of them are known before anything happens

for each; do
	select_agent "$each"
	case $action in
	cached) is_cached ;;
	path) if is_cached; then printf '%s\n' "$program"; fi ;;
	versions) if is_cached; then printf '%s\t%s\n' "$agent" "$(cat -- "$cache/VERSION")"; fi ;;
	install)
		is_cached && continue
		[ -n "${as_user-}" ] || environment
		install_agent
		;;
	*) usage ;;
	esac
done
