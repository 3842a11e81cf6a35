package features

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/procfs"
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

// safeBind refuses a bind that the profile asks for unless it is shown to be safe.
func safeBind(run *Run) error {
	rc, f := run.Spec, &run.Facts
	if f.Engine != nil || rc.Proc != "bind" || !run.Mode.Made() || f.Bwrap == "" { // an engine mounts a fresh one, or the box does not start
		return nil
	}
	switch answer, why := procfs.Bind(f.Bwrap, run.Exe); answer {
	case procfs.Safe, procfs.Listed: // the consent says that command lines are shown
		return nil
	case procfs.Unsafe:
		return &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("profile %q: allow = [\"host-proc\"]: the host's /proc gives away %s", rc.Name, why),
			Hint: `leave host-proc out of allow under [sandbox]`,
		}
	default:
		return &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("profile %q: allow = [\"host-proc\"]: inner could not find out whether that is safe: %s", rc.Name, why),
			Hint: "try again",
		}
	}
}

// OtherProc reports whether a run did not start because a fresh /proc cannot be mounted: another
// plan has none.
func OtherProc(run *Run) bool {
	f := &run.Facts
	if f.Engine != nil || run.Spec.Proc != "auto" || f.Proc != "" || !procfs.FailedAtProc(run.Result.Reason) {
		return false
	}
	run.Say(`/proc is empty in the box: a fresh one cannot be mounted here; allow = ["host-proc"] under [sandbox] shows the host's, with all command lines, and proc = "empty" ends this line`)
	f.Proc = "empty"
	return true
}
