package objects

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// fixture is a repository of the host and a box that has a store of its own over it.
type fixture struct {
	t    testing.TB
	home string
	host string // the work tree outside
	box  string // one inside: its git directory is the box's, its objects are in store
	git  string
	gate *Gate
}

func newFixture(t testing.TB, script string, change func(*Gate)) *fixture {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, home: home, host: home + "/host", box: home + "/box"}
	if f.git, err = exec.LookPath("git"); err != nil {
		t.Fatal(err)
	}
	f.run(home, "git init -q -b main host; cd host; echo one >a; mkdir d; echo two >d/b; git add .; git commit -qm first\n"+script)
	f.run(home, "git init -q -b main box; cp -r host/.git/refs host/.git/HEAD box/.git/; cp host/.git/packed-refs host/.git/shallow box/.git/ 2>/dev/null || :\n"+
		"echo ../../../host/.git/objects >box/.git/objects/info/alternates; cd box; git rev-parse -q --verify HEAD >/dev/null && git reset -q --hard || :")
	if f.gate, err = New(Repository{Git: f.git, Dir: f.host + "/.git", Store: f.box + "/.git/objects", Private: home + "/own"}); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(f.gate)
	}
	t.Cleanup(f.gate.Close)
	return f
}

func (f *fixture) try(dir, script string) (string, error) {
	cmd := exec.Command("bash", "-euc", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"HOME=" + f.home, "PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@x",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=protocol.file.allow", "GIT_CONFIG_VALUE_0=always",
		"GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (f *fixture) run(dir, script string) string {
	f.t.Helper()
	out, err := f.try(dir, script)
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return out
}

// last returns the last word that a script in the box prints.
func (f *fixture) last(script string) string {
	f.t.Helper()
	words := strings.Fields(f.run(f.box, script))
	return words[len(words)-1]
}

// land brings a commit and lets a branch outside name it.
func (f *fixture) land(name string) {
	f.t.Helper()
	if err := f.gate.Bring(name); err != nil {
		f.t.Fatal(err)
	}
	f.run(f.host, "git update-ref refs/heads/came-"+name[:12]+" "+name)
	f.clean()
}

// clean fails the test unless git outside has no fault to find and no quarantine is left.
func (f *fixture) clean() {
	f.t.Helper()
	if out, err := f.try(f.host, "git fsck --strict --no-dangling && ! ls .git/objects | grep inner"); err != nil {
		f.t.Errorf("fsck outside: %v\n%s", err, out)
	}
}

// absent fails the test if the host has an object.
func (f *fixture) absent(name string) {
	f.t.Helper()
	if out, err := f.try(f.host, "GIT_ALLOW_PROTOCOL=none git cat-file -e "+name); err == nil {
		f.t.Errorf("the host has %s: %s", name, out)
	}
}

// tools are for what git itself would not write.
const tools = `
blob=$(echo x | git hash-object -w --stdin)
raw() { git hash-object -t "$1" -w --literally --stdin; } # KIND <text
entry() { printf '%s %s\0' "$1" "$2"; printf "$(printf %s "$3" | sed 's/../\\x&/g')"; } # MODE NAME ID
commit() { git commit-tree "$1" "${@:2}" -m made; } # TREE [-p PARENT]...
head=$(git rev-parse -q --verify HEAD || :)
link=1111111111111111111111111111111111111111
`

// What comes over, and what does not: each refusal beside the same with the one fault removed.
func TestBring(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, script, want string }{
		{"commit", `echo new >c; git add c; git commit -qm c; git rev-parse HEAD`, ""},
		{"root", `commit $(entry 100644 f $blob | raw tree)`, ""},
		{"many", `for i in 1 2 3; do echo $i >a; git commit -qam $i; done; git rev-parse HEAD`, ""},
		{"octopus", `p=; for i in 1 2 3 4; do echo $i >f$i; git add f$i; p="$p -p $(commit $(git write-tree) -p $head)"; done; commit $(git write-tree) $p`, ""},
		{"empty-tree", `commit $(git mktree </dev/null) -p $head`, ""},
		{"deep", `t=$(entry 100644 f $blob | raw tree); for i in $(seq 60); do t=$(entry 40000 d $t | raw tree); done; commit $t -p $head`, ""},
		{"tag", `echo new >c; git add c; git commit -qm c; git tag -am t one; git tag -am t two one; git rev-parse two`, ""},
		{"tag-of-tree", `git tag -am t one HEAD^{tree}; git rev-parse one`, ""},
		{"tree", `entry 100644 f $blob | raw tree`, ""},
		{"blob", `echo $blob`, ""},
		{"gitmodules", `printf '[submodule "s"]\npath=s\nurl=https://example.org/s\n' >.gitmodules; git add .gitmodules; git commit -qm m; git rev-parse HEAD`, ""},
		{"gitmodules-lies", `printf '[submodule "s"]\npath=s\nurl=-u./payload\n' >.gitmodules; git add .gitmodules; git commit -qm m; git rev-parse HEAD`, "gitmodulesUrl"},
		{"gitmodules-link", `commit $(entry 120000 .gitmodules $blob | raw tree)`, "gitmodulesSymlink"},
		{"nowhere", `echo 2222222222222222222222222222222222222222`, "neither in the repository"},
		{"blob-nowhere", `commit $(entry 100644 f 2222222222222222222222222222222222222222 | raw tree)`, "neither in the repository"},
		{"tree-nowhere", `commit $(entry 40000 f 2222222222222222222222222222222222222222 | raw tree)`, "neither in the repository"},
		{"parent-nowhere", `printf 'tree %s\nparent 2222222222222222222222222222222222222222\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD^{tree}) | raw commit`, "neither in the repository"},
		{"tree-as-parent", `printf 'tree %s\nparent %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD^{tree} HEAD:d) | raw commit`, "cannot compare"},
		{"blob-as-root", `printf 'tree %s\nparent %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD:a HEAD) | raw commit`, "is named as a tree"},
		{"tree-as-blob", `commit $(entry 100644 f $(git rev-parse HEAD^{tree}) | raw tree)`, "is named as a blob"},
		{"blob-as-tree", `commit $(entry 40000 f $blob | raw tree)`, "is named as a tree"},
		{"host-blob-as-tree", `commit $(entry 40000 f $(git rev-parse HEAD:a) | raw tree)`, "cannot compare"},
		{"gitlink", `commit $(entry 160000 sub $link | raw tree) -p $head`, `brings the repository at "sub"`},
		{"gitlink-below", `commit $(entry 40000 d $(entry 160000 sub $link | raw tree) | raw tree) -p $head`, `brings the repository at "d/sub"`},
		{"gitlink-by-parent", `p=$(commit $(entry 160000 sub $link | raw tree) -p $head); commit $(git rev-parse HEAD^{tree}) -p $p`, `brings the repository at "sub"`},
		{"gitlink-by-tag", `t=$(entry 160000 sub $link | raw tree); git tag -am t one $t; git rev-parse one`, `brings the repository at "sub"`},
		{"gitlink-by-tree", `entry 160000 sub $link | raw tree`, `brings the repository at "sub"`},
		{"gitlink-for-a-file", `commit $({ entry 160000 a $link; entry 40000 d $(git rev-parse HEAD:d); } | raw tree) -p $head`, `brings the repository at "a"`},
		{"name-git", `commit $(entry 40000 .git $(git rev-parse HEAD:d) | raw tree)`, "the name"},
		{"name-ntfs", `commit $(entry 100644 'GIT~1' $blob | raw tree)`, "the name"},
		{"name-hfs", `commit $(entry 100644 $'.g\xe2\x80\x8cit' $blob | raw tree)`, "the name"},
		{"name-stream", `commit $(entry 100644 '.git::$INDEX_ALLOCATION' $blob | raw tree)`, "the name"},
		{"name-backslash", `commit $(entry 100644 'a\.git\config' $blob | raw tree)`, "the name"},
		{"name-up", `commit $(entry 40000 .. $(git rev-parse HEAD:d) | raw tree)`, "the name"},
		{"name-slash", `commit $(entry 100644 a/b $blob | raw tree)`, "the name"},
		{"name-gitx", `commit $(entry 100644 .gitx $blob | raw tree)`, ""},
		{"mode", `commit $(entry 100666 f $blob | raw tree)`, "the mode"},
		{"mode-zero", `commit $(entry 040000 f $(git rev-parse HEAD:d) | raw tree)`, "the mode"},
		{"twice", `commit $({ entry 100644 f $blob; entry 100644 f $blob; } | raw tree)`, "not in order"},
		{"twice-apart", `commit $({ entry 100644 f $blob; entry 100644 f-g $blob; entry 40000 f $(git rev-parse HEAD:d); } | raw tree)`, "not in order"},
		{"order", `commit $({ entry 100644 g $blob; entry 100644 f $blob; } | raw tree)`, "not in order"},
		{"short-tree", `commit $(printf '100644 f\0short' | raw tree)`, "ends early"},
		{"identity", `printf 'tree %s\nauthor A a> 1 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD^{tree}) | raw commit`, "git would not write"},
		{"date", `printf 'tree %s\nauthor A <a> 01 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD^{tree}) | raw commit`, "git would not write"},
		{"nul", `printf 'tree %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx\0y' $(git rev-parse HEAD^{tree}) | raw commit`, "git would not write"},
		{"plain", `printf 'tree %s\nauthor A <a> 1 +0000\ncommitter A <a> 1 +0000\n\nx' $(git rev-parse HEAD^{tree}) | raw commit`, ""},
		{"tag-lies", `printf 'object %s\ntype tree\ntag t\ntagger A <a> 1 +0000\n\nx' $blob | raw tag`, "is named as a tree"},
		{"tag-chain", `o=$blob k=blob; for i in $(seq 30); do o=$(printf 'object %s\ntype %s\ntag t\ntagger A <a> 1 +0000\n\nx' $o $k | raw tag) k=tag; done; echo $o`, ""},
		{"pack", `echo new >c; git add c; git commit -qm c; git repack -qd; git rev-parse HEAD`, ""},
		{"pack-gitlink", `c=$(commit $(entry 160000 sub $link | raw tree) -p $head); git update-ref refs/heads/x $c; git repack -qd; echo $c`, `brings the repository at "sub"`},
		{"pack-gitlink-unnamed", `c=$(commit $(entry 160000 sub $link | raw tree) -p $head); g=$(commit $(entry 100644 f $blob | raw tree) -p $head); printf '%s\n' $c $g $(git rev-parse $c^{tree} $g^{tree}) $blob | git pack-objects -q .git/objects/pack/pack >/dev/null; git prune-packed; echo $g`, `brings the repository at "sub"`},
		{"pack-name", `c=$(commit $(entry 100644 .git $blob | raw tree) -p $head); git update-ref refs/heads/x $c; git repack -qd; echo $c`, "index-pack"},
		{"pack-corrupt", `echo new >c; git add c; git commit -qm c; git repack -qd; p=$(echo .git/objects/pack/*.pack); chmod u+w $p; printf 'XX' | dd of=$p bs=1 seek=40 conv=notrunc status=none; git -c core.fsync=none rev-parse HEAD`, "index-pack"},
		{"pack-thin", `for i in $(seq 300); do echo line $i; done >a; git commit -qam l; o=$(git rev-parse HEAD); echo more >>a; git commit -qam m; n=$(git rev-parse HEAD); printf '%s\n^%s\n' $n $o | git pack-objects -q --thin --revs --stdout >../thin; find .git/objects -name '??' -type d -exec rm -r {} +; mkdir -p .git/objects/pack; cp ../thin .git/objects/pack/pack-$n.pack; echo $n`, "index-pack"},
		{"alternates", `git init -q ../other; c=$(git -C ../other commit-tree $(git -C ../other mktree </dev/null) -m other); echo ../../../other/.git/objects >>.git/objects/info/alternates; echo $c`, "neither in the repository"},
		{"reverted", `echo new >a; git commit -qam n; git revert -n HEAD; git commit -qm r; git rev-parse HEAD`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", nil)
			name := f.last(tools + c.script)
			err := f.gate.Bring(name)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				f.run(f.host, "git cat-file -e "+name+"; git update-ref refs/tags/came "+name)
				f.clean()
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v", err)
			}
			f.absent(name)
			f.clean()
		})
	}
}

