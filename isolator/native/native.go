// Package native makes the container that inner already runs in into a box, for clusters that
// forbid user namespaces. inner mounts nothing: the pod's volumes are the folders of the box. The
// program is confined by Landlock, the filter of system calls, the limits of setrlimit and a
// cleared environment, which the same supervisor sets up as in every box (package launch). The
// network is the pod's, behind a fence that is not inner's either.
//
//	p, err := native.Plan(native.Box{Spec: spec, …})  // refuses what this cannot hold
//	err = fence.Check(ctx)                            // the network leads to the way out alone
//	result := launch.Run(p, options)
//
// The program starts only in a container that has no capability, no new privileges, a read-only
// root and only the mounts of the profile, where inner is the first process, and only behind a
// fence that was tested.
//
// A program that became root in the container would be root on the node. Changes to the fence
// after the program has started are not noticed.
package native

import (
	"os"
	"path"
	"runtime"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/seccomp"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// Box describes the box to plan.
type Box struct {
	Spec   profile.RunConfig // of a profile that export.Judge does not refuse
	Agents []capability.Capability
	Home   string   // the home in the container
	Env    []string // of the container, KEY=VALUE
	RunID  string

	// Volume is the folder of the pod that the working folder is in, and Kept are the other
	// places of inner's own, which the box has not: the profile, the prompt, the results.
	Volume string
	Kept   []string
}

// Plan plans a box in this container. It checks which folders the image has, and changes nothing.
func Plan(b Box) (plan.Plan, error) {
	abi := host.LandlockABI()
	needed := plan.LandlockFiles
	if b.Spec.Landlock == "required" {
		needed = plan.LandlockScopes
	}
	if abi < needed {
		return plan.Plan{}, fault.Refuse(125, "--form nested, or a node with a newer kernel",
			"profile %q: the kernel of this node has Landlock version %d, and %d is needed: nothing else keeps this box from files", b.Spec.Name, abi, needed)
	}
	p := plan.Plan{
		Program: b.Spec.Entrypoint.Cmd,
		Argv:    features.WithArgs(append([]string{b.Spec.Entrypoint.Cmd}, b.Spec.Entrypoint.Args...), b.Agents),
		Env:     b.environment(),
		Dir:     b.Spec.Cwd,
		Limits: &limits.Plan{Rlimits: limits.Values{
			Files: plan.LimitValues(b.Spec.Limits).Files, FileSize: plan.LimitValues(b.Spec.Limits).FileSize,
		}},
		Landlock:  b.landlock(abi),
		Container: &plan.Container{Engine: "the cluster", UID: os.Getuid(), Mounts: b.mounts()},
	}
	if b.Spec.Seccomp != "off" {
		filter, err := seccomp.Filter(seccomp.Options{Arch: runtime.GOARCH})
		if err != nil {
			return p, fault.Refuse(125, "", "profile %q: %v", b.Spec.Name, err)
		}
		p.Container.Filter = filter
	}
	return p, nil
}

// environment returns the environment of the box: what the profile passes on, and the proxy.
func (b Box) environment() []string {
	s := plan.Staged{RunID: b.RunID}
	for _, c := range b.Agents {
		var at []string
		for _, f := range c.Folders {
			at = append(at, f.Place(b.Home))
		}
		s.Env = append(s.Env, c.Environment(b.Home, at)...)
	}
	return plan.Environment(b.Spec, host.Facts{Home: b.Home, Env: host.Environment(b.Env)}, s)
}

// mounts returns all that the container may have besides those of its runtime.
func (b Box) mounts() []plan.ContainerMount {
	out := []plan.ContainerMount{{Path: b.Volume, Write: true}, {Path: b.Home, Write: true}, {Path: "/tmp", Tmpfs: true, Write: true}}
	for _, p := range b.Kept {
		out = append(out, plan.ContainerMount{Path: p, Write: true}) // by whom it can be written is the pod's word: the box does not see it
	}
	for _, m := range b.Spec.Mounts {
		out = append(out, plan.ContainerMount{Path: m.Dest, Tmpfs: m.Mode == profile.Tmpfs, Write: m.Mode != profile.RO})
	}
	return out
}

// landlock confines the program to the folders of programs, as the image has them, and to those
// of the profile.
func (b Box) landlock(abi int) *plan.Landlock {
	l := &plan.Landlock{Files: true, Writable: []string{"/dev", "/proc", "/tmp"}}
	if abi >= plan.LandlockScopes {
		l.Signals, l.Abstract = true, true
	}
	add := func(p string, write bool) {
		if write {
			l.Writable = append(l.Writable, p)
		} else {
			l.Readable = append(l.Readable, p)
		}
	}
	for _, p := range b.system() {
		add(p, false)
	}
	if b.Spec.WorkdirMode != profile.None {
		add(b.Spec.Workdir, b.Spec.WorkdirMode == profile.RW)
	}
	add(b.Home, b.Spec.Home == "own" || b.Spec.Home == "isolated")
	for _, m := range b.Spec.Mounts {
		add(m.Dest, m.Mode != profile.RO)
	}
	return l
}

// system returns the folders of the image that the box sees: those of programs, and with base =
// "host" every one but those that are the pod's.
func (b Box) system() []string {
	var out []string
	if b.Spec.Base == "minimal" {
		for _, p := range profile.SystemFolders() {
			if _, err := os.Stat(p); err == nil {
				out = append(out, p)
			}
		}
		return out
	}
	entries, _ := os.ReadDir("/") // of what cannot be listed nothing is shown
	for _, e := range entries {
		p := path.Join("/", e.Name())
		holds := func(q string) bool { return paths.Below(p, q) }
		theirs := slices.Concat(b.Kept, []string{b.Volume, b.Home, "/tmp", "/proc", "/dev"})
		for _, m := range b.Spec.Mounts {
			theirs = append(theirs, m.Dest)
		}
		if _, err := os.Stat(p); err == nil && !slices.ContainsFunc(theirs, holds) {
			out = append(out, p)
		}
	}
	return out
}
