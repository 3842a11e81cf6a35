// Package why answers questions about the box of one run: is a path, a host, a variable or
// a command granted, how does it look in the box, which key of which file decides that, and
// what would grant more. The answers come from the plan of the run, which is also what the box is
// made from, and not from the profile a second time.
//
//	t := why.Of(why.Subject{Spec: spec, Facts: facts, Staged: staged, Plan: plan, Origins: p.Origins()})
//	a := t.Path("/home/u/app/.env")      // Access "hidden", Key "env-files"
//
// Inside a box there is no plan. inner puts a Summary there, and Read makes a Table of it that
// also looks at the files of the box.
package why

import "github.com/enr/inner/internal/paths"

// Place is where a box has its Summary.
const Place = paths.BoxWhy

// builtIn is Answer.From for a resource that inner itself hides.
const builtIn = "built in: inner profile resources"

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

// Rule says what is mounted at one place of the box. It overrides earlier rules for that place
// and everything below it.
type Rule struct {
	At    string `json:"at"` // a box path
	Write bool   `json:"write,omitempty"`
	Hides bool   `json:"hides,omitempty"` // it covers something of the host
	How   string `json:"how,omitempty"`
	Key   string `json:"key,omitempty"`
	From  string `json:"from,omitempty"`
	Widen string `json:"widen,omitempty"` // not for one path: see Table.widen

	kind   kind
	source string // what of the host is shown there; "" for what is made for the box
	text   string // of a link
	stated bool   // Widen is the whole answer
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
	Profile string            `json:"profile"`
	File    string            `json:"file"` // base name of the profile's file
	Network string            `json:"network"`
	Allow   []string          `json:"allow,omitempty"` // entries of hosts
	Deny    []string          `json:"deny,omitempty"`
	Ports   map[uint16]uint16 `json:"ports,omitempty"`   // of this computer, and which of the box it is
	Blocked []string          `json:"blocked,omitempty"` // commands of [noop] block
	Rules   []Rule            `json:"rules"`
	From    []From            `json:"from,omitempty"` // of keys that are not about a place

	s      *Subject // nil inside a box
	disk   disk
	hidden func(hostPath string) string // the key of a resource; nil inside a box
	keys   map[string]bool              // of resources; nil inside a box
}

// From is where a key was written.
type From struct {
	Key  string `json:"key"`
	From string `json:"from"`
}

// Workdir is the working folder of the box, as the host has it; "" inside a box.
func (t *Table) Workdir() string {
	if t.s == nil {
		return ""
	}
	return t.s.Spec.Workdir
}
