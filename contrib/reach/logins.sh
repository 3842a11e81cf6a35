#!/bin/bash
# logins.sh: in a box with [credentials], what clients that know nothing of it get. Called by user.sh.
# shellcheck source=contrib/reach/try.sh
. "$(dirname "${BASH_SOURCE[0]}")/try.sh"

ok='^logged in at www'
bearer="Authorization: Bearer $LAB_TOKEN"
try curl "$ok" curl -sS -H "$bearer" https://www.reach.test/login
try 'curl, HTTP/1.1' "$ok" curl -sS --http1.1 -H "$bearer" https://www.reach.test/login
try wget "$ok" wget -qO- --header "$bearer" https://www.reach.test/login
fetch='fetch("https://www.reach.test/login", {headers: {Authorization: "Bearer " + process.env.LAB_TOKEN}}).then(r => r.text()).then(console.log)'
try 'node 22, fetch' "$ok" /tmp/node22/bin/node -e "$fetch"
try 'python, urllib' "$ok" python3 -c 'import os, urllib.request as u; print(u.urlopen(u.Request("https://www.reach.test/login", headers={"Authorization": "Bearer " + os.environ["LAB_TOKEN"]})).read().decode())'
try 'curl, a header' '^logged in at other' curl -sS -H "Private-Token: $HEADER_TOKEN" https://other.reach.test/login
try 'curl, basic' '^logged in at npm' curl -sS -u "me:$BASIC_TOKEN" https://npm.reach.test/login
try 'git push over https' 'pushed two' sh -c 'cd /tmp && git clone -q https://git.reach.test/private/hello.git hub && cd hub && echo two >two && git add two && git -c user.name=a -c user.email=a@b commit -qm two && git push -q origin HEAD:two && git ls-remote origin two | grep -q two && echo pushed two'
try 'a path that allow does not name' 'is refused: the profile' curl -sS -u "me:$BASIC_TOKEN" https://npm.reach.test/here
try 'a host that is no credential gets the placeholder' '^no login' curl -sS -H "$bearer" https://pypi.reach.test/login
try 'another place' '^no login' curl -sS -H "X-Other: $LAB_TOKEN" https://www.reach.test/login
try 'the file of a value is not there' 'hidden|No such file|denied' sh -c 'cat ~/token 2>&1; true'
exit $((failures > 0))
