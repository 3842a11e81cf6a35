package host

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
