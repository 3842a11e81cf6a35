package git

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/profile/gitconfig"
)

// TestFind is what a .git may be, and what is believed of it.
func TestFind(t *testing.T) {
	for _, c := range []struct{ name, script, reason string }{
		{"plain", "mkdir -p app/x/y; cd app/x/y; pwd", ""},
		{"worktree", "cd app; git worktree add -q ../w; cd ../w; pwd", ""},
		{"worktree-moved-in", "cd app; git worktree add -q ../w; mkdir ../v; cp ../w/.git ../v/; cd ../v; pwd", "which has that worktree at"},
		{"pointer-to-another", "mkdir v; echo gitdir: $PWD/app/.git >v/.git; cd v; pwd", "does not say that this is its work tree"},
		{"pointer-commondir", "mkdir -p v/g; echo gitdir: g >v/.git; echo $PWD/app/.git >v/g/commondir; echo $PWD/v/.git >v/g/gitdir; cd v; pwd", "does not know this worktree"},
		{"submodule", "git init -q s; cd s; git submodule --quiet add ../app sub; cd sub; pwd", ""},
		{"bare", "git init -q --bare b; cd b; pwd", "bare"},
		{"link", "mkdir v; ln -s ../app/.git v/.git; cd v; pwd", ".git is a link"},
		{"refs-link", "mv app/.git/refs r; ln -s ../../r app/.git/refs; cd app; pwd", "refs is no folder"},
		{"logs-link", "mv app/.git/logs r; ln -s ../../r app/.git/logs; cd app; pwd", "logs is a link"},
		{"partial", "cd app; git config remote.o.promisor true; pwd", "partial clone"},
		{"reftable", "cd app; git config core.repositoryformatversion 1; git config extensions.refstorage reftable; pwd", "kept as reftable"},
		{"extension", "cd app; git config core.repositoryformatversion 1; git config extensions.new x; pwd", "not known"},
		{"version", "cd app; git config core.repositoryformatversion 2; pwd", "format"},
		{"worktree-setting", "cd app; git config core.worktree ../..; pwd", "core.worktree"},
		{"config-fifo", "cd app; rm .git/config; mkfifo .git/config; pwd", "not a plain file"},
		{"shared", "git clone -q --shared app v; cd v; pwd", "borrows objects"},
		{"git-file-text", "mkdir v; echo hello >v/.git; cd v; pwd", "not git's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFixture(t)
			r, err := Find(strings.TrimSpace(s.host(s.home, c.script)))
			switch {
			case err != nil:
				t.Error(err)
			case c.reason == "" && r.Reason != "" || !strings.Contains(r.Reason, c.reason):
				t.Errorf("reason %q, want %q", r.Reason, c.reason)
			case c.reason == "":
				s.top = r.Top
				copied := s.stage(r.Top, "r1")
				s.box(copied, r.Top, "git fsck --strict; git log --all >/dev/null; git commit -q --allow-empty -m x")
				s.cross(copied, true)
				s.whole(r.Top)
			}
		})
	}
	s := newFixture(t)
	if err := os.Mkdir(filepath.Join(s.home, "none"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := FindAt(filepath.Join(s.home, "none")); err == nil {
		t.Errorf("%+v", r)
	}
}

func TestRefName(t *testing.T) {
	for _, name := range []string{"refs/heads/main", "refs/heads/a/b-c_d.e", "refs/tags/v1.0", "refs/heads/fix/#12", "refs/heads/ü", "refs/stash", "refs/notes/commits", "refs/remotes/o/x", "refs/pull/1/head1"} {
		if why := refName(name); why != "" {
			t.Errorf("%q %s", name, why)
		}
	}
	for _, name := range []string{
		"", "refs", "refs/", "refs/heads", "HEAD", "refs/heads/", "refs/heads//a", "refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock", "refs/heads/a.lock/b", "refs/heads/a.LOCK", "refs/heads/a..b", "refs/heads/../x",
		"refs/heads/a b", "refs/heads/a\tb", "refs/heads/a\nb", "refs/heads/a\x7f", "refs/heads/a\x00b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/a[", "refs/heads/a\\b",
		"refs/heads/@{u}", "refs/heads/@", "refs/heads/-x", "refs/heads/HEAD", "refs/heads/head", "refs/remotes/o/HEAD", "refs/heads/FETCH_HEAD", "refs/replace/x", "refs/Replace/x", "refs/inner/x/y", "refs/INNER/x/y", "refs/bisect/bad", "refs/worktree/x",
		"refs/heads/$(x)", "refs/heads/a`b", "refs/heads/a;b", "refs/heads/a|b", "refs/heads/a'b", "refs/heads/\"", "refs/heads/\xff", "refs/heads/a\u202eb", "refs/heads/a\u200bb", "refs/heads/e\u0301", "refs/heads/\u0085", "refs/heads/" + strings.Repeat("a", 300),
	} {
		if refName(name) == "" {
			t.Errorf("%q may be the name of a ref", name)
		}
	}
}

func TestTreePath(t *testing.T) {
	for _, p := range []string{"a", "a/b", ".gitignore", ".github/x", "git", "a.git", "a~1", "a\\b", "git~2", ".git2", "ü/\u200c"} {
		if why := treePath(p); why != "" {
			t.Errorf("%q %s", p, why)
		}
	}
	for _, p := range []string{
		"", "/a", "a/", "a//b", ".", "..", "a/..", "a/./b", ".git", "a/.git", ".git/config", ".GIT", ".Git/x", ".git ", ".git.", ".git. .", "git~1", "GIT~1/x", ".git::$INDEX_ALLOCATION", ".git:x", ".g\u200cit", "\ufeff.git", ".gi\u202et/x",
		"a\\.git", "a\\..\\x", ".git\\hooks", "a\x00b", strings.Repeat("a/", 3000), strings.Repeat("a", 300),
	} {
		if treePath(p) == "" {
			t.Errorf("%q may be a path", p)
		}
	}
	for _, p := range []string{".gitmodules", "a/.GITMODULES", "gitmod~1", ".gitattributes", ".gitignore ", ".mailmap"} {
		if !settingsFile(p) {
			t.Errorf("%q is a file of settings", p)
		}
	}
}

// TestIndexAsGit writes indexes that git wrote, and asks git what is in them.
func TestIndexAsGit(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "mkdir x; for i in $(seq 30); do echo $i >x/$(printf 'n%.0s' $(seq $i)); done; ln -s a l; git add .; chmod +x a; git add a; echo i >i; git add -N i; git update-index --assume-unchanged d/b; git update-index --skip-worktree l; git branch c; echo 1 >a; git commit -qam 1; git switch -qf c; echo 2 >a; git commit -qam 2; git merge -q main || :")
	for _, version := range []string{"2", "4"} {
		s.host(s.top, "git update-index --force-write-index --index-version "+version)
		data, err := os.ReadFile(filepath.Join(s.top, ".git/index"))
		if err != nil {
			t.Fatal(err)
		}
		ix, err := parseIndex(string(data), 20)
		if err != nil {
			t.Fatal(err)
		}
		const list = "git ls-files -s -v --debug; git ls-files -f; git ls-files -u"
		before := s.host(s.top, list)
		if err := os.WriteFile(filepath.Join(s.top, ".git/index"), ix.format(20), 0o600); err != nil {
			t.Fatal(err)
		}
		if after := s.host(s.top, list); after != before {
			t.Errorf("version %s: %s\nwas: %s", version, after, before)
		}
		for i := range data {
			bad := bytes.Clone(data)
			bad[i] ^= 0x11
			if _, err := parseIndex(string(bad), 20); err == nil {
				t.Errorf("byte %d can be any", i)
			}
		}
	}
}

