package changes

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/stage"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
}

// session makes an original, copies it, and returns the kept run with the
// folders of both.
func session(t *testing.T, files map[string]string) (k *Kept, original, tree string) {
	t.Helper()
	dir := t.TempDir()
	original, tree = filepath.Join(dir, "src"), filepath.Join(dir, "kept", TreeName(0))
	must(t, os.MkdirAll(original, 0o755), os.Mkdir(filepath.Join(dir, "kept"), 0o700))
	for name, text := range files {
		write(t, filepath.Join(original, name), text)
	}
	res, err := copytree.Copy(context.Background(), original, tree, copytree.Options{Record: true})
	must(t, err)
	r := Record{Run: "20260102-030405-abcdef", Begun: time.Now()}
	must(t, r.Add(filepath.Join(dir, "kept"), 0, Copy{Source: original, Dest: original}, res), r.Write(filepath.Join(dir, "kept")))
	k, err = Open(filepath.Join(dir, "kept"))
	must(t, err)
	return k, original, tree
}

func compare(t *testing.T, k *Kept) []Change {
	t.Helper()
	list, err := k.Compare()
	must(t, err)
	return list
}

func lines(list []Change) string {
	var out []string
	for _, c := range list {
		s := fmt.Sprintf("%s %s", c.Kind, c.Name())
		if c.Clash != "" {
			s += ": " + c.Clash
		}
		out = append(out, s)
	}
	return strings.Join(out, "\n")
}

