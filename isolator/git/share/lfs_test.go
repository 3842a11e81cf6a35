package share

import (
	"testing"
)

// An object of git-lfs enters under the hash of its content, and nothing else does.
func TestLargeObjects(t *testing.T) {
	b := newBox(t)
	b.run("sum() { echo $1 | sha256sum | cut -c1-64; }; at() { sum $1 | sed 's,^\\(..\\)\\(..\\).*,\\1/\\2,'; }")
	b.run("put() { mkdir -p .git/lfs/tmp .git/lfs/objects/$(at $2) && echo $1 >.git/lfs/tmp/t && mv -f .git/lfs/tmp/t .git/lfs/objects/$(at $2)/$(sum $2); }; O=.git/lfs/objects/$(at good)/$(sum good)")
	for _, c := range []struct{ name, try, want string }{
		{"its own", "put good good && cat $O", "good\n"},
		{"another's name", "put EVIL other || echo no", "no\n"},
		{"one that is there", "mkdir -p .git/lfs/tmp; echo good >.git/lfs/tmp/t; mv -f .git/lfs/tmp/t $O || echo no", "no\n"},
		{"another place", "mkdir -p .git/lfs/objects/00/00; echo far >.git/lfs/tmp/t; mv .git/lfs/tmp/t .git/lfs/objects/00/00/$(sum far) || echo no", "no\n"},
		{"no hash", "echo EVIL >.git/lfs/tmp/t; mv .git/lfs/tmp/t .git/lfs/objects/EVIL || echo no; mv .git/lfs/tmp/t .git/lfs/objects/00/00/EVIL || echo no", "no\nno\n"},
		{"the folder's name", "mv .git/lfs/tmp/t .git/lfs/objects/01 || echo no", "no\n"},
		{"in place", "echo EVIL >$O || echo no; echo EVIL >>$O || echo no; echo EVIL >.git/lfs/objects/00/00/$(sum EVIL) || echo no", "no\nno\nno\n"},
		{"changed", "chmod 777 $O || echo no; true >$O || echo no; touch $O || echo no", "no\nno\nno\n"},
		{"removed", "rm -f $O || echo no; mv $O .git/lfs/tmp/u || echo no; mv .git/lfs/objects .git/lfs/o || echo no; mv .git/lfs .git/l || echo no", "no\nno\nno\nno\n"},
		{"a link", "ln -s /etc/passwd .git/lfs/tmp/l || echo no; ln -s /etc/passwd .git/lfs/objects/00/00/$(sum l) || echo no; ln $O .git/lfs/tmp/l || echo no", "no\nno\nno\n"},
		{"a folder", "mkdir .git/lfs/objects/00/00/$(sum dir) || echo no; mkdir .git/lfs/tmp/d; mv -T .git/lfs/tmp/d .git/lfs/objects/00/00/$(sum dir) || echo no", "no\nno\n"},
		{"in a worktree", "mkdir -p .git/worktrees/w/lfs/objects 2>/dev/null || echo no", "no\n"},
		{"many blocks", "head -c 3000001 /dev/zero >.git/lfs/tmp/z; S=$(sha256sum <.git/lfs/tmp/z | cut -c1-64); D=.git/lfs/objects/$(echo $S | cut -c1-2)/$(echo $S | cut -c3-4); mkdir -p $D; mv .git/lfs/tmp/z $D/$S && sha256sum <$D/$S | grep -c $S", "1\n"},
		{"the list", "echo $(ls .git/lfs)", "objects tmp\n"},
	} {
		if got := b.run("{ " + c.try + "; } 2>/dev/null || :"); got != c.want {
			t.Errorf("%s: %q, want %q\n%s", c.name, got, c.want, b.said)
		}
	}
	if got := b.outside("cd .git/lfs; ls; find objects -type f -size -2k -exec cat {} +; find objects -type f | wc -l; grep -r EVIL . || :; find . -perm /022 -o -name '.inner*'"); got != "objects\ngood\n2\n" {
		t.Errorf("outside: %q", got)
	}
}
