package main

// The record of a run: its folder is there before the host is probed, its first
// line before the program starts, its last after everything else is done. Then
// comes the summary.

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// openLogs opens the folder of records. What the profile asks for is there or
// the run does not start; without the record inner keeps on its own a run goes
// on, with a word.
func (j *journey) openLogs() error {
	out := j.rc.Output
	if out.Folder == "" {
		return nil
	}
	folder, err := runlog.Make(out.Folder, out.Log != "")
	if err != nil {
		return j.unlogged(err)
	}
	j.logs = folder
	if err := runlog.Remember(j.app.LogsDir(), out.Folder); err != nil {
		j.app.warn("inner log will not find this run: %v", err)
	}
	return nil
}

func (j *journey) unlogged(err error) error {
	out := j.rc.Output
	switch {
	case out.Record:
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q asks for a recording (output.record), which cannot be made: %v", j.rc.Name, err)}
	case out.Log != "":
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q asks for a log (output.log), which cannot be kept: %v", j.rc.Name, err)}
	}
	j.app.warn("this run is not recorded: %v", err)
	return nil
}

// beginLog writes the first line of the record and has the output kept. word is
// what was typed.
func (j *journey) beginLog(word string) error {
	j.begun, j.clock = time.Now(), runlog.Moment()
	j.after = append(j.after, endLog)
	if j.logs == nil {
		return nil
	}
	rc, folder := j.rc, j.logs
	j.logs = nil // the record's now
	rec, err := folder.Begin(runlog.Start{
		Time: j.begun, Run: j.id(), Inner: version, PID: os.Getpid(),
		Profile: rc.Name, Path: rc.Path, Scope: string(rc.Scope), Digest: j.profile.Files[0].Digest,
		Command: word, Program: j.plan.Program, Args: len(rc.Entrypoint.Args), Cwd: rc.Cwd, Workdir: rc.Workdir, Project: rc.Project,
		Network: string(rc.Network), Allow: rc.Allow, Clones: rc.Capabilities, Terminal: j.prep.facts.Terminal,
	})
	if err != nil {
		return j.unlogged(err)
	}
	j.log = rec
	secrets := runlog.Secrets(j.plan.Env, profile.LooksSecret)
	if rc.Output.Record && j.prep.facts.Terminal {
		width, height, err := term.GetSize(int(os.Stdout.Fd()))
		if err == nil {
			h := runlog.Header{Width: width, Height: height, Title: rc.Name, Env: map[string]string{"TERM": os.Getenv("TERM"), "SHELL": os.Getenv("SHELL")}}
			j.capture, err = rec.Cast(h, j.begun, secrets)
		}
		if err != nil {
			return j.unlogged(err)
		}
	} else {
		j.capture = rec.Output(secrets)
	}
	j.options.Watch, j.options.WatchAll = j.capture, rc.Output.LogAll
	return nil
}

// endLog ends the record and sums the run up. It comes last of all that follows
// a run.
func endLog(j *journey) error {
	rc, res := j.rc, j.result
	end := runlog.End{Limits: j.reached(), Time: time.Now(), Code: res.Code, TimedOut: res.TimedOut, Millis: time.Since(j.begun).Milliseconds(), Blocked: j.blocked, Network: j.hosts, Aside: j.aside}
	if res.Signal != 0 {
		end.Signal = unix.SignalName(res.Signal)
	}
	roots, ours, files := writableRoots(rc), j.placeholders(), []string(nil)
	if rc.Output.Summary {
		changes := runlog.Changed(roots, ours, j.clock)
		end.Changes, files = &changes, changes.Files
	}
	end.Later = runlog.RunsLater(roots, ours, files, j.clock)
	if j.capture != nil {
		var err error
		if end.Output, err = j.capture.Close(); err != nil {
			j.app.warn("%v", err)
		}
	}
	if j.log != nil {
		err := j.log.End(end)
		if err == nil && end.Output != nil {
			err = j.log.Tidy(end.Output.Kept)
		} else if err == nil {
			err = j.log.Tidy(0)
		}
		if err != nil {
			j.app.warn("%v", err)
		}
	}
	if rc.Output.Summary {
		j.summary(end)
	}
	if len(end.Later) > 0 && (rc.Output.Summary || isTerminal(os.Stderr)) {
		steer := func(p string) bool { // what agents read, and nothing runs
			hit, ok := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.Link)
			return ok && hit.Row.Told && hit.Row.Tool == "agents"
		}
		if run := slices.DeleteFunc(slices.Clone(end.Later), steer); len(run) > 0 {
			j.app.say("these run on your machine the next time you build: %s", j.names(run))
		}
		if read := slices.DeleteFunc(slices.Clone(end.Later), func(p string) bool { return !steer(p) }); len(read) > 0 {
			j.app.say("agents on your machine follow these from now on: %s", j.names(read))
		}
	}
	return nil
}

