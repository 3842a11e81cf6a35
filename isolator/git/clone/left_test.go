package clone

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata holds a repository and what inner ec257c2 left of it, with @HOME@ for its home: it was killed while
// the box had a branch that had not crossed and a rebase that had stopped.
func TestLeft(t *testing.T) {
	data, err := filepath.Abs("testdata/ec257c2.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, "cd ..; rm -rf host; tar --no-same-owner -xzf "+data+"; mv p host; sed -i \"s,@HOME@/p,$PWD/host,g\" 0/state/copy.json")
	f.run = "20261127-090021-88e0f2"
	if err := OfLastVersion(f.home+"/0", func(common, run, profile string) (string, error) {
		if common != f.home+"/host/.git" || run != f.run || !strings.HasPrefix(profile, "shell-oneshot ") {
			t.Errorf("%s %s %s", common, run, profile)
		}
		return f.home + "/folder", errors.Join(os.Mkdir(f.home+"/folder/own", 0o700), os.RemoveAll(f.home+"/folder/store"))
	}); err != nil {
		t.Fatal(err)
	}
	if moved, waits := f.bring(); len(moved) != 1 || waits {
		t.Errorf("%+v", moved)
	}
	f.is("git log -1 --format=%s late; git symbolic-ref -q HEAD || git log -1 --format=%s; git status --short", "late\nm\n M a")
	f.sh(f.home, nil, "test ! -e 0; test -e folder/own/rebase-merge")
}
