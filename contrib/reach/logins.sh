#!/bin/bash
# shellcheck disable=SC2016 # sh expands
# logins.sh: in a box with [credentials], what clients that know nothing of it get. Called by user.sh.
# shellcheck source=contrib/reach/try.sh
. "$(dirname "${BASH_SOURCE[0]}")/try.sh"

ok='logged in at www'
bearer="Authorization: Bearer $LAB_TOKEN"
try curl "$ok" curl -sS -H "$bearer" https://www.reach.test/login
try 'curl, HTTP/1.1' "$ok" curl -sS --http1.1 -H "$bearer" https://www.reach.test/login
try wget "$ok" wget -qO- --header "$bearer" https://www.reach.test/login
fetch='fetch("https://www.reach.test/login", {headers: {Authorization: "Bearer " + process.env.LAB_TOKEN}}).then(r => r.text()).then(console.log)'
try 'node 22, fetch' "$ok" /tmp/node22/bin/node -e "$fetch"
try 'python, urllib' "$ok" python3 -c 'import os, urllib.request as u; print(u.urlopen(u.Request("https://www.reach.test/login", headers={"Authorization": "Bearer " + os.environ["LAB_TOKEN"]})).read().decode())'
try java "$ok" java "$R/Login.java"
try 'curl, a header' 'logged in at other' curl -sS -H "Private-Token: $HEADER_TOKEN" https://other.reach.test/login
try 'curl, basic' 'logged in at deb' curl -sS -u "me:$BASIC_TOKEN" https://deb.reach.test/login
try 'git push over https' 'pushed two' sh -c 'cd /tmp && git clone -q https://git.reach.test/private/hello.git hub && cd hub && echo two >two && git add two && git -c user.name=a -c user.email=a@b commit -qm two && git push -q origin HEAD:two && git ls-remote origin two | grep -q two && echo pushed two'
try gh 'logged in at api.github.com' gh api user
try 'gh, which makes no key' 'it makes another secret' sh -c 'gh api -X POST user/keys -f title=a -f key=b 2>&1; true'
# shellcheck disable=SC2016 # sh expands
publish='mkdir /tmp/world && cd /tmp/world && echo "{\"name\": \"$0\", \"version\": \"1.0.0\"}" >package.json && npm publish --access public; rm -r /tmp/world'
try 'npm publish' '\+ world@1.0.0' sh -c "$publish" world
try 'npm publish, in a scope' '\+ @me/world@1.0.0' sh -c "$publish" @me/world
# shellcheck disable=SC2016 # sh expands
try 'npm, which makes no token' 'it makes another secret' sh -c 'npm token create 2>&1; curl -sS -X POST -H "Authorization: Bearer $NPM_TOKEN" https://registry.npmjs.org/-/npm/v1/tokens'
try twine 'Uploading hello' sh -c 'cd /tmp && pip3 -q download hello --no-deps --index-url https://pypi.reach.test/simple && twine upload --non-interactive -u __token__ --repository-url https://pypi.reach.test/upload hello-1.0-py3-none-any.whl && echo done'
try '100 MB up' '104857600' sh -c 'head -c 104857600 /dev/zero | curl -sS -H "$0" -T - https://www.reach.test/upload' "$bearer"
try 'the same, chunked' '104857600' sh -c 'head -c 104857600 /dev/zero | curl -sS --http1.1 -H "$0" -T - https://www.reach.test/upload' "$bearer"
try 'Expect: 100-continue' '2000000' sh -c 'head -c 2000000 /dev/zero | curl -sS --http1.1 --expect100-timeout 50 -H "Expect: 100-continue" -H "$0" --data-binary @- https://www.reach.test/upload' "$bearer"
for version in --http1.1 --http2; do
	try "20 MB up, answered after the first, $version" '^413' sh -c 'head -c 20000000 /dev/zero >/tmp/big; curl -sS -m 20 "$1" -o /dev/null -w "%{http_code}\n" -H "$0" -T /tmp/big https://www.reach.test/full' "$bearer" $version
done
# The first event is there before the second is made.
try 'server-sent events' 'data: 0 at HTTP/2.0' sh -c 'curl -sSN --max-time 20 -H "$0" https://www.reach.test/private/events | { read -r first && echo "$first"; cat >/dev/null; }' "$bearer"
try 'a websocket' 'echo hello' python3 -c '
import asyncio, os, websockets
async def talk():
    async with websockets.connect("wss://www.reach.test/private/socket", extra_headers={"Authorization": "Bearer " + os.environ["LAB_TOKEN"]}) as socket:
        await socket.send("hello")
        print("echo", await socket.recv())
asyncio.run(talk())'
ulimit -n "$(ulimit -Hn)"
for version in 1 2; do
	try "1,000 event streams at once, HTTP/$version" '1000 streams, 1000 at once' "$R/peer" streams https://www.reach.test/private/events 1000 $version
done
try 'a path that allow does not name' 'is refused: the profile' curl -sS -u "me:$BASIC_TOKEN" https://deb.reach.test/here
try 'a host that is no credential gets the placeholder' '^no login' curl -sS -H "$bearer" https://crates.reach.test/login
try 'a host of another credential gets it, too' '^no login' curl -sS -H "$bearer" https://other.reach.test/login
try 'so does one in the clear' '^no login' curl -sS -H "$bearer" http://www.reach.test/login
try 'a request that is signed' '^no login' curl -sS --aws-sigv4 aws:amz:region:s3 -u id:key https://www.reach.test/login
try 'another place' '^no login' curl -sS -H "X-Other: $LAB_TOKEN" https://www.reach.test/login
try 'the file of a value is not there' 'hidden|No such file|denied' sh -c 'cat ~/token 2>&1; true'
exit $((failures > 0))