// A gitlink that was there, or that the host's index has at that path, may come.
func TestLinksThatMayCome(t *testing.T) {
	t.Parallel()
	allowed := func(o *Gate) {
		o.AllowedLinks = func() (map[string]bool, error) { return map[string]bool{"sub": true, "a/sub": true}, nil }
	}
	f := newFixture(t, "", allowed)
	name := f.last(tools + `commit $(entry 160000 sub $link | raw tree) -p $head`)
	f.land(name)
	f.land(f.last(tools + `commit $({ entry 100644 f $blob; entry 160000 sub ${link//1/3}; } | raw tree) -p ` + name))
	other := f.last(tools + `commit $(entry 40000 d $(git rev-parse ` + name + `^{tree}) | raw tree) -p ` + name)
	brings := func(err error, path string) bool {
		return err != nil && strings.Contains(err.Error(), `brings the repository at "`+path)
	}
	if err := f.gate.Bring(other); !brings(err, "d/sub") {
		t.Errorf("%v", err)
	}
	other = f.last(tools + `t=$(entry 160000 sub $link | raw tree); commit $({ entry 40000 a $t; entry 40000 b $t; } | raw tree) -p ` + name)
	if err := f.gate.Bring(other); !brings(err, "b/sub") {
		t.Errorf("what may come at one path came at another: %v", err)
	}
	f.gate.AllowedLinks = nil
	f.land(f.last(tools + `commit $({ entry 100644 g $blob; entry 160000 sub ${link//1/4}; } | raw tree) -p ` + name))
	merge := f.last(tools + `commit $(git rev-parse ` + name + `^{tree}) -p $head -p ` + name)
	f.land(merge)
	if err := f.gate.Bring(f.last(tools + `commit $(git rev-parse ` + name + `^{tree}) -p $head -m other`)); !brings(err, "") {
		t.Errorf("a tree that the host has brings a gitlink to another history: %v", err)
	}
	f.clean()
}

