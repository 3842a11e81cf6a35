// Package why answers questions about the box of one run: is a path, a host, a variable or
// a command granted, how does it look in the box, which key of which file decides that, and
// what would grant more. The answers come from the plan of the run, which is also what the box is
// made from, and not from the profile a second time.
//
//	t := why.Of(prepared)                // of package run
//	a := t.Path("/home/u/app/.env")      // Access "hidden", Key "env-files"
package why

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/profile"
)

// Access says how much the box has of a thing of the host.
type Access string

// The kinds of access.
const (
	ReadWrite Access = "rw"
	ReadOnly  Access = "ro"
	Hidden    Access = "hidden"  // a key or inner itself covers it: what is seen there is empty, or nothing
	Absent    Access = "absent"  // it is nowhere
	Outside   Access = "outside" // the host has it, and the box does not
)

// Answer is the answer about one thing.
type Answer struct {
	Asked  string `json:"asked"`
	Real   string `json:"real"`   // on the host, links resolved
	Box    string `json:"box"`    // in the box, links resolved as there
	Access Access `json:"access"` // see the constants
	How    string `json:"how"`    // it looks in the box, in words
	Key    string `json:"key"`    // of the profile language, or of the table of resources
	From   string `json:"from"`   // FILE:LINE, or in words where no file says it
	Widen  string `json:"widen"`  // what to write; "" when nothing widens it

	Makes   bool   `json:"makes,omitempty"` // it is nowhere, and the box can make it
	Own     bool   `json:"-"`               // the box has it, and not what the host has of that name
	Link    bool   `json:"-"`               // it was asked for by a link of the user's own, which the box lacks: it has Real, or Lines grant that
	Refused bool   `json:"-"`               // a line refuses it, and no other one gives it back
	Type    string `json:"-"`               // what makes outside what is missing there; "" where that is not known
	Lines   []Line `json:"-"`               // which say what Widen says; none where it takes more than to add lines

	own string // as asked, links not followed; "" where the box has something of that name
}

// Granted reports whether the box has it: to be read, or with write to be written.
func (a Answer) Granted(write bool) bool {
	return a.Access == ReadWrite || a.Access == ReadOnly && !write
}

// Table is everything there is to say about one box.
type Table struct {
	Write bool // what would widen an answer is to let the box write, too
	Box   *run.Prepared

	ops     []plan.Op // what is put at places of the box: a later one overrides earlier ones there and below
	sealed  map[string]bool
	origins []profile.Origin
	keys    []string // of the table of resources
	scripts []string // that are asked about: each may be the interpreter of the one before
}

// committed is how a hidden file looks of which git has something.
const committed = "what the last commit has of it"

// Of returns the table of a planned run that was not made: the operations of its plan in their order, with what
// comes after them.
func Of(b *run.Prepared) *Table {
	t := &Table{sealed: map[string]bool{}, Box: b, origins: b.Profile.Origins(), keys: profile.AllowKeys()}
	root := plan.Op{Kind: plan.OpTmpfs, Dest: "/", Key: "sandbox.base", Reason: "a folder on the way to what the box shows", Perms: 0o755}
	heads := slices.Collect(maps.Values(b.Assets.Heads))
	for _, o := range slices.Concat([]plan.Op{root}, b.Plan.Ops) { // bwrap begins with an empty root
		switch o.Kind {
		case plan.OpSeal:
			t.sealed[o.Dest] = true
		case plan.OpNote, plan.OpSwitch, plan.OpFilter:
		default:
			if slices.Contains(heads, o.Source) {
				o.Kind, o.Reason = plan.OpData, committed
			}
			t.ops = append(t.ops, o)
			if o.Kind == plan.OpReadOnly && slices.ContainsFunc(b.Assets.Repos, func(p plan.Repo) bool { return p.Dir == o.Dest }) {
				t.serve(len(t.ops) - 1)
			}
		}
	}
	return t
}

// serve makes of the bind of a git directory what it is once it is served: a box can write most of it.
func (t *Table) serve(at int) {
	t.ops[at].Kind = plan.OpBind
	for _, of := range []struct {
		name, how string
		kind      plan.OpKind
	}{
		{"hooks", "your hooks, which run in the box as well", plan.OpReadOnly},
		{"description", "the repository's own", plan.OpReadOnly},
		{"branches", "the repository's own", plan.OpReadOnly},
		{"config", "settings made of yours: what the box changes stays with it", plan.OpBind},
		{"objects", "what the box adds; it reads the repository's own", plan.OpTmpfs},
	} {
		below := t.ops[at]
		below.Kind, below.Reason, below.Perms = of.kind, of.how, 0o755
		below.Dest, below.Source = filepath.Join(below.Dest, of.name), filepath.Join(below.Source, of.name)
		t.ops = append(t.ops, below)
	}
}

// over returns which operation decides about a box path.
func (t *Table) over(p string) int {
	for i, o := range slices.Backward(t.ops) {
		if (o.Mounts() || o.Kind == plan.OpFile) && paths.Below(o.Dest, p) {
			return i
		}
	}
	return 0 // the root
}

// writable reports whether the box can write what an operation puts at its place.
func (t *Table) writable(o plan.Op) bool {
	return o.Writable() && !t.sealed[o.Dest] && !t.confined(o.Dest)
}

// confined reports whether Landlock keeps the box from writing at a place.
func (t *Table) confined(box string) bool {
	l := t.Box.Plan.Landlock
	return l != nil && l.Writes && !slices.ContainsFunc(l.Writable, func(p string) bool { return paths.Below(p, box) })
}

// hides reports whether an operation covers something of the host.
func hides(o plan.Op) bool {
	return o.Kind == plan.OpMask || strings.HasPrefix(o.Reason, "hidden:")
}

// how says how the place of an operation looks in the box.
func how(o plan.Op) string {
	switch {
	case o.Kind == plan.OpMask:
		return "empty file"
	case hides(o) && o.Kind == plan.OpTmpfs:
		return "empty folder"
	case hides(o) && (o.Kind == plan.OpData || o.Kind == plan.OpFile):
		return "file that says so"
	}
	return o.Reason
}

// hidden returns the key of the resource that hides a path of the host; "" for none.
func (t *Table) hidden(hostPath string) string {
	if key := plan.ResourceAt(hostPath, t.Box.Spec, t.Box.Facts); !slices.Contains(t.Box.Spec.Allow, key) {
		return key
	}
	return ""
}
