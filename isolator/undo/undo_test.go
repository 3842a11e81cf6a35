package undo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/review"
	"github.com/enr/inner/isolator/undo"
	"github.com/enr/inner/isolator/undo/back"
)

var (
	sh, sum, project, begin, must, state, change = undo.Sh, undo.Sum, undo.NewProject, undo.Start, undo.Must, undo.ReadTree, undo.ChangeTree

	left = undo.Left
)

func takeBack(t *testing.T, r *undo.Run) *back.Undo {
	t.Helper()
	b, err := back.Of(r, t.TempDir(), r.Run+"x")
	if err == nil {
		_, err = b.Apply(t.Context(), nil, review.Apply)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestUndo(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir -p d/e; echo a >a; echo b >d/b; chmod 755 d/b; ln -s a l; echo x >d/e/x; mkdir empty; printf '' >zero`)
	before := sum(t, p.Top)
	s := begin(t, p, "r1")
	sh(t, p.Top, `echo changed >a; rm d/b; rm -r d/e; rm l; mkdir l; echo in >l/in; mkdir n; echo new >n/new; rmdir empty; chmod 600 zero`)
	after := sum(t, p.Top)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := takeBack(t, run)
	if got := sum(t, p.Top); got != before {
		t.Errorf("%v\n%+v\nis\n%s\nwas\n%s", b.Stays, b.Changes, got, before)
	}
	list, err := back.Runs(t.Context(), p)
	if err != nil || len(list) != 2 || back.Last(list) != nil {
		t.Fatal(list, err)
	}
	takeBack(t, list[1])
	if got := sum(t, p.Top); got != after {
		t.Errorf("undone again: is\n%s\nwas\n%s", got, after)
	}
	if list, err = back.Runs(t.Context(), p); err != nil || len(list) != 3 || back.Last(list) == nil || back.Last(list).Run != "r1" {
		t.Errorf("%v %v", list, err)
	}
}

// A run whose end nobody saw is ended by the next look, with what changed until then; a name of any bytes is kept.
func TestKilled(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `echo a >a; echo secret >hidden`)
	p.Skip = []undo.Path{"hidden"} // of which nothing is kept, then as little
	begin(t, p, "r1").Close()      // as the kernel does
	p.Skip = nil
	name := "n\n\"\xff\t"
	if err := os.WriteFile(filepath.Join(p.Top, name), []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, secret := p.Store(), index.BlobID([]byte("secret\n"))
	if err := s.Get([]index.ID{secret}, func(index.ID, []byte) error { return errors.New("the secret is kept") }); err != nil {
		t.Error(err)
	}
	begin(t, p, "r2").Drop()
	list, err := back.Runs(t.Context(), p)
	if err != nil || len(list) != 1 || !list[0].Killed || len(list[0].Changes) != 1 || string(list[0].Changes[0].Path) != name {
		t.Fatalf("%+v %v", list, err)
	}
	if d, err := back.Diff(list[0], []string{"--stat"}); err != nil || !strings.Contains(string(d), `"n\n\"\377\t" | 1 +`) {
		t.Errorf("%s %v", d, err)
	}
	takeBack(t, list[0])
	if _, err := os.Lstat(filepath.Join(p.Top, name)); err == nil {
		t.Error("it is still there")
	}
}

// A link that a box put into the way to a project leads no undo anywhere.
func TestElsewhere(t *testing.T) {
	p := project(t)
	dir := filepath.Dir(p.Top)
	p.Top = filepath.Join(dir, "a/bin")
	sh(t, dir, `mkdir -p a/bin vic/bin; echo evil >a/bin/git`)
	s := begin(t, p, "r1")
	sh(t, p.Top, `rm git`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `mv a b; ln -s vic a`)
	if _, err := back.Of(run, t.TempDir(), "r2"); err == nil {
		t.Error("it goes through the link")
	}
}

// What a person wrote after the run stays also where nothing can be kept of it.
func TestTooLarge(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `echo was >a; ln -s x/HEAD d; mkdir git; mkfifo git/HEAD`)
	p.GitDir = filepath.Join(p.Top, "git")
	s := begin(t, p, "r1")
	sh(t, p.Top, `head -c 11000000 /dev/zero >a`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sh(t, p.Top, `{ echo mine; head -c 11000000 /dev/zero; } >a`)
	if b := takeBack(t, run); len(b.Stays) != 1 {
		t.Error(b.Stays)
	}
	sh(t, p.Top, `head -n 1 a | grep mine`)
}

// A path is in JSON what it was, whatever quotes are in it.
func TestPath(t *testing.T) {
	for _, p := range []undo.Path{"`.git/hooks`", `"a"`, "'a'", "\xff", "a\nb", ""} {
		data, err := json.Marshal(p)
		var is undo.Path
		if err == nil {
			err = json.Unmarshal(data, &is)
		}
		if err != nil || is != p {
			t.Errorf("%q is %q: %v", p, is, err)
		}
	}
}

// Folders have the modes that they had, whatever the umask is, and the undo of the undo finds them.
func TestModes(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir a b c e; echo x >a/x; echo x >c/x; echo s >s; chmod 0775 a; chmod 2770 b; chmod 0500 c; chmod 1777 e; chmod 4755 s`)
	before := strings.Replace(sum(t, p.Top), "f 4755 ./s \n", "", 1)
	s := begin(t, p, "r1")
	sh(t, p.Top, `chmod -R u+w .; rm -r a b c s; chmod 711 e`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := sum(t, p.Top)
	b := takeBack(t, run)
	if got := sum(t, p.Top); strings.Replace(got, "f 755 ./s \n", "", 1) != before {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, got, before)
	}
	if b := takeBack(t, b.Run); len(b.Stays) > 0 || sum(t, p.Top) != after {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, sum(t, p.Top), after)
	}
}