// TestTaken is what a box may not say of an index.
// TestStageFails is a copy whose folders cannot be made, or are another run's: what was opened for it is closed again.
func TestStageFails(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	r, err := Find(s.top)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Git: s.git, Run: "r1", Dir: t.TempDir(), Roots: []string{s.top}}
	way := filepath.Join(o.Dir, stateFolder)
	if err := os.WriteFile(way, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Stage(r, o); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("a file in the way: %v", err)
	}
	if err := errors.Join(os.Remove(way), os.RemoveAll(filepath.Join(o.Dir, boxFolder)), os.RemoveAll(filepath.Join(o.Dir, holdFolder))); err != nil {
		t.Fatal(err)
	}
	c, err := Stage(r, o)
	if err != nil {
		t.Fatalf("what failed before still holds the folder: %v", err)
	}
	defer c.Close()
	if _, err := Stage(r, o); !errors.Is(err, errBusy) {
		t.Errorf("a folder of a live run: %v", err)
	}
}

func TestTaken(t *testing.T) {
	oid := strings.Repeat("x", 20)
	entry := func(name string, mode uint32) indexEntry {
		e := indexEntry{mode: mode, oid: oid, name: name}
		e.stat[20] = 7
		return e
	}
	host := &index{entries: []indexEntry{entry("a", modeFile)}}
	for _, bad := range [][]indexEntry{
		{entry("a/.git/config", modeFile)},
		{entry(".GIT", modeFile)},
		{entry(".gitmodules", modeLink)},
		{entry("b", modeLink), entry("b/c", modeFile)},
		{entry("a", modeFile), entry("a/c", modeFile)},
	} {
		if _, err := (&index{entries: bad}).taken(host, 1<<62, false); err == nil {
			t.Errorf("%+v", bad)
		}
	}
	same, other := entry("a", modeFile), entry("b", modeFile)
	same.flags, other.flags, other.extra = flagValid, flagValid, extraSkip
	same.stat[20], other.stat[20] = 9, 9
	out, err := (&index{entries: []indexEntry{same, other}}).taken(host, 1<<62, false)
	if err != nil {
		t.Fatal(err)
	}
	for i, size := range []byte{7, 0} { // the host's; unknown
		if e := out.entries[i]; e.flags != 0 || e.extra != 0 || e.stat[20] != size {
			t.Errorf("%+v", e)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		ix, err := parseIndex(string(data)+string(make([]byte, 20)), 20)
		if err != nil {
			return
		}
		again, err := parseIndex(string(ix.format(20)), 20)
		if err != nil || again.digest() != ix.digest() {
			t.Errorf("%v", err)
		}
	})
}

