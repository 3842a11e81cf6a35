package git

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostile are things that a box does to its own git directory, $G, to reach the host. After the
// exchange nothing of the host has changed but what a case says, and the host's repository is whole.
var hostile = []struct {
	name   string
	script string // run inside, in the work tree; $G is its git directory
	want   string // in what is reported, "" for anything
}{
	{"head-link", "ln -sf $HOME/.bashrc $G/HEAD", ""},
	{"head-fifo", "rm $G/HEAD; mkfifo $G/HEAD", ""},
	{"head-hooks", "printf 'ref: refs/heads/../../hooks/x\\n' >$G/HEAD", "names no branch"},
	{"head-outside-heads", "printf 'ref: refs/tags/x\\n' >$G/HEAD", "names no branch"},
	{"head-control", "printf 'ref: refs/heads/a\\033[2Jb\\n' >$G/HEAD", "names no branch"},
	{"head-giant", "truncate -s 1T $G/HEAD", ""},
	{"refs-link", "rm -r $G/refs; ln -s $HOME $G/refs", "error"},
	{"heads-link", "rm -rf $G/refs/heads; ln -s $HOME $G/refs/heads", ""},
	{"ref-link", "ln -s $HOME/.bashrc $G/refs/heads/x", "is a link"},
	{"ref-fifo", "mkfifo $G/refs/heads/x", "plain file"},
	{"ref-text", "echo hello >$G/refs/heads/x", "does not name an object"},
	{"ref-giant", "truncate -s 1T $G/refs/heads/x", "plain file"},
	{"ref-lock", "cp $G/refs/heads/main $G/refs/heads/x.LOCK", "ends like a lock"},
	{"ref-dotdot", "echo $(git rev-parse HEAD) refs/heads/../../hooks/post-commit >>$G/packed-refs", "range"},
	{"ref-absolute", "echo $(git rev-parse HEAD) /etc/passwd >>$G/packed-refs", "below refs/"},
	{"ref-newline-name", "cp $G/refs/heads/main $G/refs/heads/$'a\\nb'", "refuses"},
	{"ref-shell", "cp $G/refs/heads/main \"$G/refs/heads/\\$(id)\"", "shells"},
	{"ref-bidi", "cp $G/refs/heads/main $G/refs/heads/$(printf 'a\\342\\200\\256b')", "invisible"},
	{"ref-case-twin", "cp $G/refs/heads/main $G/refs/heads/MAIN", "by case only"},
	{"ref-head", "cp $G/refs/heads/main $G/refs/heads/HEAD", "called like a HEAD"},
	{"ref-dash", "cp $G/refs/heads/main $G/refs/heads/--upload-pack=x", "dash"},
	{"ref-replace", "echo x >>a; git commit -qam evil; mkdir $G/refs/replace; cp $G/refs/heads/main $G/refs/replace/$(git rev-parse HEAD~)", "meaning of its own"},
	{"ref-inner", "mkdir -p $G/refs/inner/r1; cp $G/refs/heads/main $G/refs/inner/r1/x", "meaning of its own"},
	{"ref-missing-object", "echo 1234567890123456789012345678901234567890 >$G/refs/heads/x", "refused"},
	{"ref-symbolic", "git symbolic-ref refs/heads/x refs/heads/main", "symbolic"},
	{"remote-head-elsewhere", "git symbolic-ref refs/remotes/o/HEAD refs/heads/main", "the symbolic ref refs/remotes/o/HEAD"},
	{"remote-head-nowhere", "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main", "the symbolic ref refs/remotes/o/HEAD"},
	{"remote-head-dotdot", "mkdir -p $G/refs/remotes/o; echo 'ref: refs/remotes/o/../../../hooks/x' >$G/refs/remotes/o/HEAD", "the symbolic ref refs/remotes/o/HEAD"},
	{"remote-head-case", "mkdir -p $G/refs/remotes/$'o\\n'; echo 'ref: refs/remotes/o/main' >$G/refs/remotes/$'o\\n'/HEAD", "the symbolic ref"},
	{"ref-long", "for i in $(seq 250); do printf 'xxx/'; done >n; echo $(git rev-parse HEAD) refs/heads/$(cat n)y >>$G/packed-refs; git branch other", "is too long"},
	{"branch-is-tree", "git rev-parse HEAD^{tree} >$G/refs/heads/x", ""},
	{"packed-garbage", "echo garbage >$G/packed-refs", "error"},
	{"packed-fifo", "rm -f $G/packed-refs; mkfifo $G/packed-refs", "error"},
	{"packed-giant", "truncate -s 1T $G/packed-refs", "error"},
	{"index-link", "ln -sf $HOME/.bashrc $G/index", ""},
	{"index-giant", "truncate -s 1T $G/index", "index"},
	{"index-fifo", "rm $G/index; mkfifo $G/index", "index"},
	{"index-garbage", "echo DIRC >$G/index", "index"},
	{"index-gitlink", "mkdir sub; cd sub; git init -q; git commit -q --allow-empty -m x; cd ..; git add sub 2>/dev/null", "which git outside would enter"},
	{"index-dotgit", "printf '100644 %s\\t%s\\n' $(git rev-parse HEAD:a) d/.git/hooks/x | GIT_INDEX_FILE=$G/i git -c core.protectNTFS=false update-index --index-info 2>/dev/null || :; printf 'x' >/dev/null", ""},
	{"commit-gitlink", "mkdir sub; cd sub; git init -q; git config core.fsmonitor 'touch ~/owned'; git commit -q --allow-empty -m x; cd ..; git add sub 2>/dev/null; git commit -qm sub", "held"},
	{"tree-dotgit", "t=$(printf '100644 blob %s\\t.git\\n' $(git rev-parse HEAD:a) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"tree-dotgit-case", "t=$(printf '040000 tree %s\\t.GIT\\n' $(git rev-parse HEAD:d) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"tree-dotgit-ntfs", "t=$(printf '040000 tree %s\\tgit~1\\n' $(git rev-parse HEAD:d) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"tree-dotdot", "t=$(printf '040000 tree %s\\t..\\n' $(git rev-parse HEAD:d) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"tree-modules-link", "t=$(printf '120000 blob %s\\t.gitmodules\\n' $(git rev-parse HEAD:a) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"tree-attributes-link", "t=$(printf '120000 blob %s\\t.gitattributes\\n' $(git rev-parse HEAD:a) | git mktree); git update-ref refs/heads/x $(git commit-tree -m x $t)", "refused"},
	{"modules-url", "printf '[submodule \"x\"]\\n path = x\\n url = -u./payload\\n' >.gitmodules; git add .gitmodules; git commit -qm x", "refused"},
	{"commit-date", "printf 'tree %s\\nauthor a <a@x> 99999999999999999999 +0000\\ncommitter a <a@x> 1 +0000\\n\\nx\\n' $(git rev-parse HEAD^{tree}) | git hash-object -t commit -w --stdin --literally >$G/refs/heads/x", "refused"},
	{"alternates-leak", "mkdir $HOME/app/o; echo $HOME/secret/.git/objects >$G/objects/info/alternates", ""},
	{"object-link", "o=$(echo evil | git hash-object -w --stdin); f=$G/objects/${o:0:2}/${o:2}; mv $f $HOME/app/o; ln -s $HOME/app/o $f; git update-index --add --cacheinfo 100644,$o,evil", ""},
	{"object-wrong-content", "o=$(echo good | git hash-object -w --stdin); e=$(echo evil | git hash-object -w --stdin); chmod u+w $G/objects/${o:0:2}/*; cp -f $G/objects/${e:0:2}/${e:2} $G/objects/${o:0:2}/${o:2}; git update-ref refs/heads/x $(git commit-tree -m x $(printf '100644 blob %s\\tf\\n' $o | git mktree))", "refused"},
	{"object-fifo", "o=$(echo evil | git hash-object -w --stdin); git update-ref refs/heads/x $(git commit-tree -m x $(printf '100644 blob %s\\tf\\n' $o | git mktree)); f=$G/objects/${o:0:2}/${o:2}; rm -f $f; mkfifo $f", "refused"},
	{"object-sparse", "mkdir -p $G/objects/ab; truncate -s 1T $G/objects/ab/cdef567890123456789012345678901234567890; echo x >>a; git commit -qam two", ""},
	{"pack-sparse", "truncate -s 1T $G/objects/pack/pack-1234567890123456789012345678901234567890.pack; echo x >>a; git commit -qam two", ""},
	{"pack-garbage", "echo garbage >$G/objects/pack/pack-1234567890123456789012345678901234567890.pack; echo x >>a; git commit -qam two", ""},
	{"pack-fifo", "mkfifo $G/objects/pack/pack-1234567890123456789012345678901234567890.pack; echo x >>a; git commit -qam two", ""},
	{"objects-link", "rm -r $G/objects; ln -s $HOME/secret/.git/objects $G/objects; git -C $HOME/secret rev-parse HEAD >$G/refs/heads/x", ""},
	{"config-fsmonitor", "git config core.fsmonitor 'touch ~/owned'; git config core.hooksPath $PWD; git config alias.status '!touch ~/owned'; echo x >>a; git commit -qam two", "core.fsmonitor"},
	{"hook", "printf '#!/bin/sh\\ntouch ~/owned\\n' >$G/hooks/reference-transaction; chmod +x $G/hooks/reference-transaction; echo x >>a; git commit -qam two || :", "hooks/reference-transaction"},
	{"attributes", "echo '* filter=evil' >$G/info/attributes; git config filter.evil.clean 'touch ~/owned; cat'; echo x >>a; git commit -qam two", "info/attributes"},
	{"grafts", "echo x >>a; git commit -qam two; git rev-parse HEAD >$G/info/grafts", "info/grafts"},
	{"commondir", "echo $HOME/secret/.git >$G/commondir || :", ""},
	{"merge-msg-link", "ln -s $HOME/.bashrc $G/MERGE_MSG", "MERGE_MSG"},
	{"merge-head-text", "echo '../../x' >$G/MERGE_HEAD", "MERGE_HEAD"},
	{"merge-mode", "echo '--exec=x' >$G/MERGE_MODE", "MERGE_MODE"},
	{"rebase-exec", "mkdir $G/rebase-merge; echo 'exec touch ~/owned' >$G/rebase-merge/git-rebase-todo; git commit -q --allow-empty -m x", "not finished"},
	{"sequencer", "mkdir $G/sequencer; echo x >$G/sequencer/opts; git checkout -q --detach", "not finished"},
	{"stash-log", "echo x >>a; git stash -q; printf 'x\\n' >>$G/logs/refs/stash", "stash"},
	{"stash-log-link", "echo x >>a; git stash -q; ln -sf $HOME/.bashrc $G/logs/refs/stash", "stash"},
	{"stash-log-escape", "echo x >>a; git stash push -qm $'a\\033[2Jb'", ""},
	{"logs-link", "rm -r $G/logs; ln -s $HOME $G/logs; git -c core.logAllRefUpdates=false commit -q --allow-empty -m x", ""},
	{"worktree-outside", "mkdir -p $G/worktrees/w; echo $HOME/.git >$G/worktrees/w/gitdir; cp $G/HEAD $G/worktrees/w/HEAD; echo ../.. >$G/worktrees/w/commondir", "stays with it"},
	{"worktree-name", "mkdir -p \"$G/worktrees/..x\"; echo $PWD/w/.git >\"$G/worktrees/..x/gitdir\"", "stays with it"},
	{"worktree-pointer-elsewhere", "git worktree add -q w -b w; echo gitdir: $HOME/secret/.git >w/.git", "stays with it"},
	{"worktree-pointer-link", "git worktree add -q w -b w; ln -sf $HOME/.bashrc w/.git", "stays with it"},
	{"everything-gone", "rm -rf $G/* 2>/dev/null || :", "the box removed its git directory"},
	{"refs-gone", "rm -rf $G/refs", "error"},
	{"branch-tracking", "git branch b; printf '[branch \"b\"]\\n remote = ext::x\\n merge = refs/heads/x\\n' >>$G/config", ""},
	{"many-refs-in-folder", "cd $G/refs/heads; for i in $(seq 400); do cp main x$i; done", ""},
	{"deep-folders", "d=$G/refs/heads; for i in $(seq 300); do d=$d/xxxx; done; mkdir -p $d 2>/dev/null; cp $G/refs/heads/main $d/y || :", ""},
}

// outside is all that git and a person do outside afterwards.
const outside = `git status >/dev/null; git -c user.name=x stash list >/dev/null; git log --all --oneline >/dev/null; git diff >/dev/null; git status --porcelain >/dev/null; git commit -q --allow-empty -m after`

func TestHostile(t *testing.T) {
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.host(s.home, "echo safe >.bashrc; git init -q secret; cd secret; echo token >s; git add s; git commit -qm secret")
			c := s.stage(s.top, "r1")
			before := s.host(s.home, "cd app; git rev-parse main; cat .git/config; ls -A .git/hooks")
			if out, err := s.try(c, s.top, "export G=$PWD/.git; "+h.script); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
			defer cancel()
			var said string
			for _, final := range []bool{false, true} {
				rep, err := c.Cross(ctx, Crossing{Final: final})
				if err != nil {
					said += "error " + err.Error() + "\n"
				}
				for _, ch := range rep.Held {
					said += "held " + ch.Ref + "\n"
				}
				for _, ch := range append(rep.Refused, rep.Conflicts...) {
					said += "refused " + ch.Ref + " " + ch.Why + "\n"
				}
				said += strings.Join(slices.Concat(rep.Lines, rep.Settings, rep.Unfinished), "\n") + "\n"
				s.host(s.top, outside)
				if final {
					s.host(s.top, "git gc -q 2>/dev/null; git status --porcelain >/dev/null")
				}
			}
			if strings.ContainsAny(strings.ReplaceAll(said, "\n", ""), "\x00\x1b\r") {
				t.Errorf("control characters: %q", said)
			}
			if !strings.Contains(said, h.want) {
				t.Errorf("not said: %q in\n%s", h.want, said)
			}
			if _, err := os.Lstat(filepath.Join(s.home, "owned")); err == nil {
				t.Error("something of the box's ran outside")
			}
			if text, _ := os.ReadFile(filepath.Join(s.home, ".bashrc")); string(text) != "safe\n" {
				t.Errorf(".bashrc: %q", text)
			}
			links := s.host(s.home, "find app/.git ! -type f ! -type d; cd app; git for-each-ref | grep -v -E '^[0-9a-f]+ [a-z]+.refs/(heads|tags|stash|inner)' || :")
			if links != "" {
				t.Errorf("outside: %s", links)
			}
			after := s.host(s.home, "cd app; git cat-file -e "+strings.Fields(before)[0]+"; git ls-files -s | grep ^160000 || :; cat .git/config; ls -A .git/hooks")
			if want := strings.Join(strings.SplitAfterN(before, "\n", 2)[1:], ""); after != want {
				t.Errorf("outside now:\n%s\nbefore:\n%s", after, want)
			}
			s.whole(s.top)
		})
	}
}
