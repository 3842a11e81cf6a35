#!/bin/bash
# claude.sh install|cached|path: Claude Code from npm, in a cache, for the tests.
#
# install  puts @anthropic-ai/claude-code into the cache, once, and says so
# cached   succeeds when it is there
# path     prints the program's path, or nothing
#
# The cache is $XDG_CACHE_HOME/inner-test/claude; for root, the one of the plain
# user as whom root's tests run, and npm runs as that user as well: what a package
# does when it is installed is nobody's reason to be root. INNER_TEST_CLAUDE_VERSION
# asks for another version than npm's choice.
set -eu
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=@anthropic-ai/claude-code
if [ "$(id -u)" -eq 0 ]; then
	home=$(getent passwd innertest | cut -d: -f6) || home=/home/innertest
	cache=$home/.cache/inner-test/claude
else
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/inner-test/claude
fi
program=$cache/node_modules/.bin/claude

# VERSION is written last: with it the folder is whole.
cached() { [ -e "$cache/VERSION" ] && [ -x "$program" ]; }

case ${1-} in
cached) cached ;;
path) if cached; then printf '%s\n' "$program"; fi ;;
install)
	if cached; then exit 0; fi
	version=${INNER_TEST_CLAUDE_VERSION:+@$INNER_TEST_CLAUDE_VERSION}
	printf 'inner: installing: %s from npm into %s (about 250 MB, once)\n' "$package$version" "$cache" >&2
	registry=$(npm config get registry --logs-max=0 2>/dev/null) || registry=
	# The caller's registry and proxies count; its tokens stay with it.
	set -- "$PWD/contrib/as-plain-user.sh" env
	cd / # the checkout may be in a folder the plain user cannot enter
	[ -z "$registry" ] || set -- "$@" "npm_config_registry=$registry"
	# npm has certificates of its own; those of the system, to which a company adds
	# its own, count as well.
	if [ -z "${NODE_EXTRA_CA_CERTS-}" ] && [ -r /etc/ssl/certs/ca-certificates.crt ]; then
		NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
	fi
	for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY NODE_EXTRA_CA_CERTS; do
		[ -z "${!name-}" ] || set -- "$@" "$name=${!name}"
	done
	# Everything happens in a new folder that then takes the old one's place.
	# shellcheck disable=SC2016 # the inner shell expands
	if ! "$@" bash -c '
		set -eu
		umask 022
		cache=$1 spec=$2
		mkdir -p -- "${cache%/*}"
		new=$(mktemp -d -- "$cache.XXXXXX")
		trap "rm -rf -- \"\$new\"" EXIT
		chmod 0755 "$new"
		log=$new/npm.log
		npm install --prefix "$new" --no-audit --no-fund --no-update-notifier --loglevel=error "$spec" >"$log" 2>&1 </dev/null || {
			tail -n 30 -- "$log" >&2
			exit 1
		}
		HOME=$new "$new/node_modules/.bin/claude" --version >"$new/VERSION" 2>>"$log" </dev/null || {
			tail -n 30 -- "$log" >&2
			exit 1
		}
		rm -rf -- "$cache"
		mv -T -- "$new" "$cache"
	' bash "$cache" "$package$version"; then
		printf 'inner: npm could not install %s; the test with the real program cannot run\n' "$package" >&2
		printf 'inner: hint: all other tests: go test ./...\n' >&2
		exit 1
	fi
	printf 'inner: installed: Claude Code %s\n' "$(cat -- "$cache/VERSION")" >&2
	;;
*)
	printf 'usage: claude.sh install|cached|path\n' >&2
	exit 2
	;;
esac
