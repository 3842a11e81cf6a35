package run

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
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// record is the record of one run. With neither logs nor log it keeps nothing.
type record struct {
	s    *settings.Settings
	spec profile.RunConfig

	logs    *runlog.Folder // nil once the log has taken it over
	log     *runlog.Run    // nil when the run is not recorded
	capture *runlog.Capture
	begun   time.Time
	clock   time.Time // begun, by the coarser clock of file times
	err     error     // why it could not begin
}

// openRecord opens the folder of records. When it cannot, a run whose profile asks for a record
// is refused; any other goes on with a warning.
func openRecord(s *settings.Settings, spec profile.RunConfig) (*record, error) {
	r, out := &record{s: s, spec: spec}, spec.Output
	if out.Folder == "" || out.Audit {
		return r, nil
	}
	folder, err := runlog.Make(out.Folder, out.Log != "")
	if err != nil {
		return r, r.missing(err)
	}
	r.logs = folder
	if err := runlog.Remember(s.LogsDir(), out.Folder); err != nil {
		s.Warn("inner log will not find this run: %v", err)
	}
	return r, nil
}

// close closes what is open of the record of a run.
func (r *record) close(id string) {
	if r.logs != nil {
		_ = r.logs.Close()
	}
	if err := r.log.Close(); err != nil {
		r.s.Warn("the record of run %s: %v", id, err)
	}
}

// missing refuses a run whose profile asks for the record that cannot be kept, and otherwise warns.
func (r *record) missing(err error) error {
	out := r.spec.Output
	switch {
	case out.Record:
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q asks for a recording (output.record), which cannot be made: %v", r.spec.Name, err)}
	case out.Log != "":
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q asks for a log (output.log), which cannot be kept: %v", r.spec.Name, err)}
	}
	r.s.Warn("this run is not recorded: %v", err)
	return nil
}

// beginWith has the record begin while bwrap makes the box and before the program may start, or
// at once where the output goes through pipes. It begins once, also when bwrap is started again.
func (r *record) beginWith(b *Prepared, c Call, o *launch.Options) error {
	begin := sync.OnceFunc(func() {
		if c.Ready != nil {
			if r.err = c.Ready(); r.err != nil {
				return
			}
		}
		if r.err = r.begin(b, c.Word); r.err == nil && !r.spec.Output.Audit {
			r.s.Audit(started(b, c))
		}
	})
	if o.WatchAll = r.spec.Output.LogAll; o.WatchAll {
		begin()
		o.Watch = r.watcher()
		return r.err
	}
	o.Meanwhile = func() (launch.Watcher, error) {
		begin()
		return r.watcher(), r.err
	}
	return nil
}

// watcher returns what captures the output, or nil.
func (r *record) watcher() launch.Watcher {
	if r.capture == nil {
		return nil
	}
	return r.capture
}

// begin writes the first line of the record and starts capturing the output. word is the command
// that was typed.
func (r *record) begin(b *Prepared, word string) error {
	r.begun, r.clock = time.Now(), runlog.Moment()
	if r.logs == nil {
		return nil
	}
	spec, folder := b.Spec, r.logs
	r.logs = nil // the log's now
	log, err := folder.Begin(runlog.Start{
		Time: r.begun, Run: b.ID(), Inner: b.Version, PID: os.Getpid(),
		Profile: spec.Name, Path: spec.Path, Scope: string(spec.Scope), Digest: b.Profile.Files[0].Digest,
		Command: word, Program: b.Plan.Program, Args: len(spec.Entrypoint.Args), Cwd: spec.Cwd, Workdir: spec.Workdir, Project: spec.Project,
		Network: string(spec.Network), Allow: spec.Allow, Clones: spec.Capabilities, Terminal: b.Facts.Terminal,
	})
	if err != nil {
		return r.missing(err)
	}
	r.log = log
	secrets := runlog.Secrets(b.Plan.Env, profile.LooksSecret)
	h := runlog.Header{Title: spec.Name, Env: map[string]string{"TERM": b.Getenv("TERM"), "SHELL": b.Getenv("SHELL")}}
	size, err := unix.IoctlGetWinsize(int(b.Stdout.Fd()), unix.TIOCGWINSZ)
	if err == nil {
		h.Width, h.Height = int(size.Col), int(size.Row)
	}
	if spec.Output.Record && b.Facts.Terminal {
		if err == nil {
			r.capture, err = log.Cast(h, r.begun, secrets)
		}
		if err != nil {
			return r.missing(err)
		}
	} else {
		r.capture = log.Output(h, secrets)
	}
	return nil
}

// end ends the record and prints the summary. It comes after everything else that follows a run.
func (r *record) end(b *Prepared, o features.Outcome) {
	rc, res := b.Spec, o.Result
	end := runlog.End{Limits: o.Limits, Time: time.Now(), Code: res.Code, TimedOut: res.TimedOut, Millis: time.Since(r.begun).Milliseconds(), Blocked: o.Blocked, Granted: o.Granted, Network: o.Hosts, Aside: o.Aside, Rewound: o.Rewound}
	if res.Signal != 0 {
		end.Signal = unix.SignalName(res.Signal)
	}
	if r.log == nil {
		WarnRewound(b.Caller, o.Rewound)
	}
	if rc.Output.Summary {
		end.Changes = &o.Left.Changes
	}
	end.Later = o.Left.Later
	if r.capture != nil {
		var err error
		if end.Output, err = r.capture.Close(); err != nil {
			b.Warn("%v", err)
		}
	}
	if r.log != nil {
		if err := r.write(end); err != nil {
			b.Warn("%v", err)
		}
	}
	if rc.Output.Summary {
		r.summary(b, end)
	}
	if rc.Output.Summary || caller.IsTerminal(b.Stderr) {
		tellLater(b, end.Later)
	}
}

