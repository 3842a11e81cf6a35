package git

import (
	"maps"
	"os/exec"
	"testing"
	"time"

	"github.com/enr/inner/isolator/git/program"
)

// Nobody waits for long for a FIFO among the settings of a repository.
func TestTrackedFIFO(t *testing.T) {
	name, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	program.Soon = time.Second / 4
	defer func() { program.Soon = 10 * time.Second }()
	top := t.TempDir()
	cmd := exec.Command("/bin/sh", "-euc", "git init -q .; echo a >f; git add f; mkfifo .git/ff; printf '[include]\npath = ff\n' >>.git/config") // allowed: the person's own git
	cmd.Dir = top
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if known := TrackedAt(name, &Repo{Top: top, Dir: top + "/.git"}, "f"); len(known) > 0 {
		t.Error(known)
	}
}

// What git outside has for a path are the bytes in the index, with their mode; and nothing else.
func TestTracked(t *testing.T) {
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"sha1"} {
		top := t.TempDir()
		run := func(script string) {
			t.Helper()
			cmd := exec.Command("/bin/sh", "-euc", script) // allowed: the person's own git
			cmd.Dir = top
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		run("git init -q --object-format=" + format + " .; mkdir d; echo old >d/f; echo run >'a b'; chmod +x 'a b'; git add .")
		if known := TrackedAt(program, &Repo{Top: top, Dir: top + "/.git"}, "d"); !known.Has(top+"/d/f", []byte("old\n"), false) {
			t.Errorf("%s, before the first commit: %v", format, known)
		}
		run("git -c user.name=a -c user.email=a@b commit -qm x; echo new >d/f; git add d; echo later >d/f; echo old >e; git add e")
		known := TrackedAt(program, &Repo{Top: top, Dir: top + "/.git"}, "d")
		maps.Copy(known, TrackedAt(program, &Repo{Top: top, Dir: top + "/.git"}, "a b"))
		for _, c := range []struct {
			path, data string
			executable bool
			want       bool
		}{
			{"d/f", "old\n", false, false},
			{"d/f", "new\n", false, true},
			{"d/f", "later\n", false, false},
			{"d/f", "old\n", true, false},
			{"d/g", "old\n", false, false},
			{"e", "old\n", false, false}, // nobody asked
			{"a b", "run\n", true, true},
			{"a b", "run\n", false, true},
			{"a b", "old\n", false, false},
		} {
			if got := known.Has(top+"/"+c.path, []byte(c.data), c.executable); got != c.want {
				t.Errorf("%s: %+v: %v", format, c, got)
			}
		}
	}
}
