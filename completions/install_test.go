package completions

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestInstall runs make install and make uninstall with programs that stand for inner's.
func TestInstall(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Fatal(err)
	}
	tree, dest := t.TempDir(), t.TempDir()
	if err := os.CopyFS(filepath.Join(tree, "completions"), os.DirFS(".")); err != nil { // allowed: a test
		t.Fatal(err)
	}
	text, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"Makefile": text, "bin/inner": nil, "bin/inner-beside": nil} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(tree, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(tree, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		target string
		want   []string
	}{
		{"install", []string{
			"opt/bin/inner", "opt/libexec/inner/inner-agent", "opt/libexec/inner/inner-attack", "opt/libexec/inner/inner-beside",
			"opt/libexec/inner/inner-fetch", "opt/libexec/inner/inner-fleet", "opt/libexec/inner/inner-learn", "opt/libexec/inner/inner-proxy", "opt/libexec/inner/inner-verify", "opt/share/bash-completion/completions/inner",
			"opt/share/fish/vendor_completions.d/inner.fish", "opt/share/zsh/site-functions/_inner",
		}},
		{"uninstall", nil},
	} {
		out, err := exec.Command("make", "-C", tree, step.target, "PREFIX=/opt", "DESTDIR="+dest).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		var got []string
		_ = filepath.WalkDir(dest, func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(dest, p)
				got = append(got, rel)
			}
			return err
		})
		if !slices.Equal(got, step.want) {
			t.Errorf("make %s: %q", step.target, got)
		}
	}
}
