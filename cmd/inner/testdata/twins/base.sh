# shellcheck shell=bash
# base.sh: the repository that every story begins with, and words for its setup lines.
set -e
# commit MESSAGE: everything there is.
commit() { git add -A -f . ':!.inner' && git commit -qm "$1"; }
# remote: a bare repository in the home, with both branches; main follows its own.
remote() {
	git init -q --bare "$HOME/remote/app.git"
	git remote add origin "$HOME/remote/app.git"
	git push -q -u origin main topic 2>/dev/null >&2
}
# theirs BRANCH FILE: somebody else's commit, pushed to the remote.
theirs() {
	git clone -q -b "$1" "$HOME/remote/app.git" "$HOME/other"
	(cd "$HOME/other" && echo theirs >>"$2" && git add "$2" && git commit -qm "theirs in $2" && git push -q)
	rm -rf "$HOME/other"
}
# library: a repository to be a submodule, in the home.
library() {
	git init -q "$HOME/remote/lib"
	(cd "$HOME/remote/lib" && echo lib >lib.txt && commit 'lib first' && echo more >>lib.txt && commit 'lib second')
}
git init -q
for file in a b c d; do seq 1 9 >$file.txt; done
mkdir dir
echo x >dir/x.txt
printf '*.log\n' >.gitignore
commit first
git switch -qc topic
echo t >t.txt
git rm -q d.txt
commit topic
git switch -q main
echo second >>c.txt
commit second