// write writes the last line of the record, and removes old records.
func (r *record) write(end runlog.End) error {
	if err := r.log.End(end); err != nil {
		return err
	}
	var keep time.Duration
	var kept int64
	if cfg, err := r.s.GlobalConfig(); err == nil {
		keep, _ = config.ParseAge(cfg.Keep) // it was checked; "" is 0
	}
	if end.Output != nil {
		kept = end.Output.Kept
	}
	return r.log.Tidy(kept, keep)
}

// tellLater names the changed files that something on the host runs or follows later.
func tellLater(b *Prepared, paths []string) {
	var run, read []string
	for _, p := range paths {
		hit, ok := sensitive.Match(filepath.Dir(p), filepath.Base(p), sensitive.Link)
		if ok && hit.Row.Told && hit.Row.Tool == "agents" { // agents read it, and nothing runs it
			read = append(read, p)
		} else {
			run = append(run, p)
		}
	}
	if len(run) > 0 {
		b.Say("these run on your machine the next time you build: %s", names(b, run))
	}
	if len(read) > 0 {
		b.Say("agents on your machine follow these from now on: %s", names(b, read))
	}
}

// summary tells the person how the run went.
func (r *record) summary(b *Prepared, end runlog.End) {
	b.Say("%s ran in profile %s for %s: %s", filepath.Base(b.Plan.Program), b.Spec.Name,
		runlog.Roughly(time.Duration(end.Millis)*time.Millisecond), runlog.HowEnded(end))
	if len(end.Blocked) > 0 {
		b.Say("blocked: %s", runlog.BlockedText(end.Blocked))
	}
	if text := runlog.NetworkSummary(end.Network); text != "" {
		b.Say("network: %s", text)
	}
	switch c := end.Changes; {
	case c == nil:
	case len(c.Files)+len(c.Gone) == 0 && !c.Partly:
		b.Say("nothing changed in the folders it can write")
	default:
		if len(c.Files) > 0 {
			b.Say("changed meanwhile: %s", names(b, c.Files))
		}
		if len(c.Gone) > 0 {
			b.Say("something was removed or renamed in: %s", names(b, c.Gone))
		}
		if c.Partly {
			b.Say("not everything was inspected: there may be more changes")
		}
	}
	if r.log != nil {
		b.Say("record: inner log show %s", b.ID())
	}
}

// WarnRewound names the refs that a run without a record deleted or forced: nothing else keeps them.
func WarnRewound(c *caller.Caller, list []runlog.Ref) {
	const most = 20
	for _, ref := range list[:min(len(list), most)] {
		text, command := ref.Words()
		c.Warn("git: %s", text)
		c.Hint("%s", command)
	}
	if more := len(list) - most; more > 0 {
		c.Warn("git: and %d more refs were deleted or forced", more)
	}
}

// names lists some of the paths for people, with those in the working folder relative to it.
func names(b *Prepared, paths []string) string {
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, b.Spec.Workdir+"/"); ok {
			p = rest
		}
		out = append(out, visible.Text(b.Short(p)))
	}
	return strings.Join(visible.Some(out, 8), ", ")
}

// started returns the audit event of a program that is about to start. An audit log that cannot be
// written stops no run, like a record that no profile asks for: otherwise a full disk would drive
// people out of the sandbox.
func started(b *Prepared, c Call) runlog.Event {
	rc := b.Spec
	reason := ""
	if b.Observe != nil && b.Observe.Hosts {
		reason = "inner learn: every public host is allowed"
	}
	return runlog.Event{
		Type: runlog.EventStart, Reason: reason, Run: b.ID(), Profile: rc.Name, Scope: string(rc.Scope), Path: rc.Path, Digest: b.Profile.Files[0].Digest,
		Command: c.Word, Program: b.Plan.Program, Args: len(rc.Entrypoint.Args), Cwd: rc.Cwd, Network: string(rc.Network), Allow: rc.Allow, By: c.By,
		Backend: b.Backend(),
	}
}

// maxAudited is the most hosts of one run that have a line in the audit log.
const maxAudited = 64

// Ended returns the audit events of what happened in the run, and of its end.
func (b *Prepared) Ended(c Call, o features.Outcome) []runlog.Event {
	var events []runlog.Event
	for _, name := range slices.Sorted(maps.Keys(o.Blocked)) {
		events = append(events, runlog.Event{Type: runlog.EventBlocked, Run: b.ID(), Profile: b.Spec.Name, Command: name, Count: o.Blocked[name]})
	}
	// A program can ask for ever new hosts, and must not drive out what is older.
	events = append(events, o.Events[:min(len(o.Events), maxAudited)]...)
	if more := len(o.Events) - maxAudited; more > 0 {
		events = append(events, runlog.Event{Type: runlog.EventHostRefused, Run: b.ID(), Profile: b.Spec.Name, Count: more, Reason: "further hosts: inner log show " + b.ID()})
	}
	end := runlog.Event{Type: runlog.EventExit, Run: b.ID(), Profile: b.Spec.Name, Backend: b.Backend(), By: c.By}
	if b.Spec.Output.Audit {
		end = started(b, c)
		end.Type = runlog.EventCall
	}
	end.Code, end.Millis = o.Result.Code, time.Since(o.Begun).Milliseconds()
	if o.Result.Signal != 0 {
		end.Signal = unix.SignalName(o.Result.Signal)
	}
	if o.Result.TimedOut {
		end.Reason = "stopped at its time limit"
	}
	return append(events, end)
}
