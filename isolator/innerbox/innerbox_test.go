package innerbox

import (
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/internal/files"
)

// TestPath: the file is written once, anew when it is not what it should be, and not used where
// somebody else could have written it.
func TestPath(t *testing.T) {
	was := box
	t.Cleanup(func() { box = was })
	box = program{}
	folder := t.TempDir()
	if got := Box(folder); got != "" {
		t.Errorf("a build that carries none: %q", got)
	}
	const text = "#!/bin/true\n"
	var zip strings.Builder
	w := gzip.NewWriter(&zip)
	_, err := w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	box = program{"inner-box", "", "0123 12\n"}
	if got := Box(folder); got != "" || !Lacks(folder) {
		t.Errorf("a program that carries none: %q", got)
	}
	box.zip = zip.String()
	want := filepath.Join(folder, "inner-box-0123")
	old, recent := filepath.Join(folder, "inner-box-old"), filepath.Join(folder, "inner-box-recent")
	for _, p := range []string{old, recent} {
		if err := os.WriteFile(p, nil, 0o500); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * kept)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	if got := Box(folder); got != want {
		t.Fatalf("%q, want %q", got, want)
	}
	if RemoveOld(folder); !files.Exists(want) {
		t.Error("what this version wrote is gone")
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("what another version left long ago is still there")
	}
	if _, err := os.Stat(recent); err != nil {
		t.Error("what another version has just written is gone")
	}
	first, err := os.Stat(want)
	if err != nil || first.Mode().Perm() != 0o500 {
		t.Fatalf("%v, %v", first, err)
	}
	if Lacks(folder) {
		t.Error("what was written is not there")
	}
	if again, err := os.Stat(Box(folder)); err != nil || !os.SameFile(first, again) {
		t.Errorf("written again (%v)", err)
	}
	for name, spoil := range map[string]func() error{
		"cut":            func() error { return os.Chmod(want, 0o700) },
		"open to all":    func() error { return os.Chmod(want, 0o777) },
		"not executable": func() error { return os.Chmod(want, 0o400) },
		"a link":         func() error { return os.Remove(want) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		switch name {
		case "cut":
			err = os.Truncate(want, 1)
		case "a link":
			err = os.Symlink("/bin/true", want)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := Box(folder); got != want {
			t.Errorf("%s: %q", name, got)
		}
		if data, err := os.ReadFile(want); err != nil || string(data) != text {
			t.Errorf("%s: it holds %q (%v)", name, data, err)
		}
	}
	absent := filepath.Join(folder, "absent")
	if got := Box(absent); got != filepath.Join(absent, filepath.Base(want)) {
		t.Errorf("a folder that is not there: %q", got)
	}
	box.zip = ""
	if got := Box(folder); got != want {
		t.Errorf("another program of the build: %q", got)
	}
	if got := Box("/proc/absent"); got != "" {
		t.Errorf("a folder that cannot be made: %q", got)
	}
}
