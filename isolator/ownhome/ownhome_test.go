package ownhome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/enr/inner/internal/fault"
)

func open(t *testing.T, inner string) *Home {
	t.Helper()
	h, err := Open(inner, Owner{Project: "/w/app"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// stage gives a home a file, and the folder it is in.
func stage(h *Home, path string) error {
	return h.Stage("x", func(put func(Item) error) error {
		return errors.Join(put(Item{Path: filepath.Dir(path), Mode: fs.ModeDir}), put(Item{Path: path, Data: []byte("fresh"), Mode: 0o600}))
	})
}

// Whatever a box leaves at the places that inner makes, writes, reads and removes: nothing
// outside of the home is touched, and what was in the way is there under another name.
func TestNothingLeadsOut(t *testing.T) {
	plant := map[string]func(path, outside string) error{
		"a link":           func(p, out string) error { return os.Symlink(out, p) },
		"a relative link":  func(p, out string) error { return os.Symlink("../../../../outside", p) },
		"a dangling link":  func(p, out string) error { return os.Symlink(out+"/new", p) },
		"a FIFO":           func(p, _ string) error { return syscall.Mkfifo(p, 0o600) },
		"a file":           func(p, _ string) error { return os.WriteFile(p, []byte("mine"), 0o600) },
		"a folder":         func(p, _ string) error { return os.MkdirAll(filepath.Join(p, "in"), 0o700) },
		"a closed folder":  func(p, _ string) error { return os.Mkdir(p, 0) },
		"a link to itself": func(p, _ string) error { return os.Symlink(filepath.Base(p), p) },
	}
	for what, make := range plant {
		for _, at := range []string{".claude", ".claude/settings.json", ".config/git", ".config/git/ignore", "src/app"} {
			t.Run(what+" at "+at, func(t *testing.T) {
				top := t.TempDir()
				inner, outside := filepath.Join(top, "inner"), filepath.Join(top, "outside")
				if err := os.Mkdir(outside, 0o700); err != nil {
					t.Fatal(err)
				}
				h := open(t, inner)
				if err := os.MkdirAll(filepath.Dir(filepath.Join(h.Dir, at)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := make(filepath.Join(h.Dir, at), outside); err != nil {
					t.Fatal(err)
				}
				if err := stage(h, ".claude/settings.json"); err != nil {
					t.Fatal(err)
				}
				points := []Point{{Path: ".config/git/ignore", File: true}, {Path: "src/app"}}
				if err := h.Ready(points); err != nil {
					t.Fatal(err)
				}
				for _, p := range points {
					if !h.has(p) {
						t.Errorf("%s is not there", p.Path)
					}
				}
				if data, err := h.Read(".claude/settings.json", 100); string(data) != "fresh" || err != nil {
					t.Errorf("what was put there: %q %v", data, err)
				}
				if list, err := os.ReadDir(outside); len(list) > 0 || err != nil {
					t.Errorf("outside: %v %v", list, err)
				}
			})
		}
	}
}

// A new place is refused while another box has the home; the same places are not.
func TestPlacesAreMadeAlone(t *testing.T) {
	inner := t.TempDir()
	one := open(t, inner)
	if err := one.Ready([]Point{{Path: "src/app"}}); err != nil {
		t.Fatal(err)
	}
	two := open(t, inner)
	if err := two.Ready([]Point{{Path: "src/app"}}); err != nil {
		t.Errorf("the same places: %v", err)
	}
	three := open(t, inner)
	if r := fault.AsRefusal(three.Ready([]Point{{Path: "src/other"}})); r == nil || r.Code != 125 || !strings.Contains(r.Msg, "~/src/other") {
		t.Errorf("another place: %v", r)
	}
	three.Close()
	one.Close()
	two.Close()
	four := open(t, inner)
	if err := four.Ready([]Point{{Path: "src/other"}}); err != nil {
		t.Errorf("alone: %v", err)
	}
	if got := len(Points(inner, four.Owner)); got != 2 {
		t.Errorf("%d places are known, want those of both", got)
	}
}

// A home that cannot be opened is an error, whatever is in the way.
func TestCannotOpen(t *testing.T) {
	inner := t.TempDir()
	o := Owner{Project: "/w/app"}
	if err := os.MkdirAll(filepath.Join(Base(inner), o.Key(), "running"), 0o700); err != nil {
		t.Fatal(err)
	}
	h, err := Open(inner, o)
	if err == nil {
		defer h.Close()
		err = h.Ready(nil)
	}
	if err == nil {
		t.Error("a folder is no lock")
	}
}

// A file of the box that inner cannot read is not written over: it is there under another name.
func TestUnreadIsMovedAside(t *testing.T) {
	spoil := map[string]func(string) error{"large": func(p string) error { return os.Truncate(p, maxStaged+1) }}
	if os.Getuid() != 0 { // who reads everything
		spoil["closed"] = func(p string) error { return os.Chmod(p, 0) }
	}
	for what, spoil := range spoil {
		t.Run(what, func(t *testing.T) {
			h := open(t, t.TempDir())
			file := filepath.Join(h.Dir, "settings.json")
			err := errors.Join(os.WriteFile(file, []byte("the box's"), 0o600), spoil(file))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := h.Read("settings.json", maxStaged); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("read: %v", err)
			}
			if err := stage(h, "settings.json"); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(file); string(data) != "fresh" || err != nil {
				t.Errorf("what was put there: %q %v", data, err)
			}
			if len(h.Aside) != 1 {
				t.Fatalf("moved aside: %q", h.Aside)
			}
			if _, err := os.Lstat(filepath.Join(h.Dir, h.Aside[0])); err != nil {
				t.Error(err)
			}
		})
	}
}

// However many names a box has taken that something in the way could get, it is moved aside.
func TestManyAsides(t *testing.T) {
	h := open(t, t.TempDir())
	for i := range 1000 {
		if err := os.WriteFile(filepath.Join(h.Dir, fmt.Sprintf(".config.aside-%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := os.WriteFile(filepath.Join(h.Dir, ".config"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.Folder(".config"); err != nil || !h.has(Point{Path: ".config"}) {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(h.Dir, ".config")); err != nil {
			t.Fatal(err)
		}
	}
}

// A name is any bytes, and so is that of a project.
func TestAnyName(t *testing.T) {
	inner := filepath.Join(t.TempDir(), "inner")
	for _, name := range []string{"/w/a\xffb", `"w"`} {
		for try := range 2 {
			h, err := Open(inner, Owner{Project: name})
			if err != nil {
				t.Fatalf("%q, %d: %v", name, try, err)
			}
			if rec, err := ReadRecord(h.folder); err != nil || rec.Project != name {
				t.Errorf("%q: %+v, %v", name, rec, err)
			}
			h.Close()
		}
	}
}
