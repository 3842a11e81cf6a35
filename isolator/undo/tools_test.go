package undo

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What the tests from outside use: they need package back.
var Sh, Sum, NewProject, Start, Must, ReadTree, ChangeTree = sh, sum, project, begin, must, state, change

const Left = left

// Close lets go of a project as the kernel does when a run is killed.
func (b *Snapshot) Close() { b.home.Close() }

// Unread has the manifest say that no content is known.
func Unread(t *testing.T, p Project) {
	t.Helper()
	old := readManifest(p.manifest())
	for dir, l := range old.folders {
		old.folders[dir] = listing{l.states, strings.Repeat("\x00", len(l.ids))}
	}
	must(t, old.write(p.manifest()))
}

// SetMostPacks sets the bound of git gc, and returns what it was.
func SetMostPacks(n int) (was int) {
	was, mostPacks = mostPacks, n
	return was
}

const left = "what is left out"

func sh(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-euc", script, "sh"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func sum(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-euc", `find . -name .git -prune -o -printf '%y %m %p %l\n' | sort; find . -name .git -prune -o -type f -print0 | sort -z | xargs -0r sha256sum`)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func project(t *testing.T) Project {
	t.Helper()
	dir := t.TempDir()
	p := Project{Top: filepath.Join(dir, "p"), Home: filepath.Join(dir, "home"), Git: "/usr/bin/git"}
	if err := os.MkdirAll(p.Top, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

// begin begins with a walk that began before, as runs do.
func begin(t *testing.T, p Project, run string) *Snapshot {
	t.Helper()
	if p.Early = p.Walk(); p.Early != nil {
		defer p.Early.Stop()
	}
	s, err := Begin(t.Context(), p, About{Run: run})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// state is everything below a folder but for what is left out: what it is, its mode, and what is in it.
func state(t *testing.T, top string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.Name() == ".git":
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, name)
		if d.IsDir() && d.Name() == "node_modules" {
			out[rel] = left
			return filepath.SkipDir
		}
		var text []byte
		switch fi.Mode().Type() {
		case 0:
			text, err = os.ReadFile(name)
		case fs.ModeSymlink:
			var to string
			to, err = os.Readlink(name)
			text = []byte(to)
		}
		if rel != "." {
			out[rel] = fmt.Sprintf("%v %q", fi.Mode(), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// change does random things to a tree: files and links of all kinds are made, written, removed, moved, closed and
// turned into each other.
func change(t *testing.T, r *rand.Rand, top string, n int, more ...string) {
	t.Helper()
	names := []string{"a", "b", "B", "c d", "n\nl", "q\"\\t\t", "\xff\xfe", "-x", "ü"}
	names = append(names, more...)
	random := func() string {
		rel := top
		for range 1 + r.IntN(4) {
			rel = filepath.Join(rel, names[r.IntN(len(names))])
		}
		return rel
	}
	for range n {
		name := random()
		if strings.HasPrefix(name+"/", top+"/.git/") {
			continue
		}
		if !folders(top, filepath.Dir(name)) {
			continue
		}
		fi, err := os.Lstat(name)
		switch what := r.IntN(12); {
		case err == nil && what < 3:
			must(t, os.RemoveAll(name))
		case err == nil && what == 3:
			if to := random(); to != name && !strings.HasPrefix(to, name+"/") {
				_ = os.Rename(name, to)
			}
		case err == nil && what == 4 && fi.Mode()&fs.ModeSymlink == 0:
			must(t, os.Chmod(name, []fs.FileMode{0o700, 0o755, 0o711, 0o750}[r.IntN(4)]))
		case err == nil && fi.Mode().IsRegular() && what == 5:
			must(t, os.Chmod(name, []fs.FileMode{0o400, 0o644, 0o600, 0o664}[r.IntN(4)]))
		case what == 6:
			must(t, os.RemoveAll(name), os.Symlink([]string{"a", "nowhere", "/nowhere/a", "../b", "\xff\n"}[r.IntN(5)], name))
		case what == 7:
			must(t, os.RemoveAll(name), os.Mkdir(name, 0o755))
		default:
			if err == nil && fi.IsDir() && r.IntN(3) > 0 {
				continue
			}
			must(t, os.RemoveAll(name), os.WriteFile(name, bytes.Repeat([]byte{byte('a' + r.IntN(3))}, r.IntN(20)), 0o644))
		}
	}
}

// folders makes a folder and those that it is in, unless one of them is something else, as a link that leads elsewhere.
func folders(top, dir string) bool {
	if dir == top {
		return true
	}
	if !folders(top, filepath.Dir(dir)) {
		return false
	}
	_ = os.Mkdir(dir, 0o755)
	fi, err := os.Lstat(dir)
	return err == nil && fi.IsDir()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
