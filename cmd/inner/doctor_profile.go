package main

import (
	"cmp"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/profile"
)

// checkup is what doctor says of one profile.
type checkup struct {
	Profile  string    `json:"profile"`
	Starts   bool      `json:"starts"`
	Code     int       `json:"code"` // with which inner run would end, when it does not start
	Findings []finding `json:"findings"`
}

// exitCode is doctor's own: 1 for what inner run ends with 125 or 126, else the same code.
func (c checkup) exitCode() int {
	if c.Code == launch.CodeNoSandbox || c.Code == launch.CodeNotExecutable {
		return 1
	}
	return c.Code
}

// checkProfile takes the way of `inner run -p NAME` to the first instruction of the program, and
// takes down again what was made. Only wrong use is an error.
func (a *app) checkProfile(name string, who cli.WhoFlags) (checkup, error) {
	var holds []finding
	call, err := run.Call{}, error(nil)
	if err = errInBox(); err == nil {
		call, _, err = a.CallHere(name, who, profile.Overrides{}, true)
	}
	if err == nil {
		call.Mode, call.Instead = features.Checks, func(b *run.Prepared) error {
			res := b.Launch(launch.Options{Trial: true}, nil)
			holds = []finding{ok("program", "%s", a.Short(b.Program))}
			for _, h := range picture.Holds(b) { // now: the plan may be another one than before
				f := finding{Name: h.Name, Status: "ok", Text: h.Text, Fix: h.Fix}
				if h.Fix != "" {
					f.Status = "warning"
				}
				holds = append(holds, f)
			}
			if !res.Started {
				return run.StartFailure(res)
			}
			return nil
		}
		_, err = run.Run(a.Settings, call)
	}
	out := checkup{Profile: name, Starts: err == nil}
	if call.Profile != nil {
		out.Profile = call.Profile.Name
	}
	if call.Profile != nil {
		for _, line := range call.Profile.Former() {
			holds = append(holds, warning("profile", line.Hint, "%s:%d: %s %s", a.Short(line.File), line.Line, line.Key, line.Msg))
		}
	}
	switch {
	case err == nil:
		out.Findings = append([]finding{ok("start", "inner run starts it here")}, holds...)
	case cli.IsMisuse(err):
		return out, err
	default:
		out.Code = fault.Code(err)
		fix := cmp.Or(a.Cure(err, name, call.Profile), "inner status")
		out.Findings = append([]finding{broken(faultName(fault.KindOf(err)), fix, "inner run would end with %d: %v", out.Code, err)}, holds...)
	}
	return out, nil
}

// faultName is the name of a finding by the kind of what is wrong.
func faultName(kind string) string {
	return map[string]string{
		fault.KindNotFound: "program", fault.KindNotTrusted: "trust", fault.KindProfile: "profile", fault.KindNoSandbox: "sandbox",
		fault.KindLimits: "limits", fault.KindWorkdir: "folder", fault.KindBackend: "bwrap", fault.KindUsage: "usage", fault.KindTimeout: "sandbox",
	}[kind]
}
