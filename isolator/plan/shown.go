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
	for _, a := range slices.Backward(b.plan.Args) {
		source, dest := a.mount()
		if dest == "" {
			continue
		}
		root, inside := above(dest, roots)
		_, covered := above(dest, later)
		later[dest] = true
		if !inside || covered {
			continue
		}
		s := Shown{Path: dest, Source: source}
		if source == b.s.Empty || b.isStaged(source) {
			s.Source = "" // nobody's to exchange
		}
		if root.Path == dest && root.Source == source {
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

// mount returns the source, if it is a path of the host, and the place of the
// mount that an argument makes.
func (a Arg) mount() (source, dest string) {
	for i, w := range a.Words {
		switch rest := a.Words[i+1:]; {
		case (w == "--bind" || w == "--ro-bind") && len(rest) > 1:
			return rest[0], rest[1]
		case w == "--ro-bind-data" && len(rest) > 1:
			return "", rest[1]
		case w == "--tmpfs" && len(rest) > 0:
			return "", rest[0]
		}
	}
	return "", ""
}
