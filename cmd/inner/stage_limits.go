package main

// Limits of a run: what holds them is chosen from the facts, made before the
// plan, and told at the end when it was reached.

import (
	"fmt"
	"strings"

	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
)

// stageLimits makes the control group of the run, where that is what holds its
// limits. One that cannot be made after all is no engine: another is chosen. What
// nothing holds plan.Build refuses, unless the profile says limits_required =
// false: then it is told.
func stageLimits(j *journey) error {
	held, missing := plan.Limits(j.rc, j.prep.facts)
	for held != nil && held.Parent != "" && (len(missing) == 0 || j.rc.LimitsLoose) {
		held.Folder = held.FolderOf(j.run.ID)
		err := j.run.Group(held.Folder, held.Make)
		if err == nil {
			j.staged.Group = held.Folder
			break
		}
		j.prep.facts.Limits.Group = limits.Parent{Why: err.Error()}
		held, missing = plan.Limits(j.rc, j.prep.facts)
	}
	if len(missing) > 0 && j.rc.LimitsLoose {
		j.app.warn("%s; the run starts without (limits_required = false)", plan.Unlimited(missing))
	}
	return nil
}

// limitsReached says which limits the run came to, and notes them.
func (j *journey) limitsReached() {
	for _, text := range j.reached() {
		j.app.say("%s reached", text)
		j.events = append(j.events, runlog.Event{Type: runlog.EventLimit, Run: j.id(), Profile: j.rc.Name, Reason: text + " reached"})
	}
}

// reached are the limits that the run came to, in words.
func (j *journey) reached() []string {
	var out []string
	for _, key := range j.result.Reached {
		for _, h := range j.plan.Limits.Held {
			if h.Key == key {
				text := limitName(key) + " limit " + h.Text
				if key == limits.DiskKey {
					text += " (sandbox.limits.disk) of the box's git directory"
				}
				out = append(out, text)
			}
		}
	}
	return out
}

// limitName is the key of a limit, for people.
func limitName(key string) string {
	switch key {
	case "pids":
		return "process"
	case "files":
		return "open files"
	}
	return strings.ReplaceAll(key, "_", " ")
}

// limitLines tells what holds each limit of a plan; a pasted command has only
// those of disk.
func limitLines(plan plan.Plan) []string {
	if plan.Limits == nil {
		return nil
	}
	var out []string
	for _, h := range plan.Limits.Held {
		out = append(out, fmt.Sprintf("%s limit %s, held by %s", limitName(h.Key), h.Text, engineText(h, plan.Limits)))
	}
	return out
}

func engineText(h limits.Held, p *limits.Plan) string {
	switch h.Engine {
	case limits.Systemd:
		return "a scope of systemd (" + p.Scope[0] + ")"
	case limits.Cgroup:
		return "a control group in " + p.Parent
	case limits.Rlimit:
		return "resource limits of the program (setrlimit)"
	}
	return "the size of each tmpfs, and of the box's git directories by a look at them"
}
