// Package container has a container engine make a box: rootless podman, or docker. It finds the engine, says
// a plan in its words, and looks from inside whether the container is what was asked for. The start is the
// launcher's, as with bwrap. A program that calls isolator.Main has it; inner-shim goes on as inner-fleet.
//
// Everything that the program may do is decided in the plan; here each of its operations
// becomes arguments of the engine, and what cannot be said in them is refused by the key that
// asks for it. Translate starts no program and looks at no disk.
//
//	c, err := container.Translate(p, container.Target{Spec: spec, Engine: engine, Folder: run, …})
//
// What it promises: the container has the mounts of the plan and no others of this computer, no
// network but a loopback where the plan has none, no capability, no new privileges, a read-only
// root, and the user's own id. The environment, the program and its arguments are not among the
// engine's arguments: inner, which runs first in the container, is told them over a socket. It
// also looks whether the engine did what it was told, see Inside.
//
// What it does not: an engine mounts its own /proc, /dev and /etc/hostname, and has defaults of
// its own for what the plan does not name, such as a filter of system calls beside inner's.
package container

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Target is what a plan is translated for.
type Target struct {
	Spec     profile.RunConfig
	Engine   host.Engine
	Folder   string   // of the run, on the host: files are made there
	Run      string   // its id
	Mounted  []string // where the host mounts anything
	UID, GID int
}

// Translate returns the plan for an engine. An error is a refusal that names the key.
func Translate(p plan.Plan, t Target) (plan.Plan, error) {
	tr := &translator{Target: t, plan: p, c: plan.Container{
		Engine: t.Engine.Name, Path: t.Engine.Path, Env: t.Engine.Env, UID: t.UID,
		Socket: filepath.Join(t.Folder, "launcher"), NoNet: t.Spec.Network != profile.NetFull,
	}}
	if err := tr.keys(); err != nil {
		return p, err
	}
	for i, o := range p.Ops {
		if err := tr.operation(i, o); err != nil {
			return p, err
		}
	}
	if tr.c.NoNet { // as with a minimal base; an engine without a network of its own insists on it
		tr.put(mount{ContainerMount: plan.ContainerMount{Path: "/sys", Tmpfs: true}, perms: 0o555})
	}
	tr.bind(plan.ContainerMount{Path: wire.ContainerSocket, Write: true}, tr.c.Socket, "")
	if err := tr.check(); err != nil {
		return p, err
	}
	tr.arguments()
	tr.look()
	p = tr.plan
	p.Container = &tr.c
	return p, nil
}

type translator struct {
	Target
	plan   plan.Plan
	c      plan.Container
	mounts []mount // in the order of the plan; none covers an earlier one
}

// mount is one mount of the container.
type mount struct {
	plan.ContainerMount
	source string // on the host; "" for a tmpfs
	perms  uint32
	size   uint64
	key    string
}

func (t *translator) refuse(key, format string, args ...any) error {
	return plan.Untranslated(t.Spec.Name, t.Engine.Name, key, fmt.Sprintf(format, args...))
}

// keys refuses what no operation of the plan shows.
func (t *translator) keys() error {
	rc, p := t.Spec, t.plan
	nested := `sandbox.allow = ["nested-user-ns"]`
	for _, no := range []struct {
		asked    bool
		key, why string
	}{
		{
			len(rc.Capabilities) > 0, "capabilities",
			"the programs and settings of agents are this computer's, not the image's",
		},
		{rc.Clipboard, "sandbox.clipboard", "a container has no display"},
		{len(rc.Devices) > 0, "sandbox.devices", "the devices of a container are its engine's"},
		{slices.Contains(rc.Allow, "nested-user-ns"), nested, "there are no containers in a container"},
		{rc.Proc == "bind" || rc.Proc == "empty", "sandbox.proc", "a container has a /proc of its own"},
		{rc.Limits.Disk != "", "sandbox.limits.disk", "not all that can be written has a size there"},
		{len(rc.Noop.Rules) > 0, "noop", "the programs are those of the image"},
	} {
		if no.asked {
			return t.refuse(no.key, "%s", no.why)
		}
	}
	switch {
	case p.Map != nil:
		return t.refuse(nested, "the plan has user ids for containers")
	case len(p.Pins) > 0:
		return t.refuse("mounts", "%s is a link that the box could replace", p.Pins[0].Path)
	}
	return nil
}

