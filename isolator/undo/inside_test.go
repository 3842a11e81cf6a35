package undo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
)

// A folder that is swapped for a link while it is read leads nowhere else.
func TestSwapped(t *testing.T) {
	p := project(t)
	secret := index.BlobID([]byte("secret\n"))
	sh(t, p.Top, `mkdir ../out d; echo secret >../out/f; echo 1 >d/f; ln -s ../out l; echo secret >../g; echo 1 >g; ln -s ../g k`)
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				close(stop)
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, p.Top+"/d", unix.AT_FDCWD, p.Top+"/l", unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(unix.AT_FDCWD, p.Top+"/g", unix.AT_FDCWD, p.Top+"/k", unix.RENAME_EXCHANGE)
			}
		}
	}()
	must(t, os.MkdirAll(p.Dir(), 0o700))
	for i := range 60 {
		st, err := openStore(p)
		must(t, err)
		now, err := p.look(t.Context(), st, tree{}, i%2 == 0)
		must(t, err, st.flush())
		if st.has[secret] {
			t.Fatalf("it read what a link leads to: %v", now.folders)
		}
	}
	stop <- true
	<-stop
}

// While another writes in the project, what is known of it stays true: a look afterwards knows each file as it is.
func TestMeanwhile(t *testing.T) {
	p := project(t)
	must(t, os.MkdirAll(p.Dir(), 0o700))
	s, err := openStore(p)
	must(t, err)
	known := tree{}
	for i := range uint64(8) {
		done := make(chan bool)
		go func() {
			defer close(done)
			for part := range uint64(4) {
				change(t, rand.New(rand.NewPCG(i, part)), p.Top, 100)
			}
		}()
		for range 5 {
			known, err = p.look(t.Context(), s, known, i%2 == 0)
			must(t, err)
		}
		<-done
		if known, err = p.look(t.Context(), s, known, false); err != nil {
			t.Fatal(err)
		}
		files := 0
		for dir, l := range known.folders {
			for name, e := range l.all() {
				if data, err := os.ReadFile(filepath.Join(p.Top, dir, name)); e.Mode.IsRegular() && (err != nil || e.ID != index.BlobID(data)) {
					t.Errorf("%q: %v", filepath.Join(dir, name), err)
				}
				files++
			}
		}
		if files != len(state(t, p.Top)) {
			t.Errorf("%d of %d", files, len(state(t, p.Top)))
		}
	}
	must(t, s.flush())
}

// The state of a file that was written in the moment of the look, as far as its file system's clock tells, says nothing.
func TestRacy(t *testing.T) {
	known := tree{sure: 5e9}
	for ctime, want := range map[int64]bool{5e9 - 1: true, 5e9: false, 5e9 + 1: false, 4e9 + 1: true, 4e9: false, 3e9: false, 3e9 - 1e6: true} {
		if got := known.tells(copytree.State{Ctime: ctime}); got != want {
			t.Errorf("%d: %v", ctime, got)
		}
	}
}

// TestEarly: what is known by a walk that began before it was known what the run can change is what a look finds, without
// what is covered; and one that is old, or before which another run ended, is not used.
func TestEarly(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir -p a/b secret/deep node_modules/x; echo 1 >a/f; echo 2 >a/.env; echo 3 >a/b/g; echo 4 >secret/deep/s; echo 5 >node_modules/x/i; ln -s a l`)
	time.Sleep(20 * time.Millisecond) // the clock of files has steps
	e := p.Walk()
	defer e.Stop()
	p.Skip = []Path{"secret", "a/.env"}
	e.walks.Wait()
	if e.now.folders["secret/deep"].states == "" || !e.ready(p) {
		t.Fatalf("no walk: %v", e.now)
	}
	sh(t, p.Top, `mkdir .git a/new; echo 6 >a/new/n; echo 7 >a/h; rm -r a/b; mkdir c; mv l c`) // before the run begins
	first := p
	first.Early = e
	s, err := Begin(t.Context(), first, About{Run: "r1"})
	must(t, err)
	s.Drop()
	is := readManifest(p.manifest())
	must(t, os.Remove(p.manifest()))
	s, err = Begin(t.Context(), p, About{Run: "r2"})
	must(t, err)
	s.Drop()
	want := readManifest(p.manifest())
	if len(want.folders) != 4 || !maps.Equal(is.folders, want.folders) || strings.Contains(fmt.Sprint(is), "secret\x00") || strings.Contains(fmt.Sprint(is), ".env") {
		t.Errorf("%q\nwant %q", is.folders, want.folders)
	}
	if e.ready(p) {
		t.Error("the manifest is another one")
	}
	again := Project{Top: p.Top, Home: p.Home}.Walk()
	defer again.Stop()
	if again.begun = again.begun.Add(-fresh); again.ready(p) {
		t.Error("an old walk is used")
	}
	known, err := again.finish(t.Context(), p.Store(), true, p.Skip)
	must(t, err)
	if !known.written {
		t.Errorf("an unchanged project is another one: %q", known.folders)
	}
}

// Where there is no repository, inner makes a placeholder for each run: what is known is not written anew for that.
func TestPlaceholder(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `echo 1 >a`)
	var known [4]string
	for i := range known {
		sh(t, p.Top, `mkdir .git`)
		if _, err := begin(t, p, "r").End(t.Context()); err != nil {
			t.Fatal(err)
		}
		known[i] = files.Identity(unix.AT_FDCWD, p.manifest())
		sh(t, p.Top, `mv .git "$1"`, fmt.Sprintf("../was%d", i)) // so that the next one is another
	}
	if known[2] != known[3] {
		t.Error(known)
	}
}
