// Package run is the way of one run: Run goes from a loaded profile to its outcome, Prepare as far as
// the plan.
//
//	s := settings.Of(caller)                                  // who calls; what is set and allowed
//	place, err := s.Here()
//	p, err := s.Choose("", place)                             // trusted on the bytes that were loaded
//	c, err := s.Context(place, profile.Overrides{}, false)
//	out, err := run.Run(s, run.Call{Profile: p, Context: c, Word: "run"})
//
// Run and Prepare do not print, exit, or read the environment of the process: the caller does.
//
// A program that makes boxes calls Main first. Other Go programs use package isolator, which takes all
// of that from the process itself.
package run

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// Call says what to run.
type Call struct {
	Profile *profile.Profile // loaded, and allowed where that is needed
	Context profile.Context  // what it is resolved against
	Word    string           // the command that was typed, for the record

	By runlog.By // on whose behalf, as the caller says; for the audit log

	Detached func(id string) // when not nil the box goes on without its terminal, and this is called when the program starts

	Ready func() error // when not nil, is called before the program may start; on an error it does not

	Began func() // when not nil, is called after the program has run, before what came of it is told

	Done   <-chan struct{} // see launch.Options
	Tmp    string          // host path of the session's folder that is /tmp; "" for an empty /tmp
	Start  string          // box path to start in; "" for the profile's
	OrElse bool            // start in the profile's folder where the box has no Start

	// Join, when not nil, runs the call in the box of its session, where the profile has one for all
	// calls: it is prepared, launched and finished once.
	Join func(profile.RunConfig) (features.Outcome, error)

	// Elsewhere, when not nil, goes on as a program that makes boxes by a container engine, for a profile that
	// has or may have one. It returns when there is no such program, with an error where bwrap cannot do.
	Elsewhere func(profile.RunConfig) error

	// Observe, when not nil, observes what the program accesses.
	Observe *features.Observe

	// Instead, when not nil, is called instead of starting the program, and nothing follows it.
	// Such a run has no record.
	Instead func(*Prepared) error
	Mode    features.Mode // what Instead does: features.Checks, or it runs programs itself

	// Shows are further files of the host that the box gets, read-only, below paths.BoxDir: a
	// program that is started instead of the profile's.
	Shows []plan.Bind
}

// Run runs a call. An error means that the program did not run: out.Code is the exit code of the
// refusal, and the audit log has it, except for a call with Instead.
func Run(s *settings.Settings, c Call) (out features.Outcome, err error) {
	defer func() {
		if err != nil {
			out.Code = fault.Code(err)
			s.Audit(c.refused(out.ID, err)...)
		}
	}()
	spec, err := SpecOf(s, c) // what the profile comes to here, and was shown when it was allowed
	if err != nil {
		return out, err
	}
	if spec.SessionBox && c.Join != nil && c.Instead == nil {
		return c.Join(spec)
	}
	if spec.Backend != "bwrap" && c.Elsewhere != nil {
		if err := c.Elsewhere(spec); err != nil {
			return out, err
		}
	}
	if err := s.OwnFolder(); err != nil {
		return out, err
	}
	bwrap := startEarly(s, c, spec, c.Mode)
	defer bwrap.early.Close()          // where nobody took it
	folder, err := openFolder(s, spec) // of this run; what crashed runs left is gone
	if err != nil {
		return out, err
	}
	out.ID = folder.ID
	defer closeFolder(s, folder)
	rec, err := openRecord(s, spec)
	if err != nil {
		return out, err
	}
	defer rec.close(out.ID)
	box, err := Prepare(s, c, spec, folder, c.Mode, bwrap) // facts, assets, plan
	if err != nil {
		return out, err
	}
	defer box.Close()
	if err := s.Trust().MarkWritten(spec.WritableFolders()...); err != nil { // not by a run that was refused
		return out, err
	}
	if err := folder.Say(box.about(c.Word)); err != nil {
		return out, err
	}
	if c.Instead != nil {
		return out, c.Instead(box)
	}
	o := c.options(box)
	if err := rec.beginWith(box, c, &o); err != nil {
		return out, err
	}
	if o.Interactive && !o.Made && launch.Foreign(int(o.Stdin.Fd())) {
		box.Warn("nothing that is typed reaches the sandbox: this terminal is the controlling one of another session")
		box.Hint("su --pty, setsid --ctty and ssh -t give a command a terminal of its own")
	}
	out.Result = box.Launch(o, nil)
	if c.Began != nil {
		c.Began()
	}
	if !out.Started {
		return out, StartFailure(out.Result)
	}
	out.Backend, out.Begun, out.Clock = box.Backend(), rec.begun, rec.clock
	box.live.mu.Lock() // nothing is given to a box that has ended
	out.Granted, box.live.over = box.live.words, true
	box.live.mu.Unlock()
	box.Finish(&out)
	rec.end(box, out)
	s.Audit(box.Ended(c, out)...)
	return out, nil
}

