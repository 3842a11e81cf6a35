package features

import (
	"strings"

	"github.com/enr/inner/internal/fault"
)

// proc decides what the box has as /proc.
func proc() Feature {
	return Feature{
		Name: "proc", Keys: []string{"sandbox.proc"}, Learn: safeBind,
		Make: func(run *Run) error { // a box that cannot execute the inner binary through /proc has it
			run.Assets.Self = run.Self()
			return nil
		},
	}
}

// safeBind refuses the host's /proc to a box of root's, which has no user namespace of its own: it could read what other boxes
// have in their environment and memory. From within another user namespace the kernel shows of a process what everybody may
// read, command lines among it, and no more (ptrace(2), "Ptrace access mode checking": 3 and 4); the consent says that.
func safeBind(run *Run) error {
	if run.Facts.Engine != nil || run.Spec.Proc != "bind" || run.Facts.UID != 0 { // an engine mounts a fresh one
		return nil
	}
	return fault.Refuse(125, "leave host-proc out of allow under [sandbox]", "profile %q: allow = [\"host-proc\"]: the host's /proc gives away the processes of other boxes to one that root starts", run.Spec.Name)
}

// OtherProc reports whether a run did not start because a fresh /proc cannot be mounted: another
// plan has none.
func OtherProc(run *Run) bool {
	f := &run.Facts
	if f.Engine != nil || run.Spec.Proc != "auto" || f.Proc != "" || !failedAtProc(run.Result.Reason) {
		return false
	}
	run.Say(`/proc is empty in the box: a fresh one cannot be mounted here; allow = ["host-proc"] under [sandbox] shows the host's, with all command lines, and proc = "empty" ends this line`)
	f.Proc = "empty"
	return true
}

// failedAtProc reports whether the reason why a box did not start is that a fresh /proc could not
// be mounted. bwrap says "Can't mount proc on /newroot/proc" (bubblewrap.c).
func failedAtProc(reason string) bool {
	return strings.Contains(reason, "mount proc") || strings.Contains(reason, "/newroot/proc")
}
