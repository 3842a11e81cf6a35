package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func open1(t *testing.T, base, id string) *Session {
	t.Helper()
	s, err := Open(base, Key{ID: id, Project: "/p", Profile: "/f"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestLastFolder(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sessions")
	s := open1(t, base, "a")
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.WriteFile(victim, []byte("/etc"), 0o600); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(s.Tmp, lastName)
	for _, c := range []struct {
		name, want string
		leave      func() error
	}{
		{"a folder", "/usr", func() error { return os.WriteFile(left, []byte("/usr\n"), 0o600) }},
		{"nothing", "/usr", func() error { return nil }},
		{"a link", "/usr", func() error { return os.Symlink(victim, left) }},
		{"a FIFO", "/usr", func() error { return unix.Mkfifo(left, 0o600) }},
		{"a folder in its place", "/usr", func() error { return os.Mkdir(left, 0o700) }},
		{"no absolute path", "/usr", func() error { return os.WriteFile(left, []byte("../.."), 0o600) }},
		{"two lines", "/usr", func() error { return os.WriteFile(left, []byte("/a\n/b\n"), 0o600) }},
		{"NUL", "/usr", func() error { return os.WriteFile(left, []byte("/a\x00"), 0o600) }},
		{"too long", "/usr", func() error { return os.WriteFile(left, []byte("/"+strings.Repeat("x", 5000)), 0o600) }},
		{"another folder", "/tmp/x", func() error { return os.WriteFile(left, []byte("/tmp/x"), 0o600) }},
	} {
		_ = os.Remove(left)
		if err := c.leave(); err != nil {
			t.Fatal(err)
		}
		s.Ended()
		if again := open1(t, base, "a"); again.Last != c.want {
			t.Errorf("%s: %q, want %q", c.name, again.Last, c.want)
		}
	}
	if text, _ := os.ReadFile(victim); string(text) != "/etc" {
		t.Errorf("the file behind the link: %q", text)
	}
}

func TestApart(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sessions")
	seen := map[string]Key{}
	for _, k := range []Key{{"a", "/p", "/f"}, {"b", "/p", "/f"}, {"a", "/q", "/f"}, {"a", "/p", "/g"}, {"A", "/p", "/f"}} {
		s, err := Open(base, k)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if other, twice := seen[s.Tmp]; twice {
			t.Errorf("%v and %v share %s", k, other, s.Tmp)
		}
		seen[s.Tmp] = k
	}
	for _, id := range []string{"", ".", "..", "a/b", "a b", "ä", strings.Repeat("a", 65), "a\n"} {
		if _, err := Open(base, Key{ID: id}); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
}

func TestSweep(t *testing.T) {
	base := filepath.Join(t.TempDir(), "sessions")
	if err := Sweep(base, time.Hour); err != nil {
		t.Fatal(err)
	}
	busy, old := open1(t, base, "busy"), open1(t, base, "old")
	open1(t, base, "young").Close()
	old.Close()
	if err := os.MkdirAll(filepath.Join(old.Tmp, "a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(old.Tmp, "a/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(old.Tmp, "a"), 0o500); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-2 * time.Hour)
	for _, s := range []*Session{busy, old} {
		if err := os.Chtimes(filepath.Join(s.Dir, "lock"), past, past); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(base, time.Hour); err != nil {
		t.Fatal(err)
	}
	list, err := List(base)
	if err != nil || len(list) != 2 || list[0].ID != "busy" || !list[0].Busy || list[1].ID != "young" || list[1].Busy {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
