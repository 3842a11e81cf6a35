package stage

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// The version before noted placeholders in the record of their run: those of a killed one go, too.
func TestPlacesOfTheVersionBefore(t *testing.T) {
	base, home, project := base(t), t.TempDir(), t.TempDir()
	r, err := New(base, home)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	dir, file := project+"/.git", project+"/a\nb"
	must(os.Mkdir(dir, 0o755))
	must(os.WriteFile(file, []byte(".\n"), 0o644))
	must(os.WriteFile(recordOf(r.record.Path), fmt.Appendf(nil, "%q\tdir\n%q\t%q\n", dir, file, ".\n"), 0o600))
	kill(r)
	if stuck, err := Sweep(base, home, nil); err != nil || len(stuck) > 0 || there(dir) || there(file) {
		t.Error(stuck, err, there(dir), there(file))
	}
}

// One before that had one file for all runs, which stays as long as one of them lives.
func TestJournalOfAVersionBefore(t *testing.T) {
	base, home, project := base(t), t.TempDir(), t.TempDir()
	dir, journal, was := project+"/a\tb", home+"/borrowed", t.TempDir()
	text := fmt.Appendf(nil, "%q\tlook:7\t%q\n%[1]q\tobeyed:\t%[2]q\n%[3]q\tdir\t%[2]q\ntorn", project, was+"/killed", dir)
	alive := fmt.Appendf(nil, "%q\tdir\t%q\n", dir, was+"/lives")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Mkdir(was+"/lives", 0o700), os.WriteFile(journal, append(alive, text...), 0o600)); err != nil {
		t.Fatal(err)
	}
	lock, err := owned.Lock(was+"/lives/lock", unix.LOCK_EX)
	if err != nil {
		t.Fatal(err)
	}
	var looked []Watched
	sweep := func() {
		t.Helper()
		if stuck, err := Sweep(base, home, func(w Watched) { looked = append(looked, w) }); err != nil || len(stuck) > 0 {
			t.Fatal(stuck, err)
		}
	}
	if sweep(); !there(dir) || !there(journal) || len(looked) > 0 {
		t.Error("beside one that lives:", there(dir), there(journal), looked)
	}
	lock.Close()
	sweep()
	want := []Watched{{Since: time.Unix(0, 7), Roots: []string{project}, Obeyed: []string{project}}}
	if there(dir) || there(journal) || !reflect.DeepEqual(looked, want) {
		t.Error("after them:", there(dir), there(journal), looked)
	}
	if sweep(); len(looked) > 1 {
		t.Error("looked again:", looked)
	}
}
