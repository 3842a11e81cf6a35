# The repository of the attacks, made in the working folder, and what belongs to it beside that. One git makes all commits,
# always the same: a suite has a hundred of these fixtures.
# shellcheck shell=sh
set -e
git init -q -b main --template=
mkdir -p .git/info .git/hooks
git fast-import --quiet <<'END'
commit refs/heads/main
committer a <a@example.org> 1700000000 +0000
data 3
one
M 100644 inline a
data 4
one

commit refs/heads/main
committer a <a@example.org> 1700000000 +0000
data 3
two
M 100644 inline a
data 8
one
two

commit refs/heads/main
committer a <a@example.org> 1700000000 +0000
data 3
sub
M 160000 1111111111111111111111111111111111111111 gone

reset refs/tags/then
from refs/heads/main

reset refs/heads/was
from refs/heads/main

commit refs/heads/main
committer a <a@example.org> 1700000000 +0000
data 5
empty
D gone
M 160000 1111111111111111111111111111111111111111 empty

reset refs/remotes/origin/main
from refs/heads/main

END
git reset -q --hard
cp -a .git ../remote.git
cp -a .git ../trap.git
printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n' >../remote.git/config
printf '[remote "origin"]\n\turl = ../remote.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n' >>.git/config
