package homes

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/profile/capability"
)

func open(t *testing.T, inner string) *ownhome.Home {
	t.Helper()
	h, err := ownhome.Open(inner, ownhome.Owner{Project: "/w/app"})
	if err == nil {
		t.Cleanup(h.Close)
		err = h.Ready(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// A home is removed when no box has it.
func TestReset(t *testing.T) {
	inner := t.TempDir()
	h := open(t, inner)
	if err := Reset(inner, h.Key()); err == nil {
		t.Error("a home was removed while a box has it")
	}
	h.Close()
	if err := Reset(inner, h.Key()); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(ownhome.Base(inner), h.Key())); !os.IsNotExist(err) {
		t.Errorf("after reset: %v", err)
	}
}

// What boxes were told of themselves does not come out, and no link in a home leads to the user's own file.
func TestUninstructed(t *testing.T) {
	inner, out := t.TempDir(), t.TempDir()
	h := open(t, inner)
	says := capability.Says([]string{"x"})
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(h.Dir, ".claude/CLAUDE.md"), "mine\n\n"+says+"more\n")
	write(filepath.Join(h.Dir, ".gemini/GEMINI.md"), says)
	write(filepath.Join(out, "codex/AGENTS.md"), "the user's\n\n"+says)
	if err := os.Symlink(filepath.Join(out, "codex"), filepath.Join(h.Dir, ".codex")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(h.Dir, ".claude/CLAUDE.md"), 0o400); err != nil {
		t.Fatal(err)
	}
	for rel, file := range map[string]string{".": ".claude/CLAUDE.md", ".claude": "CLAUDE.md", ".claude/CLAUDE.md": ""} {
		dst := filepath.Join(t.TempDir(), "copy")
		if _, err := Get(t.Context(), inner, h.Key(), rel, dst); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dst, file)); string(got) != "mine\nmore\n" || err != nil {
			t.Errorf("%s: %q %v", rel, got, err)
		}
		if got, err := os.ReadFile(filepath.Join(dst, ".gemini/GEMINI.md")); err == nil && len(got) > 0 {
			t.Errorf("%s: %q came along", rel, got)
		}
	}
	if got, err := os.ReadFile(filepath.Join(out, "codex/AGENTS.md")); string(got) != "the user's\n\n"+says || err != nil {
		t.Errorf("outside: %q %v", got, err)
	}
}

// A box can nest folders without end: inner looks as deep as it says.
func TestDepth(t *testing.T) {
	inner := t.TempDir()
	h := open(t, inner)
	before := time.Now().Add(-time.Hour)
	at, err := os.Open(h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { at.Close() }()
	for range 3000 {
		if err := unix.Mkdirat(int(at.Fd()), "a", 0o700); err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Openat(int(at.Fd()), "a", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		if err != nil {
			t.Fatal(err)
		}
		at.Close()
		at = os.NewFile(uintptr(fd), "a")
	}
	if err := unix.Symlinkat("x", int(at.Fd()), "l"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.Dir, "a/note"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := h.Written(before); len(got) != 1 || got[0].Path != "a" {
		t.Errorf("written: %v", got)
	}
	if got := Look(inner, h.Key()); got.Files != 1 || len(got.Top) != 1 {
		t.Errorf("looked at: %+v", got)
	}
}
