package undo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/review"
)

func sh(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-euc", script, "sh"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

func sum(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-euc", `find . -name .git -prune -o -printf '%y %m %p %l\n' | sort; find . -name .git -prune -o -type f -print0 | sort -z | xargs -0r sha256sum`)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func project(t *testing.T) Project {
	t.Helper()
	dir := t.TempDir()
	p := Project{Top: filepath.Join(dir, "p"), Home: filepath.Join(dir, "home"), Git: "/usr/bin/git"}
	if err := os.MkdirAll(p.Top, 0o755); err != nil {
		t.Fatal(err)
	}
	return p
}

func takeBack(t *testing.T, r *Run) *Back {
	t.Helper()
	b, err := r.Back(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := review.Apply(t.Context(), b.Kept, b.List); err != nil {
		t.Fatal(err)
	}
	if err := b.Done(t.Context(), "undo-"+r.Run); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUndo(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir -p d/e; echo a >a; echo b >d/b; chmod 755 d/b; ln -s a l; echo x >d/e/x; mkdir empty; printf '' >zero`)
	before := sum(t, p.Top)
	s, err := Begin(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	sh(t, p.Top, `echo changed >a; rm d/b; rm -r d/e; rm l; mkdir l; echo in >l/in; mkdir n; echo new >n/new; rmdir empty; chmod 600 zero`)
	after := sum(t, p.Top)
	run, err := s.End(t.Context(), About{"r1"})
	if err != nil {
		t.Fatal(err)
	}
	b := takeBack(t, run)
	if got := sum(t, p.Top); got != before {
		t.Errorf("%v\n%+v\nis\n%s\nwas\n%s", b.Stays, b.List, got, before)
	}
	list, err := p.List()
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	takeBack(t, list[1])
	if got := sum(t, p.Top); got != after {
		t.Errorf("undone again: is\n%s\nwas\n%s", got, after)
	}
}
