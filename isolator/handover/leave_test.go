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

// What is not committed in a repository with submodules is in no bundle. That is said, and what
// was committed is kept.
func TestUncommittedBesideSubmodules(t *testing.T) {
	dir := repository(t)
	run(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(run(t, dir, "rev-parse", "HEAD"))+",sub")
	run(t, dir, "commit", "--quiet", "--message", "a submodule")
	end := func(change func()) (bundle string, err error) {
		t.Helper()
		bundle = filepath.Join(t.TempDir(), "bundle")
		l, err := Begin(context.Background(), dir, bundle)
		if err != nil {
			t.Fatal(err)
		}
		change()
		left, err := l.End(context.Background())
		if _, none := os.Lstat(bundle); left != (none == nil) {
			t.Errorf("left: %v, %v", left, none)
		}
		return bundle, err
	}
	if _, err := end(func() {}); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing was changed: %v", err)
	}
	bundle, err := end(func() { write(t, dir+"/new", "x") })
	if !errors.Is(err, ErrUncommitted) {
		t.Errorf("a change alone: %v", err)
	}
	if _, err := os.Lstat(bundle); err == nil {
		t.Error("there is a bundle without a commit")
	}
	bundle, err = end(func() { run(t, dir, "commit", "--quiet", "--allow-empty", "--message", "of the run") })
	if !errors.Is(err, ErrUncommitted) {
		t.Errorf("a change beside a commit: %v", err)
	}
	if heads := run(t, dir, "bundle", "list-heads", bundle); !headLine().MatchString(heads) {
		t.Errorf("the commit is not in the bundle: %q", heads)
	}
	if bundle, err = end(func() {
		run(t, dir, "add", "new")
		run(t, dir, "commit", "--quiet", "--message", "all of it")
	}); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(bundle); err != nil {
		t.Error(err)
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
		if left, err := l.End(context.Background()); left || !errors.Is(err, ErrNothing) || there(bundle) {
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
