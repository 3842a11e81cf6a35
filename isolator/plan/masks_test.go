package plan

import (
	"fmt"
	"slices"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
)

// secretFiles is a machine with n files in the project that are hidden, and their names.
func secretFiles(n int) (host.Facts, []string) {
	f := bare()
	f.Sockets = nil
	f.Hide = &host.Hide{}
	for i := range n {
		p := fmt.Sprintf("%s/%03d.pem", testWork, i)
		f.Paths[p] = host.Path{Kind: host.File, Real: p, ID: host.ID{Dev: 7, Ino: uint64(100 + i)}}
		f.Hide.Paths = append(f.Hide.Paths, p)
	}
	f.MoveMount = true
	return f, f.Hide.Paths
}

// TestMasksOutside: where many files are hidden, all masks but one are made from outside,
// each known by what it covers; not where they are few, or where that is impossible.
func TestMasksOutside(t *testing.T) {
	for name, c := range map[string]struct {
		files   int
		change  func(*host.Facts, *[]string)
		outside bool
	}{
		"many":              {files: 40, outside: true},
		"few":               {files: 10},
		"root":              {files: 40, outside: true, change: func(f *host.Facts, _ *[]string) { f.UID = 0 }},
		"old kernel":        {files: 40, change: func(f *host.Facts, _ *[]string) { f.MoveMount = false }},
		"containers inside": {files: 40, change: func(f *host.Facts, allow *[]string) { *allow, f.Nested = []string{nestedKey}, &host.Nested{} }},
	} {
		f, hidden := secretFiles(c.files)
		rc := config()
		rc.Hide = []string{"*.pem"}
		if c.change != nil {
			c.change(&f, &rc.Allow)
		}
		p, err := Build(rc, f, staged())
		if err != nil {
			t.Errorf("%s: %v", name, fault.Code(err))
			continue
		}
		if (len(p.Masks) > 0) != c.outside {
			t.Errorf("%s: %d masks from outside", name, len(p.Masks))
		}
		// What the launcher can mount it also follows.
		if followed := c.outside || name == "few"; Follows(rc, f) != followed || (len(p.Masked) >= c.files) != followed {
			t.Errorf("%s: follows %v, %d places", name, Follows(rc, f), len(p.Masked))
		}
		r := replayed(p)
		for _, path := range hidden {
			if at := r.everywhere(path); len(at) > 0 {
				t.Errorf("%s: %s is seen at %s", name, path, at)
			}
		}
		if !c.outside {
			continue
		}
		for _, m := range p.Masks {
			if m.Path == p.Cover.Path || m.Dev != 7 || m.Ino == 0 {
				t.Errorf("%s: %+v", name, m)
			}
			if slices.ContainsFunc(p.Shown, func(s Shown) bool { return s.Path == m.Path }) {
				t.Errorf("%s: the supervisor is to look at %s, which is not there yet", name, m.Path)
			}
		}
		if !slices.Contains(p.Words(), p.Cover.Path) {
			t.Errorf("%s: bwrap does not make the mask %s", name, p.Cover.Path)
		}
	}
}

// TestMaskedBelow: a mask that something is mounted around later stays with bwrap, which
// makes it before that.
func TestMaskedBelow(t *testing.T) {
	f, hidden := secretFiles(40)
	b := &builder{rc: config(), f: f, s: staged()}
	b.bind("all", "/", "/", true)
	for _, p := range hidden {
		b.coverFile("hidden", b.s.Empty, p)
	}
	b.tmpfs("over one", 0o755, hidden[3])
	if err := b.masksOutside(); err != nil || len(b.plan.Masks) != 38 {
		t.Fatal(len(b.plan.Masks), err)
	}
	for _, m := range b.plan.Masks {
		if m.Path == hidden[3] {
			t.Error("it would be covered where it is not seen any more")
		}
	}
}
