package plan

import (
	"testing"

	"github.com/enr/inner/isolator/host"
)

// BenchmarkBuild plans a box for a host with every sensitive resource in
// place, and for one with none.
func BenchmarkBuild(b *testing.B) {
	for name, f := range map[string]host.Facts{"full": machine(), "bare": bare()} {
		b.Run(name, func(b *testing.B) {
			withFolders(&f)
			for b.Loop() {
				if _, err := Build(config(), f, staged()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func bare() host.Facts {
	f := machine()
	for _, r := range site(config(), f).Places(f.Match) {
		for _, p := range r.At {
			f.Paths[p] = host.Path{Kind: host.Missing, Real: p}
		}
	}
	f.Globs = nil
	return f
}