// A loss that cannot be taken back is named, and its run is there although nothing else changed; what the run did not
// touch is not named. What tools make again and is there keeps no run.
func TestMissed(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `truncate -s 11M big untouched grows; mkdir node_modules other .venv; mkdir other/.git; echo 1 >other/f; mkfifo fifo`)
	s := begin(t, p, "r1")
	sh(t, p.Top, `rm -r big node_modules other; echo 1 >>grows; truncate -s 11M new; echo 1 >.venv/deep; mkdir __pycache__`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `.venv	is made again by tools, and stays as it is now
__pycache__	is made again by tools, and stays
big	is larger than 10 MiB, and is gone
grows	is larger than 10 MiB, and stays as it is now
new	is larger than 10 MiB, and stays
node_modules	is made again by tools, and is gone
other/.git	is git's own, and is gone`
	if got := strings.Join(run.Left, "\n"); got != want {
		t.Errorf("%s\nis not\n%s", got, want)
	}
	for _, script := range []string{"rm new", "mkdir target; >Cargo.toml; rm Cargo.toml; rmdir target; mkdir venv; rm fifo; mkfifo fifo"} {
		id := "r" + script[:2]
		s := begin(t, p, id)
		sh(t, p.Top, script)
		if _, err = s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s = begin(t, p, "r3")
	sh(t, p.Top, `mkdir .tox; echo 1 >.venv/again`)
	if _, err = s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	list, err := back.Runs(t.Context(), p)
	if err != nil || len(list) < 2 || list[1].Run != "rrm" || len(list[1].Changes) > 0 || back.Last(list).Run == "r3" {
		t.Errorf("%+v %v", list, err)
	}
}

// A file with several names comes back under each of them.
func TestHardLinks(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `echo x >h1; ln h1 h2; ln h1 h3; ln h1 h4; echo x >m1; ln m1 m2`)
	before := sum(t, p.Top)
	s := begin(t, p, "r1")
	sh(t, p.Top, `echo y >>h1; rm h3; ln h1 h5; chmod 600 h2 m1`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b := takeBack(t, run)
	if got := sum(t, p.Top); got != before {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, got, before)
	}
}

// Folders that are closed for writing stop no undo, and are closed again.
func TestClosed(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir -p ro/sub; echo 1 >ro/w; echo 1 >ro/z; echo 1 >ro/sub/f; echo 1 >k; chmod 555 ro/sub ro`)
	before := strings.Replace(sum(t, p.Top), "d 755 . \n", "", 1)
	s := begin(t, p, "r1")
	sh(t, p.Top, `mkdir -p mod/a; echo y >mod/y; chmod -R a-w mod; chmod u+w ro ro/sub; echo bad >ro/w; rm ro/z; rm -r ro/sub; chmod a-w ro; echo bad >k; chmod 555 .`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	after := sum(t, p.Top)
	b := takeBack(t, run)
	if got := sum(t, p.Top); strings.Replace(got, "d 555 . \n", "", 1) != before {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, got, before)
	}
	b = takeBack(t, b.Run)
	if got := sum(t, p.Top); got != after {
		t.Errorf("%q\nis\n%s\nwas\n%s", b.Stays, got, after)
	}
	sh(t, p.Top, `chmod -R u+w .`)
}

// A box that swaps a closed folder for a link while an undo opens it has nothing opened outside, nor written.
func TestReadOnlySwapped(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir ro ../out; echo 1 >ro/f; echo 1 >../out/f; chmod 555 ro ../out; ln -s ../out l`)
	t.Cleanup(func() { sh(t, p.Top, `chmod -R u+rwx . ../out`) })
	out := func() string {
		o, err := exec.Command("stat", "-c", "%a %z", filepath.Join(p.Top, "../out"), filepath.Join(p.Top, "../out/f")).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(o)
	}
	was, done := out(), 0
	for i := range 40 {
		s := begin(t, p, fmt.Sprintf("r%d", i))
		sh(t, p.Top, `chmod u+w ro; echo 2 >>ro/f; echo 2 >ro/n; chmod a-w ro`)
		run, err := s.End(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := back.Of(run, t.TempDir(), run.Run+"x")
		if err != nil {
			t.Fatal(err)
		}
		stop, stopped := make(chan bool), make(chan bool)
		go func() {
			defer close(stopped)
			for n := 0; ; n++ {
				select {
				case <-stop:
					if n%2 == 0 {
						return
					}
				default:
				}
				_ = unix.Renameat2(unix.AT_FDCWD, p.Top+"/ro", unix.AT_FDCWD, p.Top+"/l", unix.RENAME_EXCHANGE)
			}
		}()
		if _, err := b.Apply(t.Context(), nil, review.Apply); err == nil {
			done++
		}
		close(stop)
		<-stopped
	}
	if is := out(); is != was {
		t.Errorf("is\n%s\nwas\n%s", is, was)
	}
	t.Log(done, "of 40 were taken back")
}

