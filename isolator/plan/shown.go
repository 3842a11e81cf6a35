package plan

import (
	"path/filepath"
	"slices"
)

// shown notes every mount that is made where the profile shows the host:
// another program, in another box of the same project, may exchange a folder
// there for a link while bwrap resolves the path, and would see what the link
// leads to mounted in this box, or take a cover off.
func (b *builder) shown() {
	roots := map[string]Shown{}
	for _, s := range b.plan.Shown {
		roots[s.Path] = s
	}
	if len(roots) == 0 {
		return
	}
	var out []Shown
	later := map[string]bool{} // what is below is not seen
	for _, o := range slices.Backward(b.plan.Ops) {
		if !o.Mounts() || o.kernels() {
			continue
		}
		root, inside := above(o.Dest, roots)
		_, covered := above(o.Dest, later)
		later[o.Dest] = true
		if !inside || covered || o.Outside { // the launcher looks at what it makes itself
			continue
		}
		s := Shown{Path: o.Dest}
		if o.Bind() && !b.isStaged(o.Source) { // what is made for the box is nobody's to exchange
			s.Source = o.Source
		}
		if root.Path == o.Dest && o.Bind() && root.Source == o.Source {
			s = root
		}
		out = append(out, s)
	}
	slices.Reverse(out)
	b.plan.Shown = out
}

// above returns what is kept for p or the nearest folder it is in.
func above[T any](p string, kept map[string]T) (T, bool) {
	for {
		if v, ok := kept[p]; ok {
			return v, true
		}
		if p == "/" {
			var none T
			return none, false
		}
		p = filepath.Dir(p)
	}
}