// TestThreeSides: what the box did, what the person did meanwhile, and both.
func TestThreeSides(t *testing.T) {
	k, original, tree := session(t, map[string]string{
		"same": "1", "box": "1", "person": "1", "both": "1", "equal": "1", "box-gone": "1", "person-gone": "1", "gone-twice": "1",
		"changed-and-gone": "1", "gone-and-changed": "1", "turned/in": "1", "file": "1", "odd\n\xff\tname": "1", "mode": "1", "dir/in": "1",
	})
	if list := compare(t, k); len(list) != 0 {
		t.Fatalf("before anything happened: %s", lines(list))
	}
	for _, name := range []string{"box", "both", "gone-and-changed", "odd\n\xff\tname", "new", "new-both"} {
		write(t, filepath.Join(tree, name), "box")
	}
	for _, name := range []string{"person", "both", "changed-and-gone", "new-both", "new-person"} {
		write(t, filepath.Join(original, name), "person")
	}
	for _, root := range []string{tree, original} {
		write(t, filepath.Join(root, "equal"), "the same")
		write(t, filepath.Join(root, "new-equal"), "the same")
		must(t, os.Remove(filepath.Join(root, "gone-twice")))
	}
	must(t, os.Remove(tree+"/box-gone"), os.Remove(tree+"/changed-and-gone"), os.Remove(original+"/person-gone"), os.Remove(original+"/gone-and-changed"))
	must(t, os.RemoveAll(tree+"/turned"), os.Symlink("/etc", tree+"/turned"), os.Remove(tree+"/file"), os.MkdirAll(tree+"/file/in", 0o755))
	must(t, os.Chmod(tree+"/mode", 0o700), os.Chmod(tree+"/dir/in", 0), os.Chmod(tree+"/dir", 0))
	want := `modified both: the original changed
modified box
deleted box-gone
deleted changed-and-gone: the original changed
mode dir/
mode dir/in
type file/
added file/in/
added gone-and-changed: the original was deleted
mode mode
added new
modified new-both: the original has one of its own
modified odd` + "\n\xff\tname" + `
type turned
deleted turned/in`
	if got := lines(compare(t, k)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestClosed: what a box left in a folder that it closed, in whatever way, is compared.
func TestClosed(t *testing.T) {
	for _, closed := range []string{"", "/dir", "/dir/deep"} {
		for _, mode := range []os.FileMode{0, 0o100, 0o400} {
			t.Run(fmt.Sprintf("%s %o", closed, mode), func(t *testing.T) {
				k, _, tree := session(t, map[string]string{"dir/deep/in": "1"})
				t.Cleanup(func() { _ = os.Chmod(tree+closed, 0o700) })
				write(t, tree+"/dir/deep/in", "box")
				must(t, os.Chmod(tree+closed, mode))
				if got := lines(compare(t, k)); !strings.Contains(got, "modified dir/deep/in") {
					t.Errorf("got %s", got)
				}
			})
		}
	}
}

// TestDeep: a tree that no path can name the bottom of hides nothing else, and
// goes with the copy.
func TestDeep(t *testing.T) {
	k, _, tree := session(t, map[string]string{"a": "1"})
	t.Chdir(tree)
	for range 30 {
		must(t, os.Mkdir(strings.Repeat("d", 200), 0o755), os.Chdir(strings.Repeat("d", 200)))
	}
	must(t, os.Chdir(tree))
	write(t, filepath.Join(tree, "work"), "done")
	list := compare(t, k)
	n := len(list)
	if n == 0 || list[n-1].Path != "work" || !slices.ContainsFunc(list, func(c Change) bool { return c.Clash == "too deep to be looked into" }) {
		t.Errorf("%d changes, the last %q", n, list[n-1].Path)
	}
	for _, c := range list {
		_, err := c.Diff()
		must(t, err)
	}
	must(t, copytree.Remove(k.Dir))
}

// TestNames: names and links of any bytes cannot be taken for lines of the diff,
// and originals of any name are found again.
func TestNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "b\xffd\n")
	must(t, os.MkdirAll(dir+"/src", 0o700), os.MkdirAll(dir+"/kept", 0o700), syscall.Mkfifo(dir+"/src/p", 0o600))
	write(t, dir+"/src/main", "text\n")
	res, err := copytree.Copy(context.Background(), dir+"/src", dir+"/kept/"+TreeName(0), copytree.Options{Record: true})
	must(t, err)
	r := Record{Run: "20260102-030405-abcdef", Begun: time.Now()}
	must(t, r.Add(dir+"/kept", 0, Copy{Source: dir + "/src", Dest: dir}, res), r.Write(dir+"/kept"))
	k, err := Open(dir + "/kept")
	must(t, err)
	tree := dir + "/kept/" + TreeName(0)
	write(t, tree+"/n\n--- ax\x1b[2J\u202e\xfe", "1")
	write(t, tree+"/p", "1")
	must(t, os.Remove(tree+"/main"), os.Symlink("text", tree+"/main"))
	list := compare(t, k)
	if got := lines(list); got != "type main\nadded n\n--- ax\x1b[2J\u202e\xfe\ntype p: the original has one of its own" {
		t.Errorf("%q", got)
	}
	var all strings.Builder
	for _, c := range list {
		d, err := c.Diff()
		must(t, err)
		all.Write(d)
	}
	for _, want := range []string{"old mode 100644\nnew mode 120000\n", "\n+++ \"b/n\\012--- ax\\033[2J\\342\\200\\256\\376\"\n", "special files a/p and b/p differ", "diff a/main b/main\nold mode 100644\nnew mode 120000\ndiff /dev/null ", "\\376\"\nnew file mode 100644\n--- /dev/null\n"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in %s", want, all.String())
		}
	}
	must(t, k.Applied(list))
	k, err = Open(dir + "/kept")
	must(t, err)
	if list := compare(t, k); len(list) != 0 {
		t.Errorf("applied, and there again: %s", lines(list))
	}
}

