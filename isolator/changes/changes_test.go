package changes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/copytree"
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
	must(t, r.Add(filepath.Join(dir, "kept"), 0, Copy{Source: Path(original), Dest: Path(original)}, res), r.Write(filepath.Join(dir, "kept")))
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
		if got := NewGuard([]string{"/home/ann"}, func(string) string { return "" }).Protects(Change{Path: strings.Trim(path, "/"), New: mode, Root: "/", Tree: "/nowhere"}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