// options are the launcher's for the program of a call.
func (c Call) options(box *Prepared) launch.Options {
	o := box.Options()
	o.Done = c.Done
	o.Join, o.Grant = stage.Door(box.StageBase(), box.ID()), box.Grant
	box.Has, box.Give = box.has, box.give
	o.Begun = sensitive.Prepare // for what follows the program
	if c.Detached != nil {
		o.Stay, o.Begun = true, func() { c.Detached(box.ID()) }
	}
	return o
}

// refused returns the audit event of a refusal.
func (c Call) refused(id string, err error) []runlog.Event {
	if c.Instead != nil {
		return nil // the checks have an event of their own
	}
	return []runlog.Event{{
		Type: runlog.EventRefused, Run: id, Profile: c.Profile.Name, Path: c.Profile.Path, Command: c.Word, Cwd: c.Context.Cwd,
		Code: fault.Code(err), Reason: err.Error(), By: c.By,
	}}
}

// SpecOf resolves the profile of a call, and refuses one that would get more than was
// allowed.
func SpecOf(s *settings.Settings, c Call) (profile.RunConfig, error) {
	spec, err := settings.Resolve(c.Profile, c.Context)
	if err != nil {
		return spec, err
	}
	if err := s.AsAllowed(c.Profile, c.Context, spec); err != nil {
		return spec, err
	}
	if c.Observe != nil && c.Observe.Hosts { // every host has a name then
		for _, f := range []profile.Forbidden{{Key: "sandbox.network_mode", Value: "full"}, {Key: "sandbox.network", Value: "true"}} {
			if err := s.Permitted(f, "to reach every public host, as inner learn does,"); err != nil {
				return spec, err
			}
		}
		spec.Network = profile.NetAllowlist
	}
	return spec, Experimental(c.Profile)
}

// Experimental refuses a profile with experimental = true.
func Experimental(p *profile.Profile) error {
	if !p.Experimental {
		return nil
	}
	return &fault.Refusal{
		Code: 125, Kind: fault.KindProfile,
		Msg:  fmt.Sprintf("profile %q is experimental and does not start", p.Name),
		Hint: "set experimental = false in " + p.Path,
	}
}

// openFolder makes the folder of a run, after removing what crashed runs left. Both come before
// the host is probed, so that the facts are about what the box will see.
func openFolder(s *settings.Settings, spec profile.RunConfig) (*stage.Run, error) {
	base := s.StageBase()
	stuck, err := features.Sweep(s.Caller)
	if err != nil {
		return nil, &fault.Refusal{
			Code: 125,
			Msg:  "what an earlier run left cannot be removed: " + err.Error(),
			Hint: "ls -lA " + base,
		}
	}
	for _, err := range stuck {
		s.Warn("an empty file or folder that an earlier run made is still there: %v", err)
	}
	if err := s.Trust().MarkWorked(spec.WorkFolders()...); err != nil {
		return nil, err
	}
	folder, err := stage.New(base, s.InnerHome)
	if err != nil {
		return nil, err
	}
	// What other runs have made where this one can write stays for it.
	if err := folder.KeepPlaceholders(slices.Concat(spec.WritableRoots(), features.WrittenRoots(spec))...); err != nil {
		closeFolder(s, folder)
		return nil, err
	}
	return folder, nil
}

func closeFolder(s *settings.Settings, folder *stage.Run) {
	if err := folder.Close(); err != nil {
		s.Warn("run %s left something behind: %v", folder.ID, err)
	}
}

// StartFailure returns the refusal that says why the program did not start.
func StartFailure(res launch.Result) error {
	if res.Err != nil {
		return res.Err
	}
	r := &fault.Refusal{Code: res.Code, Msg: "the sandbox could not start: " + res.Reason}
	switch {
	case strings.HasPrefix(res.Reason, "working folder "):
		r.Code, r.Kind, r.Msg, r.Hint = 126, fault.KindWorkdir, res.Reason, "name a folder that the box shows"
	case res.Reason == launch.ErrNoTerminal.Error():
		r.Msg, r.Hint = "it cannot be detached: "+res.Reason, "inner run --detach -i …"
	case slices.Contains(res.Reached, "memory"):
		r.Kind = fault.KindLimits
	case res.Code == 126 || res.Code == 127:
		r.Kind, r.Msg = fault.KindNotFound, res.Reason
	case strings.Contains(res.Reason, "Unknown option"):
		r.Msg, r.Hint = "the sandbox could not start: bwrap is older than "+host.OldestBwrap+": "+res.Reason, "inner doctor"
	case strings.Contains(res.Reason, "uid map"), strings.Contains(res.Reason, "namespace"), strings.Contains(res.Reason, "loopback"):
		r.Hint = "inner doctor"
		if why, _ := host.ProbeNamespaces("/").Cause("/usr/bin/bwrap", res.Reason); why != "" {
			r.Msg = "the sandbox could not start: " + why + ": " + res.Reason
		}
	}
	return r
}
