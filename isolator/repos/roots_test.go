package repos

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/stage"
)

// A root that is renamed while the box runs is searched where it is then, with everything that is known of it; what came to its
// place is not the box's.
func TestFollow(t *testing.T) {
	p := newPlace(t)
	p.sh(evil + "mkdir a gone; make a/known; git -C a/known config core.fsmonitor persons; echo x >a/.envrc; echo x >a/.mise.toml; ln -s a link")
	since := p.begin()
	top := p.dir + "/p"
	for _, root := range []string{top + "/a", top + "/link", top} {
		r := Open([]string{root, top + "/gone", top + "/none"})
		p.sh(evil + "rmdir gone; mv a b; rm link; mkdir a; ln -s a link; echo x >a/.envrc; echo x >b/.envrc; make b/r; git -C b/r config core.fsmonitor evil; cd ..; mv p q")
		in := root
		if root == top {
			in = top + "/b" // a folder in a root is found by the walk
		}
		s, lost := r.Follow(Search{Watched: stage.Watched{Roots: []string{root, top + "/gone"}, Obeyed: []string{root}, Since: since, Guarded: []string{in + "/known/.git"}, Before: []string{in + "/.mise.toml"}, Stood: map[string]string{in + "/.mise.toml": files.Identity(unix.AT_FDCWD, p.dir+"/q/b/.mise.toml")}}})
		r.Close()
		if len(lost) > 0 {
			t.Errorf("%s: lost %q", root, lost)
		}
		found, err := s.Hold()
		want := "q/b/.envrc"
		if root == top {
			want = "q/a/.envrc q/b/.envrc"
		}
		if got := p.moved(found.Moved); got != want || err != nil {
			t.Errorf("%s: %q, %v", root, got, err)
		}
		if got := p.what(found.Moved); got != p.dir+"/q/b/r/.git: core.fsmonitor" {
			t.Errorf("%s: %q", root, got)
		}
		must(t, os.Rename(p.dir+"/q", top))
		p.sh("rm -rf a b/r b/.envrc* link; mv b a; mkdir gone; echo x >a/.envrc; ln -s a link")
	}
}

// A root that no name leads to is lost, and said to be.
func TestFollowLost(t *testing.T) {
	read, write, err := os.Pipe() // as open as a folder under a mount, and as nameless
	must(t, err)
	defer read.Close()
	defer write.Close()
	s, lost := Roots{"/x": read}.Follow(Search{Watched: stage.Watched{Roots: []string{"/x", "/y"}}})
	if !slices.Equal(lost, []string{"/x"}) || !slices.Equal(s.Roots, []string{"/y"}) {
		t.Errorf("lost %q, searched %q", lost, s.Roots)
	}
}
