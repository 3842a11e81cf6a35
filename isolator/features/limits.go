package features

// Limits of a run: what holds them is chosen from the facts, made before the
// plan, and told at the end when it was reached.

import (
	"strings"

	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
)

// limited holds the run to its limits.
func limited() Feature {
	return Feature{
		Name: "limits", Keys: []string{"sandbox.limits", "sandbox.limits_required"}, Make: controlGroup,
		Finish: func(run *Run, o *Outcome) error {
			o.Limits = LimitTexts(run, run.Result.Reached)
			run.endDisks()
			for _, text := range o.Limits {
				run.Say("%s reached", text)
				o.Events = append(o.Events, runlog.Event{Type: runlog.EventLimit, Run: run.ID(), Profile: run.Spec.Name, Reason: text + " reached"})
			}
			return nil
		},
	}
}

// controlGroup makes the control group of the run, where that is what holds its
// limits. One that cannot be made after all is no engine: another is chosen. What
// nothing holds plan.Build refuses, unless the profile says limits_required =
// false: then it is told.
func controlGroup(run *Run) error {
	if !run.Mode.Made() {
		return nil
	}
	held, missing := plan.Limits(run.Spec, run.Facts)
	for held != nil && held.Parent != "" && (len(missing) == 0 || run.Spec.LimitsLoose) {
		held.Folder = held.FolderOf(run.Folder.ID)
		err := run.Folder.Group(held.Folder, held.Make)
		if err == nil {
			run.Assets.Group = held.Folder
			break
		}
		run.Facts.Limits.Group = limits.Parent{Why: err.Error()}
		held, missing = plan.Limits(run.Spec, run.Facts)
	}
	if len(missing) > 0 && run.Spec.LimitsLoose {
		run.Warn("%s; the run starts without (limits_required = false)", plan.Unlimited(missing))
	}
	return nil
}

// LimitTexts are the limits that the run came to, by their keys, in words.
func LimitTexts(run *Run, keys []string) []string {
	var out []string
	for _, key := range keys {
		for _, h := range run.Plan.Limits.Held {
			if h.Key == key {
				text := LimitName(key) + " limit " + h.Text
				if key == limits.DiskKey {
					text += " (sandbox.limits.disk) of " + run.fullDisk()
				}
				out = append(out, text)
			}
		}
	}
	return out
}

// LimitName is the key of a limit, for people.
func LimitName(key string) string {
	switch key {
	case "pids":
		return "process"
	case "files":
		return "open files"
	}
	return strings.ReplaceAll(key, "_", " ")
}
