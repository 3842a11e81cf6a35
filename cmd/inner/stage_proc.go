package main

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/procfs"
	"github.com/enr/inner/profile"
)

// knownProc puts into the facts what is known. A bind that the profile asks
// for must have been shown to be safe since the last boot.
func (a *app) knownProc(rc profile.RunConfig, f *host.Facts, mayProbe bool) error {
	if rc.Proc != "auto" && rc.Proc != "bind" {
		return nil
	}
	found, ok := procfs.Known(a.ProcFile(), f.Bwrap)
	if rc.Proc == "auto" {
		if ok {
			f.Proc = found.Mode
		}
		return nil
	}
	if !mayProbe || f.Bwrap == "" || ok && (found.Bind == procfs.Safe || found.Bind == procfs.Listed) {
		return nil
	}
	switch answer, why := procfs.Bind(f.Bwrap); answer {
	case procfs.Safe, procfs.Listed: // the consent says that command lines are shown
		return nil
	case procfs.Unsafe:
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: proc = \"bind\": the host's /proc gives away %s", rc.Name, why), Hint: `set proc = "auto" under [sandbox]`}
	default:
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q: proc = \"bind\": whether that is safe could not be found out: %s", rc.Name, why), Hint: "try again"}
	}
}

// stageProc finds the inner binary, for a box that cannot execute it through
// /proc.
func stageProc(j *journey) error {
	if plan.ProcMode(j.rc.Proc, j.prep.facts.Proc) != "empty" {
		return nil
	}
	j.staged.Self = j.app.Self()
	return nil
}

// otherProc is called when a run did not start because a fresh /proc cannot be
// mounted: it finds out what can be had instead, and makes a plan with it.
func (j *journey) otherProc() bool {
	f := &j.prep.facts
	if j.result.Started || j.rc.Proc != "auto" || f.Proc != "" || !procfs.FailedAtProc(j.result.Reason) {
		return false
	}
	found, err := procfs.Find(j.app.ProcFile(), f.Bwrap)
	if err != nil {
		j.app.warn("%s", err)
		return false
	}
	if found.Mode == "fresh" {
		return false
	}
	j.app.say("/proc is %s in the box: %s", map[string]string{"bind": "the host's, read-only,", "empty": "empty"}[found.Mode], found.Why)
	f.Proc = found.Mode
	if err := stageProc(j); err != nil {
		j.app.warn("%s", err)
		return false
	}
	plan, err := plan.Build(j.rc, *f, j.staged)
	if err != nil {
		j.app.warn("%s", err)
		return false
	}
	j.plan = plan
	return true
}