// operation translates one of the plan. What it mounts covers what was mounted at or below
// that place before: an engine sorts its mounts by their place.
func (t *translator) operation(i int, o plan.Op) error {
	kernels := ofKernel(o.Dest)
	m := plan.ContainerMount{Path: o.Dest, Write: o.Writable()}
	switch o.Kind {
	case plan.OpNote, plan.OpProc, plan.OpDev, plan.OpSeal: // see sealed
	case plan.OpSwitch: // see arguments
		for _, f := range o.Flags {
			if !slices.Contains(known(), f) {
				return t.refuse(because(o), "the plan says %s", f)
			}
		}
	case plan.OpFilter:
		t.c.Filter = t.plan.Data[o.Data]
	case plan.OpReadOnly, plan.OpMask:
		if kernels { // the engine's own; what of it must be covered is looked at in the box
			break
		}
		t.bind(m, o.Source, because(o))
	case plan.OpBind:
		t.bind(m, o.Source, because(o))
	case plan.OpData, plan.OpFile:
		name := "container-" + strconv.Itoa(o.Data)
		t.c.Files = append(t.c.Files, plan.ContainerFile{Name: name, Content: string(t.plan.Data[o.Data])})
		t.bind(plan.ContainerMount{Path: o.Dest}, filepath.Join(t.Folder, name), because(o))
	case plan.OpTmpfs:
		if kernels {
			return t.refuse(because(o), "%s is the engine's", o.Dest)
		}
		m.Tmpfs, m.Write = true, m.Write && !t.sealed(i, o.Dest)
		t.put(mount{ContainerMount: m, perms: o.Perms, size: o.Size, key: because(o)})
	case plan.OpSymlink:
		return t.refuse(because(o), "%s would be a link", o.Dest)
	case plan.OpDir:
		return t.refuse(because(o), "%s would be made", o.Dest)
	case plan.OpDevice:
		return t.refuse("sandbox.devices", "%s is a device", o.Dest)
	default:
		return t.refuse(because(o), "operation %d is unknown", o.Kind)
	}
	return nil
}

// ofKernel reports whether a place is in what a container has of the kernel, which the engine mounts.
func ofKernel(p string) bool { return paths.Below("/proc", p) || paths.Below("/dev", p) }

// because is the key that an operation is there for.
func because(o plan.Op) string {
	if o.Key == "" {
		return "mounts"
	}
	return o.Key
}

// sealed reports whether a later operation makes a folder in memory read-only.
func (t *translator) sealed(i int, dest string) bool {
	return slices.ContainsFunc(t.plan.Ops[i:], func(o plan.Op) bool { return o.Kind == plan.OpSeal && o.Dest == dest })
}

func (t *translator) bind(m plan.ContainerMount, source, key string) {
	t.put(mount{ContainerMount: m, source: source, key: key})
}

func (t *translator) put(m mount) {
	t.mounts = slices.DeleteFunc(t.mounts, func(old mount) bool { return paths.Below(m.Path, old.Path) })
	t.mounts = append(t.mounts, m)
}

// check refuses mounts that an engine makes otherwise than bwrap does.
func (t *translator) check() error {
	for _, m := range t.mounts {
		for _, p := range []string{m.Path, m.source} {
			if !strings.HasPrefix(p, "\x00") && strings.ContainsAny(p, ",:\"'\\\n\r\t") {
				return t.refuse(m.key, "%q has a character that its arguments give a meaning", p)
			}
		}
		if m.source == "" {
			continue
		}
		// Read-only is, for most engines, the top of a bind alone.
		for _, at := range t.Mounted {
			if paths.Inside(m.source, at) {
				return t.refuse(m.key, "%s is mounted below %s", at, m.source)
			}
		}
	}
	return nil
}

// look has everything that is bound looked at in the box.
func (t *translator) look() {
	for _, m := range t.mounts {
		t.c.Mounts = append(t.c.Mounts, m.ContainerMount)
		if slices.ContainsFunc(t.plan.Shown, func(s plan.Shown) bool { return s.Path == m.Path }) {
			continue
		}
		s := plan.Shown{Path: m.Path}
		if m.source != "" && !paths.Below(t.Folder, m.source) {
			s.Source = m.source
		}
		t.plan.Shown = append(t.plan.Shown, s)
	}
	for i, s := range t.plan.Shown {
		if ofKernel(s.Path) {
			t.plan.Shown[i] = plan.Shown{Path: s.Path}
		}
	}
	slices.SortFunc(t.plan.Shown, func(x, y plan.Shown) int { return strings.Compare(x.Path, y.Path) })
}
