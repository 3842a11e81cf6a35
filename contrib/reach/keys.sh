#!/bin/bash
# shellcheck disable=SC2016 # sh expands
# keys.sh: in a box with [credentials] ssh, what ssh does with keys of an agent outside. Called by user.sh.
# shellcheck source=contrib/reach/try.sh
. "$(dirname "${BASH_SOURCE[0]}")/try.sh"

try ssh 'over ssh' ssh git.reach.test echo over ssh
try 'git push over ssh' 'pushed three' sh -c 'cd /tmp && git clone -q "ssh://git.reach.test$REPOSITORY" by-ssh && cd by-ssh && echo 3 >three && git add three && git -c user.name=a -c user.email=a@b commit -qm three && git push -q origin HEAD:three && git ls-remote origin three | grep -q three && echo pushed three'
try 'over a jump' 'jumped' ssh -J git.reach.test -p 2222 git.reach.test echo jumped
try 'another host' 'Permission denied' sh -c 'ssh -o BatchMode=yes -o StrictHostKeyChecking=no -p 2223 git.reach.test true 2>&1; true'
try 'a host to which the agent is forwarded' 'no identities' sh -c 'ssh -A git.reach.test ssh-add -l; true'
try 'no host' 'no identities' sh -c 'ssh-add -L; true'
exit $((failures > 0))
