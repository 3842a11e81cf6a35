#!/bin/bash
# user.sh [names|full|logins|keys|agents|figures] ...: as a plain user, the boxes of `make reach`. Called by inside.sh.
set -u
S=${INNER_TEST_REACH:?set by inside.sh}
export PATH=$S/bin:$PATH
failures=0
mkdir "$HOME/app"
cd "$HOME/app" || exit 1
inner init >/dev/null 2>&1
hosts='"www.reach.test", "v6.reach.test", "*.wild.reach.test", "192.175.48.7", "npm.reach.test", "pypi.reach.test", "goproxy.reach.test", "crates.reach.test", "deb.reach.test", "git.reach.test",
	"git.reach.test:22", "db.reach.test:5432", "cache.reach.test:6379", "sql.reach.test:3306", "raw.reach.test:7000", "big.reach.test:7001", "grpc.reach.test:50051", "down.reach.test:5433", "gone.reach.test:7000",
	"private.reach.test", "loopback.reach.test:8765", "!no.wild.reach.test"'
# profile NAME LINE: a box with this line for its network.
profile() {
	cat >"$HOME/.inner/profiles/$1.toml" <<-END
		schema_version = "1"
		[sandbox]
		$2
		home = "isolated"
		[mounts]
		"$S/box" = "ro"
		"$(readlink -f "$S/bin/node18")" = { dest = "/tmp/node18" }
		"$(readlink -f "$S/bin/node22")" = { dest = "/tmp/node22" }
		"$(readlink -f "$S/bin/node")" = { dest = "/tmp/node" }
		"$(readlink -f "$S/bin/go")" = { dest = "/tmp/go" }
		[env]
		inherit = ["LANG"]
		set = { PATH = "/usr/local/bin:/usr/bin:/bin:/tmp/go/bin", R = "$S/box", REPOSITORY = "$S/git/hello.git", NODE_EXTRA_CA_CERTS = "$S/box/ca.crt", npm_config_cafile = "$S/box/ca.crt", PIP_CERT = "$S/box/ca.crt", PGPASSWORD = "secret" }
		[entrypoint]
		cmd = "bash"
		interactive = false
	END
}
profile full 'network = true'
profile names "network_mode = \"allowlist\"
network_allow = [$hosts]"
profile learn 'network_mode = "ask"
network_allow = ["www.reach.test"]'
profile live 'network_mode = "allowlist"
network_allow = ["www.reach.test"]'
profile off 'network = false'
profile keys 'network_mode = "allowlist"
network_allow = ["git.reach.test:2223"]'
printf '[credentials]\nssh = ["git.reach.test", "git.reach.test:2222"]\n' >>"$HOME/.inner/profiles/keys.toml"
profile logins "network_mode = \"allowlist\"
network_allow = [$hosts]"

cat >>"$HOME/.inner/profiles/logins.toml" <<END
[credentials]
lab = { hosts = ["www.reach.test"], from = "env:LAB_TOKEN" }
header = { hosts = ["other.reach.test"], header = "Private-Token", from = "env:LAB_TOKEN", env = "HEADER_TOKEN" }
basic = { hosts = ["deb.reach.test"], basic = "me", from = "file:~/token", env = "BASIC_TOKEN", allow = ["GET /login"] }
npm = true
pypi = { hosts = ["pypi.reach.test"], basic = "__token__", from = "file:~/pypirc#pypi.password", env = "TWINE_PASSWORD" }
github = true
hub = { hosts = ["git.reach.test"], basic = "me", from = "cmd:cat $HOME/token", env = "HUB_TOKEN" }
END
profile later 'network_mode = "allowlist"'
printf '[credentials]\nlab = { hosts = ["www.reach.test"], from = "env:LAB_TOKEN" }\n' >>"$HOME/.inner/profiles/later.toml"
sed -i 's/NODE_EXTRA_CA_CERTS = [^,]*, npm_config_cafile = [^,]*, PIP_CERT = [^,]*, //' "$HOME/.inner/profiles/l"{ogins,ater}.toml

