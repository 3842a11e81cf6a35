// Package plan makes the plan of a box from a RunConfig, the facts of the host and what was
// staged for the run: operations in their order, each with the reason that explain and
// --dry-run print. bwrap.go renders them as arguments of bwrap, and package container as
// those of a container engine.
//
// It promises that equal input gives an equal plan: it asks no clock and no environment, and
// of the disk what the facts look at for it (host.Facts.Look), each path once. What cannot be enforced is
// refused with a *fault.Refusal that says what to type, and nothing is decided after it. It does not start
// anything; package launch does.
//
//	p, err := plan.Build(spec, facts, staged)
//	args := p.Words()
package plan

import (
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/userns"
	"github.com/enr/inner/profile"
)

// Plan is everything the launcher needs to start a box, as data. Build makes
// it; nothing is decided after it. Its JSON is a part of what --dry-run --json prints.
type Plan struct {
	Bwrap string `json:"-"` // absolute path of bwrap
	Ops   []Op   `json:"-"` // in order; the program is not part of them
	// Data holds the content of files that exist only in the box, see Op.Data: what bwrap gets comes first.
	Data [][]byte `json:"-"`

	// Shown are the mounts whose place or source somebody could replace between
	// the probe and the mount: the box looks whether each is what was probed,
	// and does not start the program when one is not.
	Shown []Shown `json:"shown"`

	// Unseen are folders of the caller's PATH that the box does not have.
	Unseen []string `json:"path_unseen,omitempty"`

	// HomePoints are the places in a home of the box's own where something is mounted. They
	// are made before bwrap starts, see package ownhome.
	HomePoints []HomePoint `json:"home_points,omitempty"`

	// HomeLinks are links in it, which are made then, too.
	HomeLinks []host.Hop `json:"home_links,omitempty"`

	// Caches are those of the box's own. Their folders are made before bwrap starts.
	Caches []CachePlace `json:"-"`
	// CacheEnv are the variables that lead to those without a place in the home.
	CacheEnv []profile.KV `json:"-"`
	// Fetched is what of the host's tools have fetched, below the home, the box may have copies of.
	Fetched []string `json:"-"`

	// Late are folders that the launcher mounts before the program starts, as in a box that runs: below a
	// home that another box works in, which could lead bwrap astray. See Later.
	Late []Live `json:"late,omitempty"`
	// Empty is an empty file of the host, which covers the files that are hidden in what the launcher mounts.
	Empty string `json:"-"`

	// Kept are what the box cannot write although the folder is its to write, and what therefore is not its
	// work at the end of the run.
	Kept []string `json:"-"`

	// Pins are links that are bound onto themselves before the program starts.
	Pins []Pin `json:"pins"`

	// Masked are all places that are hidden, and Protected those that are read-only, or a copy, where the
	// box can write around them, as box paths with no link in them. The launcher hides and
	// protects again what the host replaces. See followed.go.
	Masked    []string `json:"masked,omitempty"`
	Protected []string `json:"protected,omitempty"`

	// Map, when there is one, is what the launcher has written for the box's
	// user namespace before bwrap does anything in it.
	Map *userns.Map `json:"user_namespace,omitempty"`

	// Landlock, when there is one, is put on the program before it starts.
	Landlock *Landlock `json:"landlock,omitempty"`

	// Listen are the ports of the box's loopback that are accepted from outside:
	// the launcher listens there before the program starts, on sockets that the
	// supervisor makes.
	Listen []Listen `json:"listen"`

	// Publish are the ports of the box's loopback that the launcher connects to.
	Publish []Publish `json:"publish"`

	// Limits is how the run is held to its limits; nil without any.
	Limits *limits.Plan `json:"limits,omitempty"`

	// DirElse, when not "", is where the program starts when the box has no folder Dir.
	DirElse string `json:"dir_else,omitempty"`

	// Self is the box path of the inner binary, or "" when the supervisor is
	// executed through its descriptor.
	Self string `json:"self"`

	// Container, when there is one, makes the box in the place of bwrap.
	Container *Container `json:"-"`

	Program string   `json:"-"`   // box path of the program, absolute; in a container it may be a name on PATH
	Argv    []string `json:"-"`   // its arguments, argv[0] first
	Env     []string `json:"-"`   // its whole environment, KEY=VALUE, sorted
	Dir     string   `json:"dir"` // box path it starts in

	Set []profile.KV `json:"-"` // what Environment had as Staged.Env
}

// What the supervisor of a box does, or looks at, before the program starts.
type (
	Shown          = wire.Shown
	Landlock       = wire.Landlock
	ContainerMount = wire.ContainerMount
)

// Pin is mounted in a box from outside.
type Pin = wire.Pin

// HomePoint is a place below a home where something is mounted.
type HomePoint struct {
	Path   string `json:"path"`   // below the home
	File   bool   `json:"file"`   // what is mounted is a file
	Source string `json:"source"` // or, when it is not "", what this is on the host
}

// Listen is one port of the box's loopback. Those who connect to it there reach
// HostPort of the host's loopback, or with 0 the proxy of the run.
type Listen struct {
	Port     uint16 `json:"port"`
	HostPort uint16 `json:"host_port"`
	Reason   string `json:"reason"`
}

// Publish is a port of the box's loopback, and the one of the host's loopback
// that leads to it.
type Publish struct {
	Port     uint16 `json:"port"`
	HostPort uint16 `json:"host_port"`
	Reason   string `json:"reason"`
}
