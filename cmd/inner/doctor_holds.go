package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// holds says what holds each key of a profile in the box that was made for it.
func (a *app) holds(b *isolator.Prepared) []finding {
	list := []finding{
		maker(b),
		ok("program", "%s", a.Short(b.Program)),
		a.holdsFolder(b.Spec), a.holdsHome(b.Spec), holdsHide(b), a.holdsGit(b),
	}
	list = append(list, holdsNetwork(b)...)
	list = append(list, holdsLimits(b)...)
	list = append(list, holdsKernel(b)...)
	return append(list, a.holdsExtras(b)...)
}

// maker is what makes the sandbox.
func maker(b *isolator.Prepared) finding {
	if c := b.Plan.Container; c != nil {
		return ok(c.Engine, "%s makes the sandbox, of the image %s", c.Path, b.Spec.Image)
	}
	return ok("bwrap", "%s makes the sandbox", b.Plan.Bwrap)
}

func (a *app) holdsFolder(rc profile.RunConfig) finding {
	how := map[profile.Mode]string{
		profile.RW: "can be written", profile.RO: "mounted read-only", profile.Keep: "mounted read-only but for what is kept; what is new is dropped", profile.None: "not in the sandbox",
	}[rc.WorkdirMode]
	text := fmt.Sprintf("%s: %s", a.Short(rc.Workdir), how)
	if n := len(rc.Mounts); n > 0 {
		text += fmt.Sprintf("; %s besides, each with its own mode", counted(n, "mount", "mounts"))
	}
	return ok("folder", "%s", text)
}

func (a *app) holdsHome(rc profile.RunConfig) finding {
	switch rc.Home {
	case "own":
		return ok("home", "a home of its own is mounted over %s, and kept", a.Short(rc.HomeDir))
	case "isolated":
		return ok("home", "an empty home in memory is mounted over %s", a.Short(rc.HomeDir))
	}
	return ok("home", "%s itself, mounted read-only", a.Short(rc.HomeDir))
}

// holdsHide counts what is covered: files by an empty one, folders by an empty one.
func holdsHide(b *isolator.Prepared) finding {
	table, own := 0, 0
	for _, op := range b.Plan.Ops {
		switch {
		case op.Reason == "hidden: sandbox.hide":
			own++
		case strings.HasPrefix(op.Reason, "hidden:"):
			table++
		}
	}
	text := fmt.Sprintf("%s covered by empty files and folders", counted(table, "place is", "places are"))
	if len(b.Spec.Hide) > 0 {
		text += fmt.Sprintf("; hide has %s, which cover %d here", counted(len(b.Spec.Hide), "pattern", "patterns"), own)
	}
	if allow := b.Spec.Allow; len(allow) > 0 {
		text += "; shown by allow: " + strings.Join(allow, ", ")
	}
	if len(b.Plan.Masked)+len(b.Plan.Protected) == 0 {
		text += "; what is replaced on this machine while the sandbox runs is not covered again"
	}
	return ok("hide", "%s", text)
}

func (a *app) holdsGit(b *isolator.Prepared) finding {
	switch {
	case b.Spec.GitDir == "rw":
		return ok("git_dir", "nothing holds it (git_dir = \"rw\"): the sandbox writes to the repository's own git directory")
	case b.Spec.GitDir == "ro":
		return ok("git_dir", "the repository's git directory is mounted read-only")
	case len(b.Assets.BoxGit) == 0:
		return ok("git_dir", "there is no repository that the sandbox could write to")
	}
	return ok("git_dir", "the sandbox has a git directory of its own; commits are handed over after the run")
}

func holdsNetwork(b *isolator.Prepared) []finding {
	rc := b.Spec
	var list []finding
	switch {
	case rc.Network == profile.NetFull:
		list = append(list, ok("network", "nothing holds it (network = true): the sandbox has the network of this computer"))
		if why := plan.AbstractOpen(rc, b.Facts); why != "" {
			list = append(list, warning("network", "network_allow under [sandbox], in the place of network = true", "abstract sockets of this computer can be reached: %s", why))
		}
	case rc.Network.ByName():
		text := fmt.Sprintf("a network namespace of its own, and inner's proxy, which lets through %s", counted(len(b.Reach.Allow), "entry of names", "entries of names"))
		if rc.Network == profile.NetAsk {
			text += " and asks you about others, on a terminal"
		}
		list = append(list, ok("network", "%s", text))
		for _, l := range b.Reach.Lines {
			if len(l.Hosts) == 0 {
				list = append(list, ok("network", "%s", l.Text))
			}
		}
	default:
		list = append(list, ok("network", "a network namespace of its own, with nothing outside of it"))
	}
	for _, l := range portLines(b.Plan) {
		list = append(list, ok("ports", "%s", l))
	}
	return list
}

