package repos

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
)

// A mount keeps what it lies on from being moved in its own mount namespace, and in no other
// one. Whoever moves it from another goes off with the mount, and leaves the name to the box
// (measured with Linux 6.18): the host, inner at the end of another run, or a box that makes
// containers, in a mount namespace of its own without the box's mounts. So what lies at such a
// place at the end counts as what was there before when it is the same.

// Stood returns what is at each of the paths: text that nothing else has that is made there later.
func Stood(list ...[]string) map[string]string {
	out := map[string]string{}
	for _, p := range slices.Concat(list...) {
		out[p] = files.Identity(unix.AT_FDCWD, p)
	}
	return out
}

// standing returns those of the paths at which the same is as before the run, as far as that is known.
func (s Search) standing(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(p string) bool {
		was, known := s.Stood[p]
		return known && was != files.Identity(unix.AT_FDCWD, p)
	})
}
