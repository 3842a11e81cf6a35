// Package why answers questions about the box of one run: is a path, a host, a variable or
// a command granted, how does it look in the box, which key of which file decides that, and
// what would grant more. The answers come from the plan of the run, which is also what the box is
// made from, and not from the profile a second time.
//
//	t := why.Of(prepared)                // of package run
//	a := t.Path("/home/u/app/.env")      // Access "hidden", Key "env-files"
//
// Inside a box there is no plan. The box has the rules of package rules, and Read makes a Table of
// them that also looks at the files of the box.
package why

import (
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/rules"
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
	Real   string `json:"real"`   // on the host, links resolved; in a box, its own path
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

// rule is a rule of the box, and what shows it.
type rule struct {
	rules.Rule
	Widen  string // not for one path: see Table.widen
	stated bool   // Widen is the whole answer
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
	*rules.Table
	rules []rule
	box   *run.Prepared           // nil inside a box
	disk  func(path string) entry // looks at the host, or inside a box at that
	keys  []string                // of resources
}

// Of returns the table of a planned run.
func Of(b *run.Prepared) *Table {
	return tableOf(b.Rules(), b, onHost)
}

// Read returns the table of the box that this process is in, from what the box has at rules.Place.
func Read(text []byte) (*Table, error) {
	var of rules.Table
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, err
	}
	return tableOf(&of, nil, inBox), nil
}

func tableOf(of *rules.Table, b *run.Prepared, disk func(string) entry) *Table {
	t := &Table{Table: of, box: b, disk: disk, keys: profile.AllowKeys()}
	for _, r := range of.Rules {
		for _, r := range served(t.ruleOf(r)) {
			r.Widen, r.stated = t.widenOf(r)
			t.rules = append(t.rules, r)
		}
	}
	return t
}

// hidden returns the key of the resource that hides a path of the host; "" for none.
func (t *Table) hidden(hostPath string) string {
	if key := plan.ResourceAt(hostPath, t.box.Spec, t.box.Facts); !slices.Contains(t.box.Spec.Allow, key) {
		return key
	}
	return ""
}

// ruleOf says what shows a rule. In the box, the box is all there is.
func (t *Table) ruleOf(of rules.Rule) rule {
	r := rule{Rule: of, source: of.Op.Source}
	if t.box == nil {
		r.source = of.At
		return r
	}
	switch of.Op.Kind {
	case plan.OpMask, plan.OpData, plan.OpFile:
		r.kind = file
	case plan.OpTmpfs:
		r.kind = folder
	case plan.OpProc, plan.OpDev:
		r.kind = kernels
	case plan.OpSymlink:
		r.kind = link
	case plan.OpDir:
		r.kind = made
	}
	return r
}

// served returns what becomes of a rule where a git directory is served: a box can write most of it.
func served(r rule) []rule {
	all := []rule{r}
	if !r.Served {
		return all
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
		below.How, below.Write = of.how, r.Write && of.write
		all = append(all, below)
	}
	return all
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

// Workdir is the working folder of the box, as the host has it; "" inside a box.
func (t *Table) Workdir() string {
	if t.box == nil {
		return ""
	}
	return t.box.Spec.Workdir
}
