package review

import (
	"context"
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

	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
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
func session(t *testing.T, files map[string]string) (k *changes.Kept, original, tree string) {
	t.Helper()
	dir := t.TempDir()
	original, tree = filepath.Join(dir, "src"), filepath.Join(dir, "kept", changes.TreeName(0))
	must(t, os.MkdirAll(original, 0o755), os.Mkdir(filepath.Join(dir, "kept"), 0o700))
	for name, text := range files {
		write(t, filepath.Join(original, name), text)
	}
	res, err := copytree.Copy(context.Background(), original, tree, copytree.Options{Record: true})
	must(t, err)
	r := changes.Record{Run: "20260102-030405-abcdef", Begun: time.Now()}
	must(t, r.Add(filepath.Join(dir, "kept"), 0, changes.Copy{Source: changes.Path(original), Dest: changes.Path(original)}, res), r.Write(filepath.Join(dir, "kept")))
	k, err = changes.Open(filepath.Join(dir, "kept"))
	must(t, err)
	return k, original, tree
}

func compare(t *testing.T, k *changes.Kept) []changes.Change {
	t.Helper()
	list, err := k.Compare()
	must(t, err)
	return list
}

func lines(list []changes.Change) string {
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
	if n == 0 || list[n-1].Path != "work" || !slices.ContainsFunc(list, func(c changes.Change) bool { return c.Clash == "too deep to be looked into" }) {
		t.Errorf("%d changes, the last %q", n, list[n-1].Path)
	}
	for _, c := range list {
		_, err := Diff(c)
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
	res, err := copytree.Copy(context.Background(), dir+"/src", dir+"/kept/"+changes.TreeName(0), copytree.Options{Record: true})
	must(t, err)
	r := changes.Record{Run: "20260102-030405-abcdef", Begun: time.Now()}
	must(t, r.Add(dir+"/kept", 0, changes.Copy{Source: changes.Path(dir + "/src"), Dest: changes.Path(dir)}, res), r.Write(dir+"/kept"))
	k, err := changes.Open(dir + "/kept")
	must(t, err)
	tree := dir + "/kept/" + changes.TreeName(0)
	write(t, tree+"/n\n--- ax\x1b[2J\u202e\xfe", "1")
	write(t, tree+"/p", "1")
	must(t, os.Remove(tree+"/main"), os.Symlink("text", tree+"/main"))
	list := compare(t, k)
	if got := lines(list); got != "type main\nadded n\n--- ax\x1b[2J\u202e\xfe\ntype p: the original has one of its own" {
		t.Errorf("%q", got)
	}
	var all strings.Builder
	for _, c := range list {
		d, err := Diff(c)
		must(t, err)
		all.Write(d)
	}
	for _, want := range []string{"old mode 100644\nnew mode 120000\n", "\n+++ \"b/n\\012--- ax\\033[2J\\342\\200\\256\\376\"\n", "special files a/p and b/p differ", "diff a/main b/main\nold mode 100644\nnew mode 120000\ndiff /dev/null ", "\\376\"\nnew file mode 100644\n--- /dev/null\n"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not in %s", want, all.String())
		}
	}
	must(t, Applied(k, list))
	k, err = changes.Open(dir + "/kept")
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
	done, err := Apply(context.Background(), k, list)
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
		if strings.Contains(path, ".inner-") {
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
			done, err := Apply(context.Background(), k, list)
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
// A folder is opened for writing in what was copied, and not where one file of it was.
func TestClosedFolder(t *testing.T) {
	for _, file := range []string{"", "a"} {
		k, original, tree := session(t, map[string]string{"a": "1"})
		write(t, filepath.Join(tree, "a"), "2")
		list := compare(t, k)
		list[0].Source = filepath.Join(original, file)
		must(t, os.Chmod(original, 0o555))
		_, err := Apply(t.Context(), k, list)
		fi, errStat := os.Stat(original)
		must(t, errStat, os.Chmod(original, 0o755))
		if errors.Is(err, fs.ErrPermission) != (file != "") || fi.Mode().Perm() != 0o555 {
			t.Errorf("%q: %v, %v", file, err, fi.Mode())
		}
	}
}

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
	done, err := Apply(ctx, k, compare(t, k))
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
	must(t, Applied(k, done))
	if rest := compare(t, k); len(rest) != len(files)-len(done) {
		t.Errorf("%d done, %d left of %d", len(done), len(rest), len(files))
	}
}

// TestBusy: two do not write at once, and what a killed one was about to put there is in nobody's way.
func TestBusy(t *testing.T) {
	k, original, tree := session(t, map[string]string{"a": "1"})
	write(t, tree+"/a", "2")
	list := compare(t, k)
	write(t, filepath.Join(k.Dir, "next"), "half")
	lock, err := os.Create(filepath.Join(k.Dir, "lock"))
	must(t, err)
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	if _, err := Apply(context.Background(), k, list); !errors.Is(err, ErrBusy) {
		t.Errorf("beside another: %v", err)
	}
	must(t, lock.Close())
	_, err = Apply(context.Background(), k, list)
	must(t, err)
	if data, err := os.ReadFile(original + "/a"); err != nil || string(data) != "2" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestLatest: of two runs that begin in one second the later one is the latest, whatever
// the ends of their ids are.
func TestLatest(t *testing.T) {
	home := t.TempDir()
	begun := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, id := range []string{"20260102-030404-dddddd", "20260102-030405-ffffff", "20260102-030405-aaaaaa", "20260102-030405-cccccc"} {
		dir := filepath.Join(stage.Kept(home), id)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		r := changes.Record{Run: id, Begun: begun.Add(time.Duration(i) * time.Millisecond)}
		if err := r.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(home)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d kept, %v", len(list), err)
	}
	if k := list[3]; k.Record.Run != "20260102-030405-cccccc" {
		t.Errorf("the latest is %q", k.Record.Run)
	}
}