func holdsLimits(b *isolator.Prepared) []finding {
	var list []finding
	for _, text := range features.LimitLines(b.Plan) {
		list = append(list, ok("limits", "%s", text))
	}
	if _, missing := plan.Limits(b.Spec, b.Facts); len(missing) > 0 {
		list = append(list, warning("limits", "inner doctor", "not held: %s; it starts without (limits_required = false)", plan.Unlimited(missing)))
	}
	if len(list) == 0 {
		list = append(list, ok("limits", "none are asked for"))
	}
	return list
}

func holdsKernel(b *isolator.Prepared) []finding {
	rc := b.Spec
	filter := ok("seccomp", "a filter of system calls (%s)", rc.Seccomp)
	if rc.Seccomp == "off" {
		filter = ok("seccomp", "nothing holds it (seccomp = \"off\"): system calls are not filtered")
	}
	list := []finding{filter}
	switch l := b.Plan.Landlock; {
	case rc.Landlock == "off":
		list = append(list, ok("landlock", "nothing holds it (landlock = \"off\")"))
	case l == nil:
		list = append(list, warning("landlock", landlockFinding(0).Fix, "this kernel has none that helps; the mounts and namespaces hold alone"))
	default:
		var what []string
		for _, part := range []struct {
			on   bool
			word string
		}{{l.Writes, "writing"}, {l.Signals, "signals"}, {l.Abstract, "abstract sockets"}} {
			if part.on {
				what = append(what, part.word)
			}
		}
		list = append(list, ok("landlock", "version %d confines a second time: %s", b.Facts.Landlock, strings.Join(what, ", ")))
	}
	userns := "none can be made inside, as the kernel refuses it"
	switch {
	case slices.Contains(rc.Allow, "nested-user-ns"):
		userns = "can be made inside (nested-user-ns)"
	case !slices.ContainsFunc(b.Plan.Ops, func(o plan.Op) bool { return slices.Contains(o.Flags, plan.DisableUserns) }):
		userns = "kept from it by the filter of system calls"
		if rc.Seccomp == "off" {
			userns = "can be made inside: this is root, and there is no filter of system calls"
		}
	}
	return append(list, ok("userns", "user namespaces: %s", userns), ok("proc", "/proc: %s", plan.ProcMode(rc.Proc, b.Facts.Proc)))
}

// holdsExtras tells of keys that only some profiles have.
func (a *app) holdsExtras(b *isolator.Prepared) []finding {
	rc := b.Spec
	devices := "a /dev of its own, with no device of this computer"
	var given []string
	for _, g := range profile.Grants(rc) {
		if g.Kind == "device" && len(g.Items) == 0 {
			given = append(given, g.Text)
		} else if g.Kind == "device" {
			for _, it := range g.Items {
				given = append(given, cmp.Or(it.ID, it.Text))
			}
		}
	}
	if len(given) > 0 {
		devices = "a /dev of its own, and of this computer: " + strings.Join(given, ", ")
	}
	list := []finding{ok("devices", "%s", devices)}
	if rc.Clipboard {
		list = append(list, ok("clipboard", "nothing holds it (clipboard = true): the sandbox has a socket of your display server"))
	}
	if len(rc.Capabilities) > 0 {
		list = append(list, ok("capabilities", "copies of the login and settings of: %s", strings.Join(rc.Capabilities, ", ")))
	}
	list = append(list, ok("env", "%s pass or are set; no other one is in the sandbox", counted(len(b.Plan.Env), "variable", "variables")))
	if n := len(rc.Noop.Commands()); n > 0 {
		how := "a script first on PATH in the place of each; another path of it works"
		if rc.Noop.Mode == "hard" {
			how = "a script in the place of each, by any path"
		}
		list = append(list, ok("noop", "%s: %s", counted(n, "command", "commands"), how))
	}
	if rc.Output.Timeout > 0 {
		list = append(list, ok("timeout", "%s, then SIGTERM, then the sandbox is killed", rc.Output.Timeout))
	}
	switch {
	case rc.Output.Audit:
		list = append(list, ok("output", "one line in the audit log"))
	case rc.Output.Folder != "":
		list = append(list, ok("output", "recorded in %s", a.Short(rc.Output.Folder)))
	}
	return list
}
