// Package why answers questions about the box of one run: is a path, a host, a variable or
// a command granted, how does it look in the box, which key of which file decides that, and
// what would grant more. The answers come from the plan of the run, which is also what the box is
// made from, and not from the profile a second time.
//
//	t := why.Of(prepared)                // of package run
//	a := t.Path("/home/u/app/.env")      // Access "hidden", Key "env-files"
package why

import (
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

	Makes   bool `json:"makes,omitempty"` // it is nowhere, and the box can make it
	Refused bool `json:"-"`               // a line refuses it, and no other one gives it back

	own string // as asked, links not followed; "" where the box has something of that name
}

// Granted reports whether the box has it: to be read, or with write to be written.
func (a Answer) Granted(write bool) bool {
	return a.Access == ReadWrite || a.Access == ReadOnly && !write
}

// rule is what an operation of the plan puts at one place of the box. It overrides earlier ones for
// that place and everything below it.
type rule struct {
	plan.Op
	At     string // a box path
	Write  bool
	Hides  bool // it covers something of the host
	How    string
	From   string
	kind   kind
	source string // what of the host is shown there, when kind is shown
}

// kind is what an operation puts at a place.
type kind int

const (
	shown  kind = iota // a path of the host
	folder             // a folder in memory
	file               // a file made for the box
	link
	made    // a folder that is made in one in memory
	kernels // what the kernel shows: /proc and /dev
)

// Table is everything there is to say about one box.
type Table struct {
	rules   []rule
	box     *run.Prepared
	origins []profile.Origin
	keys    []string // of the table of resources
}

// Of returns the table of a planned run: the operations of its plan in their order, with what comes after them.
func Of(b *run.Prepared) *Table {
	t := &Table{box: b, origins: b.Profile.Origins(), keys: profile.AllowKeys()}
	root := plan.Op{Kind: plan.OpTmpfs, Dest: "/", Key: "sandbox.base", Reason: "a folder on the way to what the box shows", Perms: 0o755}
	for _, o := range slices.Concat([]plan.Op{root}, b.Plan.Ops) { // bwrap begins with an empty root
		switch o.Kind {
		case plan.OpSeal:
			for i := range slices.Backward(t.rules) {
				if r := &t.rules[i]; r.At == o.Dest && r.kind != link && r.kind != made {
					r.Write = false
					break
				}
			}
		case plan.OpNote, plan.OpSwitch, plan.OpFilter:
		default:
			t.add(o)
		}
	}
	if l := b.Plan.Landlock; l != nil && l.Writes {
		for i := range t.rules {
			r := &t.rules[i]
			r.Write = r.Write && slices.ContainsFunc(l.Writable, func(p string) bool { return paths.Below(p, r.At) })
		}
	}
	return t
}

// Network is the network of the box, and Profile the name of its profile.
func (t *Table) Network() profile.Network { return t.box.Spec.Network }

// Profile is documented at Network.
func (t *Table) Profile() string { return t.box.Spec.Name }

// hidden returns the key of the resource that hides a path of the host; "" for none.
func (t *Table) hidden(hostPath string) string {
	if key := plan.ResourceAt(hostPath, t.box.Spec, t.box.Facts); !slices.Contains(t.box.Spec.Allow, key) {
		return key
	}
	return ""
}

// add adds what an operation puts at a place, and at places below it where that is a git directory that is
// served: a box can write most of it.
func (t *Table) add(o plan.Op) {
	r := rule{Op: o, At: o.Dest, Write: o.Writable(), Hides: strings.HasPrefix(o.Reason, "hidden:"), How: o.Reason, From: t.from(o), source: o.Source}
	switch o.Kind {
	case plan.OpMask:
		r.kind, r.Hides, r.How = file, true, "empty file"
	case plan.OpData, plan.OpFile:
		if r.kind = file; r.Hides {
			r.How = "file that says so"
		}
	case plan.OpTmpfs:
		if r.kind = folder; r.Hides {
			r.How = "empty folder"
		}
	case plan.OpProc, plan.OpDev:
		r.kind = kernels
	case plan.OpSymlink:
		r.kind = link
	case plan.OpDir:
		r.kind = made
	}
	served := !r.Write && slices.ContainsFunc(t.box.Assets.Repos, func(p plan.Repo) bool { return p.Dir == r.At })
	r.Write = r.Write || served
	t.rules = append(t.rules, r)
	if !served {
		return
	}
	for _, of := range []struct {
		name, how string
		write     bool
		kind      kind
	}{
		{name: "hooks", how: "your hooks, which run in the box as well"},
		{name: "description", how: "the repository's own"},
		{name: "branches", how: "the repository's own"},
		{name: "config", how: "settings made of yours: what the box changes stays with it", write: true},
		{name: "objects", how: "what the box adds; it reads the repository's own", write: true, kind: folder},
	} {
		below := r
		below.At, below.source, below.kind = filepath.Join(r.At, of.name), filepath.Join(r.source, of.name), of.kind
		below.How, below.Write = of.how, of.write
		t.rules = append(t.rules, below)
	}
}

// over returns the rule that decides about a box path, and its index.
func over(list []rule, p string) (int, *rule) {
	for i := range slices.Backward(list) {
		r := &list[i]
		if r.kind != link && r.kind != made && paths.Below(r.At, p) {
			return i, r
		}
	}
	return -1, nil
}

// Workdir is the working folder of the box, as the host has it.
func (t *Table) Workdir() string { return t.box.Spec.Workdir }
