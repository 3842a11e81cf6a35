package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"testing"
	"time"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// What a run can write is looked at by somebody: by itself, and then Close strikes it
// out, or by the next call, once, when it was killed. A path can have any byte.
func TestInterrupted(t *testing.T) {
	base, home, project := base(t), t.TempDir(), t.TempDir()
	looked := func() (all []Watched) {
		t.Helper()
		if stuck, err := Sweep(base, home, func(w Watched) { all = append(all, w) }); err != nil || len(stuck) > 0 {
			t.Fatal(stuck, err)
		}
		return all
	}
	place := project + "/.x\xff"
	watched := Watched{
		Since: time.Unix(12, 34), Roots: []string{project}, Obeyed: []string{project + "/\xff"},
		Guarded: []string{project + "/.git"}, Unlisted: []string{project + "/deep"}, Before: []string{project + "/.envrc"}, Named: []string{project + "/x.sh"},
		Stood: map[string]string{place: "7:true"},
	}
	start := func() *Run {
		t.Helper()
		r, err := New(base, home)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(r.Watch(Watched{Roots: []string{"/of/a/plan/before"}, Stood: map[string]string{"/of": "it"}}),
			r.MakePlaceholders(host.Placeholder{Path: place}), r.Watch(watched))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := start()
	if got := looked(); len(got) > 0 {
		t.Errorf("of a living run: %v", got)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if got := looked(); len(got) > 0 {
		t.Errorf("of a run that ended: %v", got)
	}
	kill(start())
	got := looked()
	if there(place) {
		t.Error("its placeholder is there")
	}
	if len(got) != 1 || !got[0].Since.Equal(watched.Since) {
		t.Fatalf("of a killed run: %v", got)
	}
	got[0].Since = watched.Since
	if !reflect.DeepEqual(got[0], watched) {
		t.Errorf("of a killed run: %#v", got)
	}
	if got := looked(); len(got) > 0 {
		t.Errorf("a second time: %v", got)
	}
}

// What the version before noted in its journal is swept, and what runs of it have that still live stays.
func TestMigrate(t *testing.T) {
	base, home, project := base(t), t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(project, name) }
	live := filepath.Join(base, "live")
	if err := errors.Join(os.MkdirAll(live, 0o700), os.Chmod(base, 0o700), os.Mkdir(at("dir"), 0o755), os.Mkdir(at("shared"), 0o755), os.WriteFile(at("file"), []byte("x\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	lock, err := owned.Lock(filepath.Join(live, "lock"), syscall.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	line := func(path, what, run string) string {
		return fmt.Sprintf("%q\t%s\t%q\n", path, what, filepath.Join(base, run))
	}
	journal := line(project, "look:5", "dead") + line(at("b"), "before:", "dead") + line(at("b"), "stood:7:x", "dead") + line(at("dir"), "dir", "dead") + line(at("shared"), "dir", "dead") +
		line(at("file"), `"x\n"`, "dead") + line(at("shared"), "dir", "live") + "\n\n\"torn"
	if err := os.WriteFile(filepath.Join(home, "borrowed"), []byte(journal), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []Watched
	sweep := func() {
		t.Helper()
		if stuck, err := Sweep(base, home, func(w Watched) { got = append(got, w) }); err != nil || len(stuck) > 0 {
			t.Fatal(stuck, err)
		}
	}
	sweep()
	if there(at("dir")) || there(at("file")) || !there(at("shared")) {
		t.Error("what the dead run made is there, or not what the living needs")
	}
	if want := (Watched{Since: time.Unix(0, 5), Roots: []string{project}, Before: []string{at("b")}, Stood: map[string]string{at("b"): "7:x"}}); len(got) != 1 || !got[0].Since.Equal(want.Since) || !reflect.DeepEqual(got[0].Stood, want.Stood) || !reflect.DeepEqual(got[0].Before, want.Before) {
		t.Errorf("looked at: %v", got)
	}
	// One of this version keeps it, too, and then it goes.
	r, err := New(base, home)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.KeepPlaceholders(project), lock.Close(), os.RemoveAll(live)); err != nil {
		t.Fatal(err)
	}
	sweep()
	if !there(at("shared")) {
		t.Error("it went under a run that lives")
	}
	if err := r.Close(); err != nil || there(at("shared")) || there(filepath.Join(home, "borrowed")) {
		t.Errorf("left behind: %v", err)
	}
}

// A person's own file at a place that a run noted as one that may come is no placeholder: it stays.
func TestNotedFileStays(t *testing.T) {
	base, project := base(t), t.TempDir()
	envrc := project + "/.envrc"
	r, err := New(base, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(envrc, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	w := Watched{Since: time.Unix(12, 34), Roots: []string{project}, Before: []string{envrc}}
	if err := errors.Join(r.Watch(w), r.MakePlaceholders(host.Placeholder{Path: envrc, Content: []byte{}})); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(envrc); err != nil {
		t.Errorf("a file that the run did not make was removed: %v", err)
	}
}
