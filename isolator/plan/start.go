package plan

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// otherFolder is what to type in the place of a working folder that cannot be used.
const otherFolder = "cd to another folder, or -w FOLDER"

// workdirHidden refuses a working folder that is hidden, or lies in something
// hidden, before anything else is said of it; and one that holds a home, as that of the
// password file where HOME is another.
func (b *builder) workdirHidden() error {
	if b.rc.WorkdirMode != profile.None && b.holdsHome(b.rc.Workdir) {
		return fault.Refuse(126, otherFolder,
			"the working folder %q holds your whole home folder", b.rc.Workdir)
	}
	for _, dir := range []string{b.rc.Workdir, b.rc.Cwd} {
		real := b.canon(dir)
		if b.kind(dir) == host.Missing {
			continue // a path of the box
		}
		for _, h := range b.hidden() {
			switch {
			case !paths.Below(h.real, real):
			case h.closed():
				return fault.Refuse(126, "chmod u+rx "+typed(h.path), "profile %q: the working folder %q is %s", b.rc.Name, dir, h.reason())
			case h.key == hideKey:
				return fault.Refuse(126, otherFolder,
					"profile %q: the working folder %q is hidden (sandbox.hide)", b.rc.Name, dir)
			default:
				return fault.Refuse(126, fmt.Sprintf("allow = [%q] under [sandbox] grants it on purpose", h.key),
					"profile %q: the working folder %q is hidden as %s (%s)", b.rc.Name, dir, h.key, h.what)
			}
		}
	}
	return nil
}

// entered makes the links of the path by which the person came to the working folder, so that the box knows it by that
// name, too. Where the box has something else in the place of one, the name is not given.
func (b *builder) entered() error {
	at := b.f.Look(b.rc.Entered)
	if b.rc.Entered == "" || at.Real != b.canon(b.rc.Cwd) || b.f.Engine != nil {
		b.rc.Entered = ""
		return nil
	}
	for _, h := range at.Hops {
		l, shown := b.at(h.Path)
		taken := func(o Op) bool { return o.Dest != "" && paths.Below(h.Path, o.Dest) }
		made := func(o Op) bool { // as the name of the home, also below a /home that is one
			return o.Kind == OpSymlink && (o.Dest == h.Path || taken(o) && paths.Below(o.Dest, b.rc.Entered))
		}
		free := !slices.ContainsFunc(b.plan.Ops, taken)
		switch rest, _ := paths.Rest(b.home, h.Path); {
		case shown == h.Path || slices.ContainsFunc(b.plan.Ops, made):
		case free && l.own:
			b.plan.HomeLinks = append(b.plan.HomeLinks, host.Hop{Path: rest, Target: h.Target})
		case free && l.Kind == OpTmpfs:
			b.symlink("the path by which you came", h.Target, h.Path)
		default:
			b.rc.Entered = ""
		}
	}
	return nil
}

// started refuses a run whose program would not start where it was said to: the
// box does not show that folder, or something covers it.
func (b *builder) started() error {
	cwd := b.canon(b.rc.Cwd)
	l, _ := b.at(cwd)
	covered := !l.bound() && !l.Writable() && !l.empty && l.Dest != ""
	made := slices.ContainsFunc(b.plan.Ops, func(o Op) bool { // for what is mounted there
		return o.Mounts() && paths.Below(cwd, o.Dest)
	})
	workspace := slices.ContainsFunc(b.rc.Mounts,
		func(m profile.Mount) bool { return m.Workspace && paths.Below(cwd, b.canon(m.Dest)) })
	if l.bound() || made && (workspace || !covered) {
		return nil
	}
	return fault.Refuse(126, otherFolder+`, or mount it; entrypoint.workdir = "~" starts at home`,
		"profile %q: the working folder %q is not shown in the box", b.rc.Name, b.rc.Cwd)
}

// StartIn says where the program starts: where the profile says, or a folder of the box
// that the call names.
func (p *Plan) StartIn(rc profile.RunConfig, s Staged) {
	p.Dir = rc.Cwd
	if s.Start == "" {
		return
	}
	if p.Dir = s.Start; s.OrElse {
		p.DirElse = rc.Cwd
	}
	for i, kv := range p.Env {
		if kv == "PWD="+cmp.Or(rc.Entered, rc.Cwd) {
			p.Env[i] = "PWD=" + p.Dir
		}
	}
}

// program checks that what is to run can be seen.
func (b *builder) program() error {
	p := b.s.Program
	b.plan.Program, b.plan.Argv = p, b.s.Argv
	if b.f.Engine != nil { // whether it is in the image is found out there
		return nil
	}
	for _, at := range []string{b.linkFree(p), b.canon(p)} {
		l, hostPath := b.at(at)
		if !l.bound() || hostPath == "" {
			return fault.Refuse(127, fmt.Sprintf("home_allow = [%q] under [sandbox] shows it", filepath.Dir(at)),
				"profile %q: the program %q cannot be seen in the box", b.rc.Name, at)
		}
	}
	return nil
}

// packageOf is the node_modules folder a program lies in, or the program.
func packageOf(real string) string {
	if i := strings.Index(real, "/node_modules/"); i >= 0 {
		return real[:i] + "/node_modules"
	}
	return real
}
