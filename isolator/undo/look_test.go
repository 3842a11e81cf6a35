package undo

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/copytree"
)

// state is everything below a folder but for what is left out: what it is, its mode, and what is in it.
func state(t *testing.T, top string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && d.Name() == ".git":
			return filepath.SkipDir
		case d.Name() == ".git":
			return nil
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(top, name)
		if d.IsDir() && d.Name() == "node_modules" {
			out[rel] = left
			return filepath.SkipDir
		}
		var text []byte
		switch fi.Mode().Type() {
		case 0:
			text, err = os.ReadFile(name)
		case fs.ModeSymlink:
			var to string
			to, err = os.Readlink(name)
			text = []byte(to)
		}
		if rel != "." {
			out[rel] = fmt.Sprintf("%v %q", fi.Mode(), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const left = "what is left out"

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

// change does random things to a tree: files and links of all kinds are made, written, removed, moved, closed and
// turned into each other.
func change(t *testing.T, r *rand.Rand, top string, n int, more ...string) {
	t.Helper()
	names := []string{"a", "b", "B", "c d", "n\nl", "q\"\\t\t", "\xff\xfe", "-x", "ü"}
	names = append(names, more...)
	random := func() string {
		rel := top
		for range 1 + r.IntN(4) {
			rel = filepath.Join(rel, names[r.IntN(len(names))])
		}
		return rel
	}
	for range n {
		name := random()
		if strings.HasPrefix(name+"/", top+"/.git/") {
			continue
		}
		if !folders(top, filepath.Dir(name)) {
			continue
		}
		fi, err := os.Lstat(name)
		switch what := r.IntN(12); {
		case err == nil && what < 3:
			must(t, os.RemoveAll(name))
		case err == nil && what == 3:
			if to := random(); to != name && !strings.HasPrefix(to, name+"/") {
				_ = os.Rename(name, to)
			}
		case err == nil && what == 4 && fi.Mode()&fs.ModeSymlink == 0:
			must(t, os.Chmod(name, []fs.FileMode{0o700, 0o755, 0o711, 0o750}[r.IntN(4)]))
		case err == nil && fi.Mode().IsRegular() && what == 5:
			must(t, os.Chmod(name, []fs.FileMode{0o400, 0o644, 0o600, 0o664}[r.IntN(4)]))
		case what == 6:
			must(t, os.RemoveAll(name), os.Symlink([]string{"a", "nowhere", "/nowhere/a", "../b", "\xff\n"}[r.IntN(5)], name))
		case what == 7:
			must(t, os.RemoveAll(name), os.Mkdir(name, 0o755))
		default:
			if err == nil && fi.IsDir() && r.IntN(3) > 0 {
				continue
			}
			must(t, os.RemoveAll(name), os.WriteFile(name, bytes.Repeat([]byte{byte('a' + r.IntN(3))}, r.IntN(20)), 0o644))
		}
	}
}

// folders makes a folder and those that it is in, unless one of them is something else, as a link that leads elsewhere.
func folders(top, dir string) bool {
	if dir == top {
		return true
	}
	if !folders(top, filepath.Dir(dir)) {
		return false
	}
	_ = os.Mkdir(dir, 0o755)
	fi, err := os.Lstat(dir)
	return err == nil && fi.IsDir()
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
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

func randomTree(t *testing.T, r *rand.Rand, p Project, i int, leaves bool) {
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

// The state of a file that was written in the moment of the look, as far as its file system's clock tells, says nothing.
func TestRacy(t *testing.T) {
	known := tree{sure: 5e9}
	for ctime, want := range map[int64]bool{5e9 - 1: true, 5e9: false, 5e9 + 1: false, 4e9 + 1: true, 4e9: false, 3e9: false, 3e9 - 1e6: true} {
		if got := known.tells(copytree.State{Ctime: ctime}); got != want {
			t.Errorf("%d: %v", ctime, got)
		}
	}
}

// Contents that only the repository has are copied when a run changes them. One that is gone from there before is named,
// and so is nothing else.
// What a look had no room for is read by the next one, though nothing of it has changed.
func TestNoRoom(t *testing.T) {
	p := project(t)
	sh(t, p.Top, `mkdir d; echo mine >d/a`)
	begin(t, p, "r1").Drop()
	old := readManifest(p.manifest())
	for dir, l := range old.folders {
		old.folders[dir] = listing{l.states, strings.Repeat("\x00", len(l.ids))}
	}
	must(t, old.write(p.manifest()))
	s := begin(t, p, "r2")
	sh(t, p.Top, `echo other >d/a`)
	run, err := s.End(t.Context())
	must(t, err)
	takeBack(t, run)
	if got, _ := os.ReadFile(filepath.Join(p.Top, "d/a")); string(got) != "mine\n" {
		t.Errorf("d/a is %q, %+v", got, run)
	}
}

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
	mostPacks = 4
	defer func() { mostPacks = 50 }()
	for i := range 7 { // each a pack of more than a hundred contents
		s := begin(t, p, fmt.Sprintf("r%03d", i))
		sh(t, p.Top, `for i in $(seq 1 110); do echo $1.$i >f$i; done`, fmt.Sprint(i))
		_, err := s.End(t.Context())
		must(t, err)
	}
	st, h, err := p.locked(t.Context()) // which waits for git gc
	must(t, err)
	h.Close()
	packs, _ := filepath.Glob(filepath.Join(st.dir, "objects/pack/*.pack"))
	if len(packs) > 4 {
		t.Errorf("%d packs", len(packs))
	}
	list, err := p.List(t.Context())
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
