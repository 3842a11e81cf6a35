package undo_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/undo"
	"github.com/enr/inner/isolator/undo/back"
)

func diff(is, want map[string]string) string {
	var out strings.Builder
	both := maps.Clone(is)
	maps.Copy(both, want)
	for _, rel := range slices.Sorted(maps.Keys(both)) {
		if is[rel] != want[rel] {
			fmt.Fprintf(&out, "%q is %s, want %s\n", rel, is[rel], want[rel])
		}
	}
	return out.String()
}

// wanted is what a project has to be once a run is taken back: of what is as the run left it, what was before.
func wanted(before, end, now map[string]string) map[string]string {
	want := maps.Clone(now)
	all := maps.Clone(before)
	maps.Copy(all, end)
	for rel := range all {
		if now[rel] == end[rel] && before[rel] != left && (before[rel] != "" || end[rel] != left) {
			if want[rel] = before[rel]; want[rel] == "" {
				delete(want, rel)
			}
		}
	}
	return want
}

// A hundred random trees: a run changes each, then a person; what the run did is taken back, and that, too.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for part := range uint64(4) {
		t.Run(fmt.Sprint(part), func(t *testing.T) {
			t.Parallel()
			p := project(t)
			if part > 1 {
				sh(t, p.Top, `git init -q`)
				p.Index, p.Objects = p.Top+"/.git/index", p.Top+"/.git"
			}
			r := rand.New(rand.NewPCG(seed, part))
			for i := range 25 {
				if randomTree(t, r, p, i, part%2 == 1); t.Failed() {
					t.Fatalf("seed %d, part %d, tree %d", seed, part, i)
				}
			}
		})
	}
}

func randomTree(t *testing.T, r *rand.Rand, p undo.Project, i int, leaves bool) {
	t.Helper()
	var more []string
	if leaves {
		more = []string{".git", "node_modules"} // a folder that has them stays
	}
	change(t, r, p.Top, 20+40/(i+1), more...)
	if p.Index != "" {
		sh(t, p.Top, `git add -A 2>/dev/null || :`)
	}
	before := state(t, p.Top)
	s := begin(t, p, fmt.Sprintf("r%03d", i))
	change(t, r, p.Top, 1+r.IntN(40), more...)
	end := state(t, p.Top)
	run, err := s.End(t.Context())
	must(t, err)
	if i%2 == 0 {
		change(t, r, p.Top, 1+r.IntN(5), more...)
	}
	now := state(t, p.Top)
	b := takeBack(t, run)
	want := wanted(before, end, now)
	for _, line := range b.Stays {
		rel := line[:strings.LastIndexByte(line, '\t')]
		if want[rel] = now[rel]; now[rel] == "" {
			delete(want, rel)
		}
		if i%2 == 1 && !leaves {
			t.Errorf("%q stays", line)
		}
	}
	if d := diff(state(t, p.Top), want); d != "" {
		t.Errorf("taken back:\n%s\n%q\n%+v", d, b.Stays, run.Changes)
	}
	takeBack(t, b.Run)
	if d := diff(state(t, p.Top), now); d != "" {
		t.Errorf("and that:\n%s\n%q", d, b.Stays)
	}
}

// What a look had no room for is read by the next one, though nothing of it has changed.
func TestNoRoom(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir d; echo mine >d/a`)
	begin(t, p, "r1").Drop()
	undo.Unread(t, p)
	s := begin(t, p, "r2")
	sh(t, p.Top, `echo other >d/a`)
	run, err := s.End(t.Context())
	must(t, err)
	takeBack(t, run)
	if got, _ := os.ReadFile(filepath.Join(p.Top, "d/a")); string(got) != "mine\n" {
		t.Errorf("d/a is %q, %+v", got, run)
	}
}

// Contents that only the repository has are copied when a run changes them. One that is gone from there before is named,
// and so is nothing else.
func TestBorrowed(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `git init -q; for i in $(seq 1 150); do echo $i >f$i; printf '$i\r\n' >c$i; done; git add -A
		git -c user.name=a -c user.email=b commit -qm x`)
	p.Index, p.Objects = p.Top+"/.git/index", p.Top+"/.git"
	s := begin(t, p, "r1")
	sh(t, p.Top, `echo new >f150; rm f149; git add -A; git -c user.name=a -c user.email=b commit -qm y; git gc -q --prune=now`)
	run, err := s.End(t.Context())
	must(t, err)
	sh(t, p.Top, `rm -rf .git`) // what the run changed is inner's by now
	if b := takeBack(t, run); len(b.Stays) > 0 {
		t.Errorf("%q", b.Stays)
	}
	sh(t, p.Top, `[ "$(cat f149 f150)" = "$(printf '149\n150')" ]`)
	s = begin(t, p, "r2")
	sh(t, p.Top, `rm f*`)
	run, err = s.End(t.Context())
	must(t, err)
	if b := takeBack(t, run); len(b.Stays) > 0 { // the repository was gone before the run began
		t.Errorf("%d: %q", len(b.Stays), b.Stays)
	}
	sh(t, p.Top, `cat f1 f149 >/dev/null`)
}

// What the repository has no more is copied before the next run, also where the files did not change.
func TestPruned(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `git init -q; git config user.name a; git config user.email b; git commit -q --allow-empty -m one; for i in $(seq 1 200); do echo $i >f$i; done; git add -A; git commit -qm x`)
	p.Index, p.Objects = p.Top+"/.git/index", p.Top+"/.git"
	begin(t, p, "r1").Drop()
	sh(t, p.Top, `git reset -q HEAD~1; git reflog expire --expire=now --all; git gc -q --prune=now`)
	s := begin(t, p, "r2")
	sh(t, p.Top, `rm f*`)
	run, err := s.End(t.Context())
	must(t, err)
	if b := takeBack(t, run); len(b.Stays) > 0 || len(b.Changes) != 200 {
		t.Errorf("%d: %q", len(b.Changes), b.Stays)
	}
}

// What no run and no manifest needs goes by and by, and nothing else.
func TestCollect(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `for i in $(seq 1 150); do echo $i >f$i; done`)
	defer undo.SetMostPacks(undo.SetMostPacks(4))
	for i := range 7 { // each a pack of more than a hundred contents
		s := begin(t, p, fmt.Sprintf("r%03d", i))
		sh(t, p.Top, `for i in $(seq 1 110); do echo $1.$i >f$i; done`, fmt.Sprint(i))
		_, err := s.End(t.Context())
		must(t, err)
	}
	_, h, err := p.Locked(t.Context()) // which waits for git gc
	must(t, err)
	h.Close()
	packs, _ := filepath.Glob(filepath.Join(p.Dir(), "git/objects/pack/*.pack"))
	if len(packs) > 4 {
		t.Errorf("%d packs", len(packs))
	}
	list, err := back.Runs(t.Context(), p)
	must(t, err)
	if len(list) != 7 {
		t.Errorf("%d runs", len(list))
	}
	for _, r := range slices.Backward(list) {
		if b := takeBack(t, r); len(b.Stays) > 0 {
			t.Fatalf("%s: %q", r.Run, b.Stays)
		}
	}
	sh(t, p.Top, `[ "$(cat f1 f110 f111)" = "$(printf '1\n110\n111')" ]`)
}
