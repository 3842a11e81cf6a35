package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/profile"
)

// Held is one line about what enforces a box on this machine.
type Held struct {
	Name string
	Text string
	Fix  string // what to type, or to have, when it does not hold all that is asked for; else ""
}

// LandlockFix is what a kernel needs for all that Landlock confines.
const LandlockFix = "a kernel of Linux 6.12 or later, with landlock in the boot parameter lsm="

type holder struct {
	*run.Prepared
	list []Held
}

// Holds says what enforces a planned box here, and what this machine lacks for it. What the box is given, and
// what is taken from it, the grants say.
func Holds(b *run.Prepared) []Held {
	h := holder{Prepared: b}
	if c := b.Plan.Container; c != nil {
		h.say(c.Engine, "", "%s makes the sandbox, of the image %s", c.Path, b.Spec.Image)
	} else {
		h.say("bwrap", "", "%s makes the sandbox", b.Plan.Bwrap)
	}
	h.network()
	h.limits()
	h.places()
	h.kernel()
	return h.list
}

func (h *holder) say(name, fix, format string, args ...any) {
	h.list = append(h.list, Held{name, fmt.Sprintf(format, args...), fix})
}

func (h *holder) network() {
	rc := h.Spec
	switch {
	case rc.Network == profile.NetFull:
		h.say("network", "", "nothing holds it (network = true): the sandbox has the network of this computer")
		if why := plan.AbstractOpen(rc, h.Facts); why != "" {
			h.say("network", "network_allow under [sandbox], in the place of network = true",
				"abstract sockets of this computer can be reached: %s", why)
		}
	case rc.Network.ByName():
		h.say("network", "", "a network namespace of its own, and inner's proxy, which lets through the names that are listed (%d)", len(h.Reach.Allow))
		for _, m := range h.Reach.Missing {
			h.say("network", m.Fix, "%s", m)
		}
		for _, note := range h.Reach.Notes {
			h.say("network", "", "%s", note)
		}
	default:
		h.say("network", "", "a network namespace of its own, with nothing outside of it")
	}
	for _, line := range PortLines(h.Plan) {
		h.say("ports", "", "%s", line)
	}
}

func (h *holder) limits() {
	for _, line := range LimitLines(h.Plan) {
		h.say("limits", "", "%s", line)
	}
	if _, missing := plan.Limits(h.Spec, h.Facts); len(missing) > 0 {
		h.say("limits", "inner doctor", "not held: %s; it starts without (limits_required = false)", plan.Unlimited(missing))
	}
}

// places counts what is covered: files by an empty one, folders by an empty one.
func (h *holder) places() {
	covered := 0
	for _, op := range h.Plan.Ops {
		if strings.HasPrefix(op.Reason, "hidden:") {
			covered++
		}
	}
	later := ""
	if len(h.Plan.Masked)+len(h.Plan.Protected) == 0 {
		later = "; what is replaced on this machine while the sandbox runs is not covered again"
	}
	h.say("hide", "", "places that are covered by empty files and folders: %d%s", covered, later)
}

func (h *holder) kernel() {
	unfiltered := h.Spec.Seccomp == "off"
	if unfiltered {
		h.say("seccomp", "", "nothing holds it (allow = [\"no-seccomp\"]): system calls are not filtered")
	} else {
		h.say("seccomp", "", "a filter of system calls (%s)", h.Spec.Seccomp)
	}
	switch l := h.Plan.Landlock; {
	case h.Spec.Landlock == "off":
		h.say("landlock", "", "nothing holds it (allow = [\"no-landlock\"])")
	case l == nil:
		h.say("landlock", LandlockFix, "this kernel has none that helps; the mounts and namespaces hold alone")
	default:
		h.say("landlock", "", "version %d confines a second time: %s", h.Facts.Landlock, strings.Join(confined(l), ", "))
	}
	namespaces := "none can be made inside, as the kernel refuses it"
	disabled := slices.ContainsFunc(h.Plan.Ops,
		func(o plan.Op) bool { return slices.Contains(o.Flags, plan.DisableUserns) })
	switch {
	case slices.Contains(h.Spec.Allow, "nested-user-ns"):
		namespaces = "can be made inside (nested-user-ns)"
	case !disabled && unfiltered:
		namespaces = "can be made inside: this is root, and there is no filter of system calls"
	case !disabled:
		namespaces = "kept from it by the filter of system calls"
	}
	h.say("userns", "", "user namespaces: %s", namespaces)
	h.say("proc", "", "/proc: %s", plan.ProcMode(h.Spec.Proc, h.Facts.Proc))
}

// confined are the words for what Landlock confines.
func confined(l *plan.Landlock) (out []string) {
	for _, part := range []struct {
		on   bool
		word string
	}{{l.Writes, "writing"}, {l.Signals, "signals"}, {l.Abstract, "abstract sockets"}} {
		if part.on {
			out = append(out, part.word)
		}
	}
	return out
}