// writableRoots are the host folders that the box can write.
func writableRoots(rc profile.RunConfig) []string {
	var out []string
	if rc.WorkdirMode == profile.RW {
		out = append(out, rc.Workdir)
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.RW {
			out = append(out, m.Source)
		}
	}
	return out
}

// placeholders are what inner made in writable folders, for as long as the run
// needs it.
func (j *journey) placeholders() []string {
	var out []string
	for _, p := range j.prep.facts.Later {
		out = append(out, p.Path)
	}
	return out
}

// summary says on stderr how the run went.
func (j *journey) summary(end runlog.End) {
	a := j.app
	a.say("%s ran in profile %s for %s: %s", filepath.Base(j.plan.Program), j.rc.Name, roughly(time.Duration(end.Millis)*time.Millisecond), howEnded(end))
	if len(end.Blocked) > 0 {
		a.say("blocked: %s", blockedText(end.Blocked))
	}
	if text := networkSummary(end.Network); text != "" {
		a.say("network: %s", text)
	}
	switch c := end.Changes; {
	case c == nil:
	case len(c.Files)+len(c.Gone) == 0 && !c.Partly:
		a.say("nothing changed in the folders it can write")
	default:
		if len(c.Files) > 0 {
			a.say("changed meanwhile: %s", j.names(c.Files))
		}
		if len(c.Gone) > 0 {
			a.say("something was removed or renamed in: %s", j.names(c.Gone))
		}
		if c.Partly {
			a.say("not everything was looked at: there may be more changes")
		}
	}
	if j.log != nil {
		a.say("record: inner log show %s", j.id())
	}
}

func howEnded(end runlog.End) string {
	switch {
	case end.TimedOut:
		return "stopped at its time limit"
	case len(end.Limits) > 0:
		return fmt.Sprintf("exit code %d, %s reached", end.Code, strings.Join(end.Limits, " and "))
	case end.Signal != "":
		return "ended by " + end.Signal
	}
	return fmt.Sprintf("exit code %d", end.Code)
}

func blockedText(counts map[string]int) string {
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// names writes some of the paths, those of the working folder short.
func (j *journey) names(paths []string) string {
	const most = 8
	var out []string
	for _, p := range paths[:min(len(paths), most)] {
		if rest, ok := strings.CutPrefix(p, j.rc.Workdir+"/"); ok {
			p = rest
		}
		out = append(out, printable(j.app.Short(p)))
	}
	if more := len(paths) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// roughly writes a duration for people.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// auditStart notes that the program is about to be started. Like the record
// that inner keeps on its own, an audit log that cannot be written stops no run:
// a full disk would otherwise drive people out of the sandbox.
func (j *journey) auditStart(word string) {
	rc := j.rc
	reason := ""
	if j.app.lesson != nil {
		reason = "inner learn: every public host is allowed"
	}
	j.app.Audit(runlog.Event{
		Type: runlog.EventStart, Reason: reason, Run: j.id(), Profile: rc.Name, Scope: string(rc.Scope), Path: rc.Path, Digest: j.profile.Files[0].Digest,
		Command: word, Program: j.plan.Program, Args: len(rc.Entrypoint.Args), Cwd: rc.Cwd, Network: string(rc.Network), Allow: rc.Allow,
	})
}

// maxAudited is how many hosts of one run have a line in the audit log.
const maxAudited = 64

// auditEnd notes what happened in the run, and its end, by one write.
func (j *journey) auditEnd() {
	var events []runlog.Event
	for _, name := range slices.Sorted(maps.Keys(j.blocked)) {
		events = append(events, runlog.Event{Type: runlog.EventBlocked, Run: j.id(), Profile: j.rc.Name, Command: name, Count: j.blocked[name]})
	}
	// A program can ask for ever new hosts, and must not drive out what is older.
	events = append(events, j.events[:min(len(j.events), maxAudited)]...)
	if more := len(j.events) - maxAudited; more > 0 {
		events = append(events, runlog.Event{Type: runlog.EventHostRefused, Run: j.id(), Profile: j.rc.Name, Count: more, Reason: "further hosts: inner log show " + j.id()})
	}
	end := runlog.Event{Type: runlog.EventExit, Run: j.id(), Profile: j.rc.Name, Code: j.result.Code, Millis: time.Since(j.begun).Milliseconds()}
	if j.result.Signal != 0 {
		end.Signal = unix.SignalName(j.result.Signal)
	}
	if j.result.TimedOut {
		end.Reason = "stopped at its time limit"
	}
	j.app.Audit(append(events, end)...)
}
