package plan

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// The one check. What a box sees and can write is said by the list of operations and by nothing else, whoever
// made them. So the finished list is held against what the run grants, and neither the steps of a plan nor the
// features need be believed:
//
//   - what can be written lies in a folder that the run grants for that, or was made for the run;
//   - of what is hidden nothing is seen, whole or in part;
//   - what is held, for the host obeys it, can be written nowhere;
//   - what bwrap makes without mounting it (a file, a folder, a link) lies in memory;
//   - what the launcher makes when bwrap has made the rest covers nothing that is to be seen.
//
// It reads the list as bwrap does: the last mount at a place, or at a folder around it, decides.

// check refuses a list of operations that breaks one of these laws.
func (b *builder) check() error {
	decides := map[string]int{} // the last mount at each place
	for i, o := range b.plan.Ops {
		if o.Dest == "" {
			continue
		}
		makes := o.Kind == OpFile || o.Kind == OpDir || o.Kind == OpSymlink
		switch in := last(o.Dest, decides); {
		case makes && in >= 0 && b.plan.Ops[in].Kind != OpTmpfs:
			return b.unlawful(o, "%q would be made in %q, which is not in memory", o.Dest, b.plan.Ops[in].Dest)
		case o.bound() && o.Writable() && !b.ours(o.Source) && b.worksIn(o.Source) == "":
			return b.unlawful(o, "nothing grants writing %q", o.Source)
		}
		if o.Mounts() {
			decides[o.Dest] = i
		}
	}
	later := map[string]bool{} // places at or in which bwrap makes something by what follows
	for _, o := range slices.Backward(b.plan.Ops) {
		if o.Outside && o.Kind != OpBind && later[o.Dest] { // a folder on the way takes along what is in it
			return b.unlawful(o, "%q would cover what is mounted in it", o.Dest)
		}
		for p := o.Dest; !o.Outside && len(p) > 1 && !later[p]; p = filepath.Dir(p) {
			later[p] = true
		}
	}
	for i, o := range b.plan.Ops {
		from := o.hostPlace(o.Dest) // of a copy, the original: what is hidden in that the copy does not have
		if !o.bound() || b.ours(from) {
			continue
		}
		seen := func(real string) bool {
			rest, in := paths.Rest(from, real)
			return in && o.original == "" && last(filepath.Join(o.Dest, rest), decides) == i
		}
		for _, h := range b.hidden() {
			part := paths.Below(h.real, from) && last(o.Dest, decides) == i && !b.shownPart(from)
			if h.kind.Seen() && !h.is(from, o.alone) && (part || seen(h.real)) {
				return b.partShown(from, h)
			}
		}
		for _, h := range b.held() {
			if real := b.canon(h.path); o.Writable() && b.kind(h.path) != host.Missing && seen(real) && !b.inHidden(real) {
				return b.unlawful(o, "%q could be written, and %s", real, h.reason)
			}
		}
	}
	return nil
}

func (b *builder) unlawful(o Op, format string, args ...any) error {
	return fault.Refuse(125, "", "profile %q: %s: "+format, append([]any{b.rc.Name, o.Reason}, args...)...)
}

// ours reports whether a path is inner's own: all is there that is made for runs. What a preview would make has
// no path.
func (b *builder) ours(p string) bool {
	return !filepath.IsAbs(p) || slices.ContainsFunc(append(b.f.InnerHomes(), b.f.StageBase),
		func(own string) bool { return own != "" && paths.Below(b.canon(own), p) })
}

// shownPart reports whether a path is what the profile allows of a folder that is hidden.
func (b *builder) shownPart(p string) bool {
	return slices.ContainsFunc(b.places(true), func(h hid) bool { return h.part && h.real == p })
}
