package main

import (
	"github.com/enr/inner/isolator/run"
)

// holds says what holds each key of a profile in the box that was made for it.
func (a *app) holds(b *run.Prepared) []finding {
	list := []finding{ok("program", "%s", a.Short(b.Program))}
	for _, h := range b.Holds() {
		f := ok(h.Name, "%s", h.Text)
		if h.Fix != "" {
			f = warning(h.Name, h.Fix, "%s", h.Text)
		}
		list = append(list, f)
	}
	return list
}