func TestReadLog(t *testing.T) {
	o := strings.Repeat("1", 40)
	good := o + " " + o + " A B <a@x> 1700000000 +0100\ton main: x\n"
	list, err := readLog([]byte(good+good), 40)
	if err != nil || len(list) != 2 || list[0].line() != good {
		t.Errorf("%+v %v", list, err)
	}
	for _, bad := range []string{
		"x\n", o + " " + o + "\n", o + " " + o + " A B a@x 1 +0100\tx\n", o + " " + o + " A <a@x> x +0100\tx\n", o + " " + o + " A <a@x> 1 0100\tx\n",
		o + " " + strings.Repeat("G", 40) + " A <a@x> 1 +0100\tx\n", o + " " + o + " A <a<b@x> 1 +0100\tx\n", "\n",
	} {
		if list, err := readLog([]byte(bad), 40); err == nil {
			t.Errorf("%q is %+v", bad, list)
		}
	}
	if list, _ := readLog([]byte(strings.Replace(good, "main", "\x1b[2J", 1)), 40); strings.Contains(list[0].line(), "\x1b") {
		t.Errorf("%q", list[0].line())
	}
}

func TestWithoutLogins(t *testing.T) {
	in := []gitconfig.Entry{
		{Key: "remote.o.url", Value: "https://me:secret@host/x"},
		{Key: "remote.p.url", Value: "https://token@host/x@y"},
		{Key: "remote.q.url", Value: "ssh://git@host/x"},
		{Key: "remote.r.url", Value: "git@host:x"},
		{Key: "remote.s.url", Value: "ssh://git:secret@host/x"},
		{Key: "http.https://host/.extraheader", Value: "Authorization: secret"},
		{Key: "credential.helper", Value: "store"},
		{Key: "url.https://secret@host/.insteadof", Value: "x:"},
		{Key: "core.hookspath", Value: ".husky"},
		{Key: "sendemail.smtppass", Value: "secret"},
		{Key: "github.oauthtoken", Value: "secret"},
		{Key: "http.proxy", Value: "me:secret@proxy:3128"},
		{Key: "remote.o.proxy", Value: "proxy:3128"},
	}
	var got []string
	for _, e := range WithoutLogins(in) {
		got = append(got, e.Value)
	}
	want := []string{"https://host/x", "https://host/x@y", "ssh://git@host/x", "git@host:x", "ssh://git@host/x", ".husky", "proxy:3128", "proxy:3128"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Git LFS writes the address of the remote into the name of a section, with the login that is in it.
func TestWithoutLoginsInSections(t *testing.T) {
	for _, key := range []string{"lfs.https://me:secret@host/x/info/lfs.locksverify", "http.https://secret@host/.sslverify"} {
		got := WithoutLogins([]gitconfig.Entry{{Key: key, Value: "false"}})
		if text := string(configText("", got)); strings.Contains(text, "secret") || !strings.Contains(text, `"https://host/`) {
			t.Errorf("%q", text)
		}
	}
}