// TestApply brings an original to what the copy is, and a second comparison
// finds nothing.
func TestApply(t *testing.T) {
	k, original, tree := session(t, map[string]string{
		"keep": "1", "edit": "1", "dir/a": "1", "dir/b": "1", "file": "1", "turned/in/deep": "1", "mode": "1", "link-to-be": "1",
	})
	write(t, tree+"/edit", "2")
	write(t, tree+"/new/deep/file", "new")
	must(t, os.RemoveAll(tree+"/dir"), os.Remove(tree+"/file"), os.RemoveAll(tree+"/turned"), os.Chmod(tree+"/mode", 0o755))
	write(t, tree+"/file/in", "was a file")
	write(t, tree+"/turned", "was a folder")
	must(t, os.Remove(tree+"/link-to-be"), os.Symlink("/etc/passwd", tree+"/link-to-be"), os.Chmod(tree+"/new/deep", 0o700))
	list := compare(t, k)
	slices.Reverse(list) // the order of the list does not matter
	done, err := apply(context.Background(), list, rand.Text())
	must(t, err)
	if len(done) != len(list) {
		t.Errorf("%d of %d done", len(done), len(list))
	}
	if got := lines(compare(t, k)); got != "" {
		t.Errorf("still different:\n%s", got)
	}
	for name, want := range map[string]string{"keep": "1", "edit": "2", "new/deep/file": "new", "file/in": "was a file", "turned": "was a folder"} {
		if data, err := os.ReadFile(filepath.Join(original, name)); string(data) != want {
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if fi, err := os.Stat(original + "/new/deep"); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("new/deep: %v %v", fi.Mode(), err)
	}
	must(t, filepath.Walk(original, func(path string, _ os.FileInfo, err error) error {
		if strings.Contains(path, ".inner-apply") {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
}

// TestApplyStaysIn: the original is replaced between the comparison and the
// writing; nothing is written through a link, nor over what is new.
func TestApplyStaysIn(t *testing.T) {
	outside := t.TempDir()
	for name, spoil := range map[string]func(original string) error{
		"a folder became a link": func(o string) error {
			return errors.Join(os.RemoveAll(o+"/dir"), os.Symlink(outside, o+"/dir"))
		},
		"a file became a link": func(o string) error {
			return errors.Join(os.Remove(o+"/dir/file"), os.Symlink(outside+"/file", o+"/dir/file"))
		},
		"a file changed": func(o string) error { return os.WriteFile(o+"/dir/file", []byte("person"), 0o644) },
		"a file appeared": func(o string) error {
			return errors.Join(os.WriteFile(o+"/dir/new", []byte("person"), 0o644), os.WriteFile(o+"/dir/file", []byte("person"), 0o644))
		},
	} {
		for _, what := range []func(tree string) error{
			func(tree string) error { return os.WriteFile(tree+"/dir/file", []byte("box"), 0o644) },
			func(tree string) error { return os.Remove(tree + "/dir/file") },
			func(tree string) error { return os.Chmod(tree+"/dir/file", 0o700) },
			func(tree string) error { return os.WriteFile(tree+"/dir/new", []byte("box"), 0o644) },
		} {
			write(t, outside+"/file", "precious")
			must(t, os.Chmod(outside+"/file", 0o600))
			k, original, tree := session(t, map[string]string{"dir/file": "1"})
			must(t, what(tree))
			list := compare(t, k)
			must(t, spoil(original))
			done, err := apply(context.Background(), list, rand.Text())
			data, rerr := os.ReadFile(outside + "/file")
			fi, _ := os.Stat(outside + "/file")
			if rerr != nil || string(data) != "precious" || fi.Mode().Perm() != 0o600 {
				t.Errorf("%s: written through: %q %v", name, data, rerr)
			}
			if _, err := os.Lstat(outside + "/new"); err == nil {
				t.Fatalf("%s: made through a link", name)
			}
			for _, f := range []string{"file", "new"} {
				if data, rerr := os.ReadFile(original + "/dir/" + f); rerr == nil && string(data) == "box" && err != nil {
					t.Errorf("%s: %s was written, and %v", name, f, err)
				}
			}
			if name == "a file appeared" && (err == nil || len(done) > 0) {
				t.Errorf("%s: %v done, %v", name, lines(done), err)
			}
			must(t, os.RemoveAll(original))
		}
	}
}

// TestInterrupted: every file is old or new.
func TestInterrupted(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprint(i)] = "old"
	}
	k, original, tree := session(t, files)
	for name := range files {
		write(t, filepath.Join(tree, name), "new")
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			if data, _ := os.ReadFile(original + "/10"); string(data) == "new" {
				cancel()
				return
			}
		}
	}()
	done, err := apply(ctx, compare(t, k), rand.Text())
	if !errors.Is(err, context.Canceled) && len(done) != len(files) {
		t.Errorf("%d done, %v", len(done), err)
	}
	news := 0
	for name := range files {
		switch data, err := os.ReadFile(filepath.Join(original, name)); string(data) {
		case "new":
			news++
		case "old":
		default:
			t.Errorf("%s: %q %v", name, data, err)
		}
	}
	if news != len(done) {
		t.Errorf("%d are new, %d were said to be", news, len(done))
	}
	must(t, k.Applied(done))
	if rest := compare(t, k); len(rest) != len(files)-len(done) {
		t.Errorf("%d done, %d left of %d", len(done), len(rest), len(files))
	}
}

// TestKilled: what a killed Apply was writing goes with the next one, and two do
// not write at once.
func TestKilled(t *testing.T) {
	k, original, tree := session(t, map[string]string{"a": "1", "d/b": "1"})
	write(t, tree+"/a", "2")
	write(t, tree+"/d/b", "2")
	list := compare(t, k)
	if len(list) != 2 {
		t.Fatal(lines(list))
	}
	k.Record.Applying = "TOKEN"
	must(t, k.Record.Write(k.Dir))
	left := original + "/d/" + nextName("TOKEN")
	write(t, left, "half")
	k, err := Open(k.Dir)
	must(t, err)

	lock, err := os.Create(filepath.Join(k.Dir, "lock"))
	must(t, err)
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if _, err := k.Apply(context.Background(), list); !errors.Is(err, ErrBusy) {
		t.Errorf("beside another: %v", err)
	}
	must(t, lock.Close())
	_, err = k.Apply(context.Background(), list[:1])
	must(t, err)
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if k, err = Open(k.Dir); err != nil || k.Record.Applying != "" || len(k.Record.Applied) != 1 {
		t.Errorf("%+v, %v", k.Record, err)
	}
}

// TestUntouched: what the person took away and the box never looked at is no
// change, however short the copying was.
func TestUntouched(t *testing.T) {
	for range 20 {
		k, original, _ := session(t, map[string]string{"a": "1", "b": "1"})
		must(t, os.Remove(original+"/a"))
		if list := compare(t, k); len(list) != 0 {
			t.Fatal(lines(list))
		}
	}
}

func TestProtected(t *testing.T) {
	for path, want := range map[string]bool{
		"/p/.git/hooks/pre-commit": true, "/p/.git/config": true, "/p/.GIT/Config": true, "/p/.git/objects/info/alternates": true, "/p/sub/.git/modules/x/config": true,
		"/p/.git/rebase-apply": true, "/p/.git/rebase-apply/patch": true, "/p/.git/rebase-merge": true, "/p/.git/sequencer": true,
		"/p/.git/config.worktree": true, "/p/.git/commondir": true, "/p/.git/gitdir": true, "/p/.git/worktrees/w/gitdir": true, "/p/.git/info/attributes": true,
		"/p/.git/objects/ab/cdef": true, "/p/.git/rebase-merge/git-rebase-todo": true, "/p/.git/sequencer/todo": true, "/p/.git/HEAD": true, "/p/.git/refs/heads/main": true, "/p/.git/": true, "/p/.git": true, "/p/.gitignore": false,
		"/p/.inner/": true, "/p/.inner/profiles/x.toml": true, "/p/x/.inner/y": true, "/p/inner/x": false,
		"/p/.vscode/settings.json": true, "/p/.claude/settings.json": true, "/p/.mcp.json": true, "/p/claude/x": false,
		"/home/ann/.bashrc": true, "/home/ann/bin/x": true, "/home/ann/src/.bashrc": false, "/p/bin/x": false,
	} {
		mode := fs.FileMode(0o644)
		if strings.HasSuffix(path, "/") {
			mode |= fs.ModeDir
		}
		if got := NewGuard([]string{"/home/ann"}, host.Mounts{}, func(string) string { return "" }).Protects(Change{Path: strings.Trim(path, "/"), New: mode, root: "/", tree: "/nowhere"}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// TestLatest: of two runs that begin in one second the later one is the latest, whatever
// the ends of their ids are.
func TestLatest(t *testing.T) {
	home := t.TempDir()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, id := range []string{"20260102-030405-ffffff", "20260102-030405-aaaaaa", "20260102-030405-cccccc", "20260102-030404-dddddd"} {
		dir := filepath.Join(stage.Kept(home), id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := Record{Run: id, Begun: begun.Add(time.Duration(i) * time.Millisecond)}
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(home)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d kept, %v", len(list), err)
	}
	if k, _, err := Find(list, ""); err != nil || k.Record.Run != "20260102-030405-cccccc" {
		t.Errorf("the latest is %q, %v", k.Record.Run, err)
	}
}

func TestFind(t *testing.T) {
	var list []*Kept
	for _, id := range []string{"20260101-000000-aaaaaa", "20260102-000000-bbbbbb", "20260102-000001-cccccc"} {
		list = append(list, &Kept{Record: Record{Run: id}})
	}
	for name, want := range map[string]string{
		"": "20260102-000001-cccccc", "20260101": "20260101-000000-aaaaaa", "bbbbbb": "20260102-000000-bbbbbb", "20260102-000000-bbbbbb": "20260102-000000-bbbbbb",
		"20260102": "several", "main.go": "none", "b": "none",
	} {
		k, known, err := Find(list, name)
		got := "none"
		switch {
		case err != nil:
			got = "several"
		case known:
			got = k.Record.Run
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}
