package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFindPrograms(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	j := func(p string) string { return filepath.Join(d, p) }
	file := func(p, text string, mode os.FileMode) {
		must(t, os.MkdirAll(filepath.Dir(j(p)), 0o755))
		must(t, os.WriteFile(j(p), []byte(text), mode))
		must(t, os.Chmod(j(p), mode))
	}
	link := func(to, p string) { must(t, os.Symlink(to, j(p))) }
	file("a/pip", "one", 0o755)
	file("a/pip3", "one", 0o755)
	file("a/pip2", "two", 0o755)
	file("a/pipx", "one", 0o755)
	file("a/pip-3.9", "one", 0o644)
	link("pip3", "a/pip3.11")
	file("b/pip", "other", 0o755)
	file("lib/vim.basic", "vim", 0o755)
	must(t, os.MkdirAll(j("alternatives"), 0o755))
	link(j("lib/vim.basic"), "alternatives/vi")
	link(j("alternatives/vi"), "a/vi")
	link(j("alternatives/vi"), "b/editor")
	link("gone", "a/dangling")
	link("loop", "a/loop")
	must(t, os.Link(j("a/pip2"), j("b/hard")))
	must(t, os.MkdirAll(j("a/folder"), 0o755))
	file("own/bin/vi", "shim", 0o755)
	link("a", "again")

	dirs := []string{j("a"), j("nowhere"), j("again"), j("b"), j("own/bin"), "relative"}
	got := findPrograms(dirs, []string{"pip", "vi", "hard", "none", "folder", "dangling"}, []string{j("own")})
	want := []Program{
		{Name: "pip", Files: []string{j("a/pip")}, Names: []string{"pip"}},
		{Name: "pip", Files: []string{j("b/pip")}, Names: []string{"pip"}},
		{Name: "pip3", Files: []string{j("a/pip3")}, Names: []string{"pip3", "pip3.11"}, Copy: true},
		{Name: "vi", Files: []string{j("lib/vim.basic")}, Names: []string{"editor", "vi"}},
		{Name: "hard", Files: []string{j("a/pip2"), j("b/hard")}, Names: []string{"hard", "pip2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A folder that can be entered and not listed.
	must(t, os.Chmod(j("b"), 0o311))
	defer os.Chmod(j("b"), 0o755)
	got = findPrograms([]string{j("b")}, []string{"editor"}, nil)
	if len(got) != 1 || got[0].Files[0] != j("lib/vim.basic") {
		t.Errorf("unlisted: %v", got)
	}
	if got := findPrograms(dirs, nil, nil); got != nil {
		t.Errorf("without names: %v", got)
	}
}

func TestStem(t *testing.T) {
	for name, want := range map[string]string{"pip": "pip", "pip3": "pip", "pip3.11": "pip", "pip-3.11": "pip", "x86_64": "x86_", "7": "7", "a-": "a-", "g++-12": "g++", "": ""} {
		if got := Stem(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestFindHelper(t *testing.T) {
	if path, why := FindHelper("true", ""); !filepath.IsAbs(path) || why != "" {
		t.Errorf("true: %q, %q", path, why)
	}
	if path, why := FindHelper("no-such-program", ""); path != "" || why != "no-such-program is not installed" {
		t.Errorf("%q, %q", path, why)
	}
	// Below a folder of somebody's own nothing is root's, whoever owns it.
	d := t.TempDir()
	must(t, os.WriteFile(filepath.Join(d, "helper"), []byte("#!/bin/sh\n"), 0o755))
	must(t, os.Chmod(d, 0o777))
	if path, why := FindHelper("helper", d); path != "" || !strings.Contains(why, "cannot be trusted: ") {
		t.Errorf("%q, %q", path, why)
	}
	if path, _ := FindHelper("sub/../helper", "relative"); path != "" {
		t.Errorf("a relative folder: %q", path)
	}
}

// Only root can make such folders, so they are made up.
func TestRootOwned(t *testing.T) {
	const program = "/opt/tool/bin/helper"
	files := func(changed string, mode fs.FileMode, uid uint32) func(string) (fs.FileInfo, error) {
		return func(path string) (fs.FileInfo, error) {
			f := madeUp{mode: fs.ModeDir | 0o755, sys: &syscall.Stat_t{}}
			if path == program {
				f.mode = 0o755
			}
			if path == changed {
				f = madeUp{mode: mode, sys: &syscall.Stat_t{Uid: uid}}
			}
			return f, nil
		}
	}
	for _, c := range []struct {
		changed string
		mode    fs.FileMode
		uid     uint32
		want    string
	}{
		{"", 0, 0, ""},
		{"/opt", fs.ModeDir | fs.ModeSticky | 0o777, 0, ""}, // as /tmp: names in it belong to their owners
		{"/opt", fs.ModeDir | 0o777, 0, "/opt is writable by others"},
		{"/opt/tool", fs.ModeDir | 0o775, 0, "/opt/tool is writable by others"},
		{"/opt/tool/bin", fs.ModeDir | 0o757, 0, "/opt/tool/bin is writable by others"},
		{"/", fs.ModeDir | 0o777, 0, "/ is writable by others"},
		{"/opt/tool", fs.ModeDir | 0o755, 1000, "/opt/tool is not owned by root"},
		{program, 0o775, 0, program + " is writable by others"},
		{program, 0o755, 1000, program + " is not owned by root"},
		{program, 0o644, 0, program + " is not executable"},
		{program, fs.ModeDir | 0o755, 0, program + " is not a file"},
	} {
		got := ""
		if err := rootOwned(program, files(c.changed, c.mode, c.uid)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s %v of %d: %q, want %q", c.changed, c.mode, c.uid, got, c.want)
		}
	}
}

// madeUp is a file that is not there.
type madeUp struct {
	mode fs.FileMode
	sys  *syscall.Stat_t
}

func (madeUp) Name() string        { return "made-up" }
func (madeUp) Size() int64         { return 0 }
func (f madeUp) Mode() fs.FileMode { return f.mode }
func (madeUp) ModTime() time.Time  { return time.Time{} }
func (f madeUp) IsDir() bool       { return f.mode.IsDir() }
func (f madeUp) Sys() any          { return f.sys }
