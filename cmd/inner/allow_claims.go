package main

import (
	"slices"

	"github.com/enr/inner/profile/trust"
)

// givenUp are the words that a yes would no longer guard: what was allowed claimed them, and
// nothing that stays or comes does, nor your own config.toml.
func (a *app) givenUp(p proposal) (words []string) {
	var kept []string
	shims := p.cfg.Config.Shims
	if own, err := a.GlobalConfig(); err == nil {
		shims = slices.Concat(shims, own.Shims)
	}
	for _, kv := range shims {
		kept = append(kept, kv.Key)
	}
	for _, c := range p.list {
		kept = append(kept, c.Profile.Commands()...)
	}
	if old := p.rec.ConfigRecord(); old != nil && old.Decision == trust.Allowed {
		words = append(words, old.Commands...)
	}
	for _, old := range p.rec.All() {
		switch {
		case !p.has(old.Path) && (p.one || slices.Contains(p.files, old.Path)): // not asked about, or broken: it stays as it is
			kept = append(kept, old.Commands...)
		case old.Decision == trust.Allowed:
			words = append(words, old.Commands...)
		}
	}
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(w string) bool { return slices.Contains(kept, w) })
}