// deflated is the file of an object.
func deflated(text string) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	fmt.Fprint(w, text)
	w.Close()
	return b.Bytes()
}

// What lies in the store in place of a file does not come, and its twin does.
func TestLooseLies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		place      func(path string, good []byte) error
	}{
		{"good", "", func(path string, good []byte) error { return os.WriteFile(path, good, 0o644) }},
		{"another", "is not what its name says", func(path string, _ []byte) error { return os.WriteFile(path, deflated("blob 4\x00evil"), 0o644) }},
		{"trailing", "something behind its end", func(path string, good []byte) error { return os.WriteFile(path, append(good, 'x'), 0o644) }},
		{"short", "not of the size", func(path string, good []byte) error { return os.WriteFile(path, good[:len(good)-5], 0o644) }},
		{"size", "not of the size", func(path string, _ []byte) error { return os.WriteFile(path, deflated("blob 9\x00good"), 0o644) }},
		{"size-zero", "without a size", func(path string, _ []byte) error { return os.WriteFile(path, deflated("blob 04\x00good"), 0o644) }},
		{"huge", "more than may come over", func(path string, _ []byte) error {
			return os.WriteFile(path, deflated("blob 99999999999\x00good"), 0o644)
		}},
		{"bomb", "not of the size", func(path string, _ []byte) error {
			return os.WriteFile(path, deflated("blob 4\x00"+strings.Repeat("\x00", 64<<20)), 0o644)
		}},
		{"kind", "the kind", func(path string, _ []byte) error { return os.WriteFile(path, deflated("evil 4\x00good"), 0o644) }},
		{"garbage", "cannot be unpacked", func(path string, _ []byte) error { return os.WriteFile(path, []byte("garbage"), 0o644) }},
		{"fifo", "neither in", func(path string, _ []byte) error { return unix.Mkfifo(path, 0o666) }},
		{"folder", "neither in", func(path string, _ []byte) error { return os.Mkdir(path, 0o755) }},
		{"link", "neither in", func(path string, good []byte) error {
			return errors.Join(os.WriteFile(path+"x", good, 0o644), os.Symlink(path+"x", path))
		}},
		{"socket", "neither in", func(path string, _ []byte) error { return unix.Mknod(path, unix.S_IFSOCK|0o666, 0) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, "", nil)
			name := f.last(`printf good | git hash-object --stdin`)
			path := f.box + "/.git/objects/" + name[:2] + "/" + name[2:]
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), c.place(path, deflated("blob 4\x00good"))); err != nil {
				t.Fatal(err)
			}
			switch err := f.gate.BringAs("blob", name); {
			case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("%v", err)
			}
			if c.want != "" {
				f.absent(name)
			}
			f.clean()
		})
	}
	t.Run("folder-link", func(t *testing.T) {
		f := newFixture(t, "", nil)
		name := f.last(`o=$(printf good | git hash-object -w --stdin); d=.git/objects/${o:0:2}; mv $d ../real; ln -s ../../../real $d; echo $o`)
		if err := f.gate.BringAs("blob", name); !errors.Is(err, errMissing) {
			t.Errorf("%v", err)
		}
		f.clean()
	})
}
