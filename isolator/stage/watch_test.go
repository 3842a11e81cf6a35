package stage

import (
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/enr/inner/isolator/host"
)

// What a run can write is looked at by somebody: by itself, and then Close strikes it
// out, or by the next call, once, when it was killed.
func TestInterrupted(t *testing.T) {
	base, project := base(t), t.TempDir()
	journal := base + ".journal"
	since := time.Unix(12, 34)
	looked := func() []Watched {
		t.Helper()
		var all []Watched
		if err := Interrupted(journal, func(w Watched) { all = append(all, w) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	watched := Watched{
		Since: since, Roots: []string{project}, Obeyed: []string{project},
		Guarded: []string{project + "/.git"}, Unlisted: []string{project + "/deep"}, Before: []string{project + "/.envrc"}, Named: []string{project + "/x.sh"},
	}
	start := func() *Run {
		t.Helper()
		r, err := New(base, journal)
		if err != nil {
			t.Fatal(err)
		}
		r.Watch(watched, func() map[string]string {
			_, err := os.Lstat(project + "/.x") // it is asked once the placeholders are there
			return map[string]string{project + "/.x": fmt.Sprint("7:", err == nil)}
		})
		if err := r.MakePlaceholders(host.Placeholder{Path: project + "/.x"}); err != nil {
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
	r = start()
	r.lock.Close() // it was killed
	if _, err := Sweep(base, journal); err != nil {
		t.Fatal(err)
	}
	if there, err := (parents{}).exists(project + "/.x"); there || err != nil {
		t.Errorf("its placeholder is there: %t, %v", there, err)
	}
	got := looked()
	watched.Stood = map[string]string{project + "/.x": "7:true"}
	if len(got) != 1 || !reflect.DeepEqual(got[0], watched) {
		t.Errorf("of a killed run: %v", got)
	}
	if got := looked(); len(got) > 0 {
		t.Errorf("a second time: %v", got)
	}
}

// A person's own file at a place that a run noted as one that may come is no placeholder: it stays.
func TestNotedFileStays(t *testing.T) {
	base, project := base(t), t.TempDir()
	envrc := project + "/.envrc"
	r, err := New(base, base+".journal")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(envrc, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r.Watch(Watched{Since: time.Unix(12, 34), Roots: []string{project}, Before: []string{envrc}}, nil)
	if err := r.MakePlaceholders(host.Placeholder{Path: envrc, Content: []byte{}}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(envrc); err != nil {
		t.Errorf("a file that the run did not make was removed: %v", err)
	}
}
