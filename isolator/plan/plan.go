// Package plan makes the plan of a box from a RunConfig, the facts of the host and what was
// staged for the run: operations in their order, each with the reason that explain and
// --dry-run print. bwrap.go renders them as arguments of bwrap, and package container as
// those of a container engine.
//
// It promises that equal input gives an equal plan: it asks no disk, no clock and no
// environment. What cannot be enforced is refused with a *fault.Refusal that says what to
// type, and nothing is decided after it. It does not start anything; package launch does.
//
//	p, err := plan.Build(spec, facts, staged)
//	args := p.Words()
package plan

import (
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/userns"
	"github.com/enr/inner/profile"
)

// Plan is everything the launcher needs to start a box, as data. Build makes
// it; nothing is decided after it.
type Plan struct {
	Bwrap string // absolute path of bwrap
	Ops   []Op   // in order; the program is not part of them
	// Data holds the content of files that exist only in the box, see Op.Data.
	Data [][]byte

	// Shown are the mounts whose place or source somebody could replace between
	// the probe and the mount: the box looks whether each is what was probed,
	// and does not start the program when one is not.
	Shown []Shown

	// Unseen are folders of the caller's PATH that the box does not have.
	Unseen []string

	// HomePoints are the places in a home of the box's own where something is mounted. They
	// are made before bwrap starts, see package ownhome.
	HomePoints []HomePoint

	// Caches are those of the box's own. Their folders are made before bwrap starts.
	Caches []CachePlace
	// CacheEnv are the variables that lead to those without a place in the home.
	CacheEnv []profile.KV

	// Pins are links that are bound onto themselves before the program starts.
	Pins []Pin

	// Masked are all places that are hidden, and Protected those that are read-only, or a copy, where the
	// box can write around them, as box paths with no link in them. The launcher hides and
	// protects again what the host replaces. See followed.go.
	Masked    []string
	Protected []string

	// Map, when there is one, is what the launcher has written for the box's
	// user namespace before bwrap does anything in it.
	Map *userns.Map

	// Landlock, when there is one, is put on the program before it starts.
	Landlock *Landlock

	// Listen are the ports of the box's loopback that are accepted from outside:
	// the supervisor listens there before the program starts, and hands the
	// sockets to the launcher.
	Listen []Listen

	// Publish are the ports of the box's loopback that the launcher connects to.
	Publish []Publish

	// Limits is how the run is held to its limits; nil without any.
	Limits *limits.Plan

	// DirElse, when not "", is where the program starts when the box has no folder Dir.
	DirElse string

	// Self is the box path of the inner binary, or "" when the supervisor is
	// executed through its descriptor.
	Self string

	// Container, when there is one, makes the box in the place of bwrap.
	Container *Container

	Program string   // box path of the program, absolute; in a container it may be a name on PATH
	Argv    []string // its arguments, argv[0] first
	Env     []string // its whole environment, KEY=VALUE, sorted
	Dir     string   // box path it starts in

	Set []profile.KV // what Environment had as Staged.Env
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
	Path   string // below the home
	File   bool   // what is mounted is a file
	Source string // or, when it is not "", what this is on the host
}

// Listen is one port of the box's loopback. Those who connect to it there reach
// HostPort of the host's loopback, or with 0 the proxy of the run.
type Listen struct {
	Port     uint16
	HostPort uint16
	Reason   string
}

// Publish is a port of the box's loopback, and the one of the host's loopback
// that leads to it.
type Publish struct {
	Port     uint16
	HostPort uint16
	Reason   string
}
