package stage

import (
	"slices"
	"testing"
	"time"

	"github.com/enr/inner/isolator/host"
)

// What a run can write is looked at by somebody: by itself, and then Close strikes it
// out, or by the next call, once, when it was killed.
func TestInterrupted(t *testing.T) {
	base, project := base(t), t.TempDir()
	ledger := base + ".ledger"
	since := time.Unix(12, 34)
	looked := func() []Watched {
		t.Helper()
		var all []Watched
		if err := Interrupted(ledger, func(w Watched) { all = append(all, w) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	start := func() *Run {
		t.Helper()
		r, err := New(base, ledger)
		if err != nil {
			t.Fatal(err)
		}
		r.Watch(since, []string{project}, []string{project + "/.git"})
		if err := r.Borrow(host.Placeholder{Path: project + "/.x"}); err != nil {
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
	if _, err := Sweep(base, ledger); err != nil {
		t.Fatal(err)
	}
	if there, err := (parents{}).exists(project + "/.x"); there || err != nil {
		t.Errorf("what it borrowed is there: %t, %v", there, err)
	}
	got := looked()
	if len(got) != 1 || !got[0].Since.Equal(since) || !slices.Equal(got[0].Roots, []string{project}) || !slices.Equal(got[0].Guarded, []string{project + "/.git"}) {
		t.Errorf("of a killed run: %v", got)
	}
	if got := looked(); len(got) > 0 {
		t.Errorf("a second time: %v", got)
	}
}