// Of runs of one second the first ones go.
func TestPrune(t *testing.T) {
	p := project(t)
	for i := range undo.KeptRuns + 2 {
		s := begin(t, p, fmt.Sprintf("r%02d", (i+undo.KeptRuns)%(undo.KeptRuns+2))) // r20, r21, r00, …
		sh(t, p.Top, `echo 1 >>f`)
		if _, err := s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := back.Runs(t.Context(), p)
	if err != nil || len(list) != undo.KeptRuns || list[0].Run != "r00" || list[undo.KeptRuns-1].Run != "r19" {
		t.Errorf("%+v %v", list, err)
	}
}

// A FIFO where git reads about another work tree costs no ref and no wait; one among the settings costs the refs, which is
// said.
func TestRefsAndFIFOs(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `git init -q; git config user.name a; git config user.email b; git commit -q --allow-empty -m one
		git worktree add -q ../wt -b side; rm .git/worktrees/wt/HEAD; mkfifo .git/worktrees/wt/HEAD`)
	p.GitDir = p.Top + "/.git"
	soon := program.Soon
	defer func() { program.Soon = soon }()
	for _, c := range []struct {
		script string
		refs   int
		left   string
	}{
		{`git update-ref refs/heads/x HEAD; echo 1 >a`, 1, ""},
		{`git update-ref refs/heads/y HEAD; echo 2 >a; mkfifo .git/ff; printf '[include]\npath = ff\n' >>.git/config`, 0, ".git\tits refs are not known: git did not say them"},
	} {
		s := begin(t, p, "r")
		sh(t, p.Top, c.script)
		if c.left != "" { // git waits
			program.Soon = time.Second / 4
		}
		run, err := s.End(t.Context())
		if err != nil || len(run.Refs) != c.refs || strings.Join(run.Left, " ") != c.left {
			t.Errorf("%s: %v %q %v", c.script, run.Refs, run.Left, err)
		}
	}
}

// An undo that was refused leaves nothing in the store; what is known stays part of the project, whatever build file a
// run puts beside it; a start that waits can be interrupted, and git does not wait for a FIFO.
func TestWaits(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `git init -q; git -c user.name=a -c user.email=b commit -q --allow-empty -m one; mkdir target; echo 1 >target/f`)
	p.GitDir = p.Top + "/.git"
	s := begin(t, p, "r1")
	sh(t, p.Top, `>Cargo.toml; git branch x`)
	if _, err := s.End(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = begin(t, p, "r2")
	sh(t, p.Top, `rm -r target; echo 2 >a; git -c user.name=a -c user.email=b commit -q --allow-empty -m two`)
	run, err := s.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refs, _ := filepath.Glob(filepath.Join(p.Dir(), "git/refs/inner/*/*"))
	sh(t, p.Top, `mkdir target; echo mine >target/g`)
	b, err := back.Of(run, t.TempDir(), "u1")
	if err != nil {
		t.Fatal(err)
	}
	b.Drop()
	if now, _ := filepath.Glob(filepath.Join(p.Dir(), "git/refs/inner/*/*")); len(now) != len(refs) {
		t.Errorf("%q are left", now)
	}
	takeBack(t, run)
	sh(t, p.Top, `read x <target/f; [ $x = 1 ]; rm .git/index; mkfifo .git/index`)
	program.Soon = 3 * time.Second // for git that waits; the git that finds an object has to answer in it
	defer func() { program.Soon = 10 * time.Second }()
	if list, stays := back.Standing(run); len(list) != 1 || len(stays) != 1 {
		t.Errorf("%v, %v", list, stays)
	}
	_, h, err := p.Locked(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second/4)
	defer stop()
	others := runtime.NumGoroutine()
	if _, err := undo.Begin(ctx, p, undo.About{Run: "r3"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	h.Close()
	for runtime.NumGoroutine() > others { // the one that waited for the lock opens the home, and closes it
		time.Sleep(time.Millisecond)
	}
}
