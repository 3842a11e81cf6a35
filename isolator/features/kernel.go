package features

import (
	"strings"

	"github.com/enr/inner/isolator/plan"
)

// LandlockFix is what a kernel needs for all that Landlock confines.
const LandlockFix = "a kernel of Linux 6.12 or later, with landlock in the boot parameter lsm="

// kernel is what the kernel refuses a program by itself. The plan has it, and the supervisor
// puts it on the program.
func kernel() Feature {
	return Feature{Name: "kernel", Keys: []string{"sandbox.landlock"}, Holds: heldKernel}
}

func heldKernel(run *Run) []Held {
	filter := held("seccomp", "a filter of system calls (%s)", run.Spec.Seccomp)
	if run.Spec.Seccomp == "off" {
		filter = held("seccomp", "nothing holds it (allow = [\"no-seccomp\"]): system calls are not filtered")
	}
	l := run.Plan.Landlock
	switch {
	case run.Spec.Landlock == "off":
		return []Held{filter, held("landlock", "nothing holds it (allow = [\"no-landlock\"])")}
	case l == nil:
		none := held("landlock", "this kernel has none that helps; the mounts and namespaces hold alone")
		none.Fix = LandlockFix
		return []Held{filter, none}
	}
	return []Held{filter, held("landlock", "version %d confines a second time: %s", run.Facts.Landlock, strings.Join(plan.Confined(l), ", "))}
}