# box PROFILE SCRIPT [ARG...]: what it prints is in $seen, and is shown.
box() {
	seen=$(inner run -p "$1" -- "$S/box/$2" "${@:3}" 2>&1) || failures=1
	printf '%s\n' "$seen"
}
# also NAME PATTERN: in what the last box printed, inner's own lines included.
also() {
	if grep -qE -e "$2" <<<"$seen"; then printf 'ok      %s\n' "$1"; else
		printf 'FAILED  %s\n' "$1"
		failures=1
	fi
}

# figures measures; boxes of all kinds take turns.
figures() {
	printf '\n# figures: MB/s of a connection, ms to the first byte of one by name, requests/s by http and by https\n'
	box full figures.sh direct
	box names figures.sh names
	export LAB_TOKEN=$INNER_TEST_REACH_TOKEN
	printf '%s\n' "$LAB_TOKEN" >"$HOME/token"
	box logins figures.sh 'a login is put in'
	printf '\n# figures: ms of a start, median and shortest tenth of 100, and of the processors, each mean of 25 in turn, the least of four\n'
	local kinds='off names full logins' kind program name begin TIMEFORMAT='%3U %3S'
	[ ! -x "$S/bin/old" ] || kinds+=' old'
	for _ in {1..4}; do
		for kind in $kinds; do
			program=inner name=$kind
			[ "$kind" != old ] || program=old name=names
			{
				time for _ in {1..25}; do
					begin=${EPOCHREALTIME/./}
					"$program" run -p "$name" -- -c :
					printf '%s\n' $((${EPOCHREALTIME/./} - begin)) >>"$HOME/$kind"
				done
			} 2>>"$HOME/$kind.cpu"
		done
	done
	for kind in $kinds; do
		printf '%s\t' "$kind"
		sort -n "$HOME/$kind" | awk 'NR == 10 { least = $1 } NR == 50 { printf "%.2f\t%.2f\t", $1 / 1000, least / 1000 }'
		awk '{ print ($1 + $2) * 40 }' "$HOME/$kind.cpu" | sort -n | head -n 1
	done
}

