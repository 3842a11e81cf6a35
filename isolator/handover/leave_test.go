package handover

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository makes one with a commit and returns its folder.
func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("INNER_TEST_MUST") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	dir := t.TempDir()
	run(t, dir, "init", "--quiet")
	write(t, dir+"/kept", "one")
	run(t, dir, "add", "kept")
	run(t, dir, "commit", "--quiet", "--message", "first")
	return dir
}

func run(t *testing.T, dir string, words ...string) string {
	t.Helper()
	out, err := (Git{}).run(t.Context(), dir, words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What is not committed comes, and a submodule, whose settings are the box's, is not looked into.
func TestUncommittedBesideSubmodules(t *testing.T) {
	dir := repository(t)
	write(t, dir+"/d", "becomes a folder")
	write(t, dir+"/gone", "x")
	run(t, dir, "clone", "--quiet", ".", "sub")
	ran := filepath.Join(t.TempDir(), "ran")
	run(t, dir+"/sub", "config", "filter.x.clean", "touch "+ran+"; cat")
	write(t, dir+"/sub/.git/info/attributes", "* filter=x\n")
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(run(t, dir, "rev-parse", "HEAD"))+",sub")
	run(t, dir, "add", "d", "gone")
	run(t, dir, "commit", "--quiet", "--message", "a submodule")
	end := func(change func()) (files string, err error) {
		t.Helper()
		bundle := filepath.Join(t.TempDir(), "bundle")
		l, err := Begin(context.Background(), dir, bundle)
		if err != nil {
			t.Fatal(err)
		}
		change()
		err = l.End(context.Background())
		if _, none := os.Lstat(bundle); (err == nil) != (none == nil) {
			t.Errorf("left: %v, %v", err, none)
		}
		if err == nil {
			run(t, dir, "fetch", "--quiet", bundle, "HEAD:refs/result")
			files = run(t, dir, "diff", "--name-status", "--no-renames", l.base, "refs/result")
		}
		return files, err
	}
	if _, err := end(func() { write(t, dir+"/sub/kept", "two") }); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing was changed beside the submodule: %v", err)
	}
	files, err := end(func() {
		for _, name := range []string{"d", "gone"} {
			if err := os.Remove(dir + "/" + name); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(dir+"/d", 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, dir+"/d/a b", "x")
		write(t, dir+"/kept", "two")
		run(t, dir, "init", "--quiet", "nested")
	})
	if want := "D\td\nA\td/a b\nD\tgone\nM\tkept\n"; err != nil || files != want {
		t.Errorf("%q, %v", files, err)
	}
	files, err = end(func() { run(t, dir, "commit", "--quiet", "--allow-empty", "--message", "of the run") })
	if err != nil || files != "" {
		t.Errorf("a commit alone: %q, %v", files, err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a program that a submodule names was run")
	}
}

// A run that leaves no bundle does not leave the one of an earlier run either, nor a file of its
// own in its place. What is no file is not touched, and another file than a bundle is refused.
func TestOldBundle(t *testing.T) {
	dir, out := repository(t), t.TempDir()
	bundle, link, other := filepath.Join(out, "bundle"), filepath.Join(out, "link"), filepath.Join(out, "other")
	begin := func(at string) *Leaving {
		t.Helper()
		l, err := Begin(context.Background(), dir, at)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.folder.Close() })
		return l
	}
	there := func(p string) bool {
		_, err := os.Lstat(p)
		return err == nil
	}
	for _, text := range []string{"# v2 git bundle\nof an earlier run", "# v3 git bundle\n", ""} {
		write(t, bundle, text)
		l := begin(bundle)
		if !there(bundle) {
			t.Errorf("%q: gone before the run began", text)
		}
		if err := errors.Join(l.Ready(), l.Ready()); err != nil {
			t.Error(err)
		}
		write(t, bundle, "of the run itself")
		if err := l.End(context.Background()); !errors.Is(err, ErrNothing) || there(bundle) {
			t.Errorf("%q: there is a file in the bundle's place (%v)", text, err)
		}
	}
	write(t, bundle, "kept")
	if err := os.Symlink("bundle", link); err != nil {
		t.Fatal(err)
	}
	if err := begin(link).Ready(); err != nil || !there(bundle) || !there(link) {
		t.Error("what a link leads to, or the link, is gone", err)
	}
	for _, text := range []string{"# v2 git bundler", "short"} {
		write(t, other, text)
		if _, err := Begin(context.Background(), dir, other); err == nil || !strings.Contains(err.Error(), "is no git bundle") || !there(other) {
			t.Error(err)
		}
	}
	if err := os.Chmod(other, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(context.Background(), dir, other); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Error(err)
	}
}
