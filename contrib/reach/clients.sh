#!/bin/bash
# clients.sh [bare [unlisted]]: in a box, each client of the list asks its server. One line for each, "ok" or "FAILED" with
# what was seen. `bare`: without a variable that names a proxy; `unlisted`: where no address is
# listed. $R has the fixtures and the programs that were built for this.
set -u
if [ "${1-}" = bare ]; then
	unset HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy all_proxy no_proxy NODE_USE_ENV_PROXY JAVA_TOOL_OPTIONS
fi
cd "$(mktemp -d)" || exit 1
# shellcheck source=contrib/reach/try.sh
. "$R/try.sh"
unlisted=${2-}
hello='hello from www\.reach\.test'

try curl "$hello" curl -sS --fail http://www.reach.test/here
try 'curl, https' "$hello HTTP/2" curl -sS --fail https://www.reach.test/here
try 'curl -4' "$hello" curl -4 -sS --fail https://www.reach.test/here
try 'curl, a server with IPv6 alone' 'hello from v6' curl -sS --fail https://v6.reach.test/here
try 'curl, a name of a pattern' 'hello from a\.wild' curl -sS --fail https://a.wild.reach.test/here
[ -n "$unlisted" ] || try 'curl, a listed address' 'hello from 192' curl -sS --fail https://192.175.48.7/here
# The proxy is at an address of IPv4.
try 'curl -6' "$hello" curl -6 --noproxy '*' -sS --fail https://www.reach.test/here
for scheme in http https; do
	try "curl, 100 MB up by $scheme" "$hello HTTP/[012.]* 104857600 <nil>" sh -c "head -c 100M /dev/zero | curl -sS --fail -T - $scheme://www.reach.test/here"
done
try 'curl, Expect: 100-continue' '2000000 <nil>' sh -c 'head -c 2000000 /dev/zero | curl -sS --fail -H "Expect: 100-continue" --data-binary @- http://www.reach.test/here'
try wget "$hello" wget -q -O - https://www.reach.test/here

for version in node18 node22 node; do
	wanted='resolve4: [1-9]'
	[ $version = node18 ] || wanted='WebSocket: echo'
	try "$version" "$wanted" "/tmp/$version/bin/node" "$R/client.mjs"
done
for part in urllib:hello halves:'welcome echo goodbye' asyncio:welcome grpc:'hello you 0 x 1 x 2 x' websocket:echo; do
	try "python, ${part%%:*}" "${part#*:}" python3 "$R/client.py" "${part%%:*}"
done
try java 'Socket: welcome' java -Djavax.net.ssl.trustStore="$R/cacerts" -Djavax.net.ssl.trustStorePassword=changeit "$R/Client.java"

try psql '^ *42' psql 'host=db.reach.test user=app dbname=postgres sslmode=verify-full sslrootcert=/etc/ssl/certs/ca-certificates.crt' -Atc 'select 42'
try pg_isready 'accepting connections' pg_isready -h db.reach.test
try redis-cli PONG redis-cli -h cache.reach.test ping
try mariadb '^42' mariadb -h sql.reach.test -u app -psecret -Nse 'select 42'

ssh=(ssh -F none -i "$R/login" -o UserKnownHostsFile="$R/known_hosts" -o BatchMode=yes)
try ssh 'over ssh' "${ssh[@]}" git.reach.test echo over ssh
try 'git over ssh' 'from the repository' env GIT_SSH_COMMAND="${ssh[*]}" sh -c "git clone -q ssh://git.reach.test$REPOSITORY by-ssh && cat by-ssh/file"
try 'git over https' 'from the repository' sh -c 'git clone -q https://git.reach.test/git/hello.git by-https && cat by-https/file'

try npm '"version": "1.0.0"' sh -c 'mkdir npm && cd npm && npm install --no-audit --no-fund --loglevel=error --registry=https://npm.reach.test/ hello && cat node_modules/hello/package.json'
try pip 'hello-1.0-py3' sh -c 'pip3 download -q --no-deps --disable-pip-version-check --index-url https://pypi.reach.test/simple -d pip hello && ls pip'
try go 'example.test/hello v1.0.0' sh -c 'mkdir go && cd go && printf "module m\nrequire example.test/hello v1.0.0\n" >go.mod && GOFLAGS=-mod=mod GOTOOLCHAIN=local GOSUMDB=off GOPROXY=https://goproxy.reach.test go mod download && go list -m all'
cargo='mkdir -p crate/.cargo crate/src && cd crate && touch src/lib.rs && printf "[package]\nname = \"m\"\nversion = \"0.1.0\"\n[dependencies]\nhello = \"1\"\n" >Cargo.toml &&
printf "[source.crates-io]\nreplace-with = \"reach\"\n[source.reach]\nregistry = \"sparse+https://crates.reach.test/\"\n" >.cargo/config.toml'
try cargo 'hello v1.0.0' sh -c "$cargo && cargo fetch && cargo tree"
# shellcheck disable=SC2016 # sh expands
apt='mkdir -p apt/lists/partial apt/cache/archives/partial && cd apt && touch status && echo "deb [trusted=yes] http://deb.reach.test/ ./" >sources &&
set -- -o Dir::State=. -o Dir::State::status=status -o Dir::Cache=cache -o Dir::Etc=. -o Dir::Etc::sourcelist=$PWD/sources -o Dir::Etc::sourceparts=- -o APT::Sandbox::User= -o Debug::NoLocking=1'
try apt 'hello-reach_1.0_all.deb' sh -c "$apt && apt-get -q \"\$@\" update && apt-get -q \"\$@\" download hello-reach && ls"

try 'getaddrinfo of glibc' reached "$R/lookup-glibc" raw.reach.test 7000
try 'getaddrinfo of musl, static' reached "$R/lookup-musl" raw.reach.test 7000
try 'static Go' "$hello" "$R/peer" get https://www.reach.test/here

# Servers of the box itself, at a port that no name has, and at one that some name has.
for port in 8000 5432; do
	python3 -m http.server --bind 127.0.0.1 $port >/dev/null 2>&1 &
	try "the box's own server at port $port" 'Directory listing' curl -sS --noproxy '*' --retry 20 --retry-connrefused --retry-delay 1 "http://127.0.0.1:$port/"
	kill $!
done
# Each is a descriptor in the client, and two in what stands between: as many of ten thousand as the hard limit has.
ulimit -n "$(ulimit -Hn)"
many=$((($(ulimit -n) - 2000) / 2))
[ $many -lt 10000 ] || many=10000
try "$many connections at once" echoed "$R/peer" many raw.reach.test:7000 $many
exit $((failures > 0))