for each; do
	if [ "$each" = figures ]; then
		figures
		continue
	fi
	if [ "$each" = agents ]; then
		# shellcheck source=contrib/reach/agents.sh
		. "$S/reach/agents.sh"
		continue
	fi
	if [ "$each" = keys ]; then
		printf '\n# keys of an agent that the box cannot read\n'
		eval "$(ssh-agent)" >/dev/null
		key=$(sed -n 3p "$S/run/mine")
		ssh-add -q "$S/run/mine"
		rm "$S/run/mine"
		mkdir -m 700 "$HOME/.ssh"
		for port in 22 2222 2223; do printf '[git.reach.test]:%s %s\n' $port "$(cat "$S/hostkey$port.pub")" | sed 's/\[\(.*\)\]:22 /\1 /'; done >"$HOME/.ssh/known_hosts"
		ssh-keygen -H -f "$HOME/.ssh/known_hosts" >/dev/null 2>&1
		box keys keys.sh
		also 'the other host is told' '^inner: credential ssh, another host: its key is not one'
		also 'forwarding is told' '^inner: credential ssh, git.reach.test:22: the agent is not forwarded'
		# shellcheck disable=SC2016 # the box expands
		seen=$(inner run -p keys -- -c 'env; cat /proc/*/environ; cat $(find / -xdev -type f -size -64k 2>/dev/null)' 2>/dev/null | tr '\0' '\n')
		grep -aqF "$key" <<<"$seen" && seen='' # in the place of the variable
		also 'the key is not in the box' '^SSH_AUTH_SOCK=/run/inner/ssh-agent$'
		ssh-agent -k >/dev/null
		continue
	fi
	if [ "$each" = logins ]; then
		printf '\n# logins that the box cannot read\n'
		export LAB_TOKEN=$INNER_TEST_REACH_TOKEN GH_TOKEN=$INNER_TEST_REACH_TOKEN
		printf '%s\n' "$LAB_TOKEN" >"$HOME/token"
		printf '//registry.npmjs.org/:_authToken=%s\n' "$LAB_TOKEN" >"$HOME/.npmrc"
		printf '[pypi]\nusername = __token__\npassword = %s\n' "$LAB_TOKEN" >"$HOME/pypirc"
		box logins logins.sh
		also 'a refused request is told' '^inner: credential basic, deb.reach.test/here: the profile'
		also 'with what to type' '^inner: hint: inner why credential:basic -p logins$'
		also 'a placeholder at another host is told' '^inner: credential lab, other.reach.test: it is none of its hosts'
		also 'a placeholder in the clear is told' '^inner: credential lab, www.reach.test:80: it got the placeholder, in the clear'
		also 'a signed request is told' '^inner: www.reach.test: the request is signed with a key \(AWS\).*AWS_BEARER_TOKEN_BEDROCK'
		# shellcheck disable=SC2016 # the box expands
		seen=$(inner run -p logins -- -c 'env; cat /proc/*/environ; cat /proc/*/cmdline; cat $(find / -xdev -type f -size -64k 2>/dev/null)' 2>/dev/null | tr '\0' '\n')
		if ! grep -aq ^HUB_TOKEN=glpat- <<<"$seen" || grep -aqF "$LAB_TOKEN" <<<"$seen"; then
			printf 'FAILED  the value is in the box\n'
			failures=1
		else
			printf 'ok      the value is not in the box: its files, environments and command lines\n'
		fi
		# shellcheck disable=SC2016 # the box expands
		inner run -p later --timeout 60 -- -c 'until [ -s given ]; do sleep 0.2; done; curl -sS -H "Authorization: Bearer $(cat given)" https://registry.npmjs.org/login' >"$HOME/later" 2>&1 &
		until inner ps 2>/dev/null | grep -q later; do sleep 0.1; done
		seen=$(inner allow --yes credential:npm --for-this-run -p later 2>&1)
		also 'a box that runs gets a login' 'has it now: credential:npm'
		sed -n 's/.*others set it to //p' <<<"$seen" >given
		wait $!
		seen=$(cat "$HOME/later")
		also 'it is put in there' 'logged in at registry.npmjs.org'
		continue
	fi
	printf '\n# %s: clients that know no proxy\n' "$each"
	box "$each" clients.sh bare
	[ "$each" = names ] || continue
	printf '\n# %s: clients with the variables that inner sets\n' "$each"
	box "$each" clients.sh
	printf '\n# %s: what is refused\n' "$each"
	box "$each" refused.sh
	also 'the name that is not listed is told' '^inner: refused: other.reach.test'
	also 'the private address is told' '^inner: refused: private.reach.test'
	seen=$(grep -c "refused: $(hostname) " <<<"$seen")
	also "the machine's own name is not told" '^0$'

	printf '\n# names: clients in a box that learns, and then in one with the list that was learned\n'
	seen=$(inner learn -p learn -- "$S/box/clients.sh" bare unlisted 2>&1 </dev/null)
	grep -E '^(ok|FAILED|  )' <<<"$seen" | sed '/^  "/d'
	also 'all of them work' 'echoed$'
	! grep -q ^FAILED <<<"$seen" || failures=1
	profile learned "network_mode = \"allowlist\"
$(awk '/^network_allow = \[/, /\]$/' <<<"$seen" | sed 's/\[$/["www.reach.test",/')"
	box learned clients.sh bare unlisted

	printf '\n# names: granted while it runs\n'
	inner run -p live --timeout 60 -- -c 'until redis-cli -h cache.reach.test ping; do sleep 0.2; done' >"$HOME/granted" 2>&1 &
	until inner ps | grep -q live; do sleep 0.1; done
	inner allow --yes host:cache.reach.test:6379 --for-this-run -p live 2>&1
	wait $!
	seen=$(cat -- "$HOME/granted")
	also 'redis-cli is refused a name before' '^inner: refused: cache.reach.test'
	also 'redis-cli, with the grant' '^PONG$'
done
exit $failures
