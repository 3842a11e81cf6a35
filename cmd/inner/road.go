package main

// The one road of every run: load, override, probe, stage, build, launch,
// record. `inner run` and the shims both take it.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/shims"
)

// ride takes the road from a loaded profile to an exit code. name is the word
// that was typed, for the record.
func (a *app) ride(p *profile.Profile, c profile.Context, name string) int {
	code, runID, err := a.travel(p, c, name)
	if err != nil {
		a.fail(err)
		a.Audit(runlog.Event{
			Type: runlog.EventRefused, Run: runID, Profile: p.Name, Path: p.Path, Command: name, Cwd: c.Cwd,
			Code: code, Reason: err.Error(),
		})
	}
	return code
}

func (a *app) travel(p *profile.Profile, c profile.Context, word string) (code int, runID string, err error) {
	j, err := a.depart(p, c)
	if err != nil {
		return codeOf(err), j.id(), err
	}
	defer j.close()
	if err := j.beginLog(word); err != nil {
		return codeOf(err), j.id(), err
	}
	j.auditStart(word)
	j.launch()
	a.interrupted = j.result.Interrupted && !j.result.TimedOut
	if !j.result.Started {
		return j.result.Code, j.id(), startFailure(j.result)
	}
	if j.result.TimedOut {
		a.say("stopped after %s (timeout)", j.rc.Output.Timeout)
	}
	j.limitsReached()
	j.sayFull()
	j.arrive()
	j.auditEnd()
	return j.result.Code, j.id(), nil
}

// journey is one run on the road: what is known of it so far.
type journey struct {
	app     *app
	profile *profile.Profile
	context profile.Context
	rc      profile.RunConfig
	run     *stage.Run // nil until something can be staged
	prep    prepared
	staged  plan.Staged
	plan    plan.Plan
	aboard  func(plan.Plan) plan.Plan // puts checks in the place of the program; may be nil
	options launch.Options
	result  launch.Result

	logs    *runlog.Folder // until the record takes it over
	log     *runlog.Run    // nil when the run is not recorded
	capture *runlog.Capture
	begun   time.Time
	clock   time.Time // begun, as files know it
	aside   []string  // what was moved aside at its end

	timeless []string       // writable folders where the time of a change says nothing
	blocked  map[string]int // noop: calls per command
	reach    reach          // what the box may reach by name
	net      *network       // nil without one of the box's own that leads anywhere
	hosts    []runlog.Host  // what became of them
	events   []runlog.Event // what the audit log gets with the end
	gits     *boxGits       // nil without git directories of the box's own
	filled   filled         // the box's folders in memory
	kept     string         // the folder of copies that stay for a review; "" when they go with the run

	// after is what follows the end of the program, in order, while what was
	// staged is still there. It is not called when the program did not run.
	after []func(*journey) error
	// stops ends what was started for the run, also when that did not start.
	stops []func()
}

// depart takes a run as far as its plan: resolve, sweep, probe, stage, build.
// Whoever gets no error closes the journey; on an error it is closed.
func (a *app) depart(p *profile.Profile, c profile.Context) (j *journey, err error) {
	j = &journey{app: a, profile: p, context: c}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	if j.rc, err = settings.Resolve(p, c); err != nil {
		return j, err
	}
	if err := a.AsAllowed(p, c, j.rc); err != nil {
		return j, err
	}
	if a.lesson != nil {
		j.rc.Network = profile.NetAllowlist
	}
	if p.Experimental {
		return j, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("profile %q is experimental and does not start", p.Name), Hint: "set experimental = false in " + p.Path}
	}
	// What crashed runs left is gone, and our folder is there, before the host
	// is probed: the facts are about what the box will see.
	base := a.StageBase()
	if err := a.OwnFolder(); err != nil {
		return j, err
	}
	if _, err := stage.Sweep(base, a.Ledger()); err != nil {
		return j, &fault.Refusal{Code: 125, Msg: "what an earlier run left cannot be removed: " + err.Error(), Hint: "look at " + base + ", then rm -r " + base}
	}
	if err := a.Trust().MarkWritten(j.rc.WritableFolders()...); err != nil {
		return j, err
	}
	a.lookAgain()
	if j.run, err = stage.New(base, a.Ledger()); err != nil {
		return j, err
	}
	if err = j.openLogs(); err != nil {
		return j, err
	}
	if err = j.adopt(); err != nil {
		return j, err
	}
	if err = stageWorkspaces(j); err != nil {
		return j, err
	}
	if j.prep, err = a.prepare(&j.rc, base); err != nil {
		return j, err
	}
	if err := a.knownProc(j.rc, &j.prep.facts, true); err != nil {
		return j, err
	}
	if err := j.findReach(); err != nil {
		return j, err
	}
	if err := j.stage(); err != nil {
		return j, err
	}
	if j.plan, err = plan.Build(j.rc, j.prep.facts, j.staged); err != nil {
		return j, err
	}
	j.options = launch.Options{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Interactive: j.rc.Entrypoint.Interactive, Raw: j.rc.Entrypoint.TUI, CursorFix: j.rc.Entrypoint.CursorFix,
		Clipboard: j.rc.Clipboard,
		Timeout:   j.rc.Output.Timeout,
		Filled:    func(i int, folder *os.File) { j.filled.take(j.plan.Fills[i], folder) },
	}
	if a.lesson != nil {
		a.lesson.learnFrom(j)
	}
	if a.denials != nil {
		j.options.Observe = a.denials.Listen
		j.after = append(j.after, (*journey).sayDenials)
	}
	return j, nil
}

// launch runs the plan; when its /proc cannot be had here, or the host has
// changed since it was looked at, again with another.
func (j *journey) launch() {
	if p := j.plan.Limits; p != nil && j.options.Over == nil {
		j.options.Over = j.gits.limit(p.Disk)
	}
	for range 4 { // what comes and goes all the time does not keep inner for ever
		plan := j.plan
		if j.aboard != nil {
			plan = j.aboard(plan)
		}
		if j.net != nil {
			j.options.Network = j.net.board
			if j.aboard == nil { // checks have nobody to ask
				j.options.Ask = j.net.asker
			}
		}
		j.gits.exchange()
		j.result = launch.Run(plan, j.options)
		if !j.otherProc() && !j.hostChanged() {
			return
		}
	}
}

// vanished is what is said when a place that was to be covered or shown is gone,
// or another one.
var vanished = []string{"Can't create file", "Can't find source path", "Can't get type of source", "Can't mkdir parents", "Can't bind mount", "was exchanged for", "cannot be seen in the box"}

// hostChanged is called when a run did not start because something that was to
// be covered or shown is gone: a socket whose server has ended. It looks at the
// host again and makes another plan.
func (j *journey) hostChanged() bool {
	if j.result.Started || !slices.ContainsFunc(vanished, func(text string) bool { return strings.Contains(j.result.Reason, text) }) {
		return false
	}
	prep, err := j.app.prepare(&j.rc, j.app.StageBase())
	if err != nil {
		return false
	}
	prep.facts.Proc, prep.facts.Limits = j.prep.facts.Proc, j.prep.facts.Limits
	j.prep.facts = prep.facts
	if j.gits.stay(j.rc, &j.prep.facts, &j.staged) != nil || stageBorrowed(j) != nil {
		return false
	}
	plan, err := plan.Build(j.rc, prep.facts, j.staged)
	if err != nil {
		return false
	}
	j.plan = plan
	return true
}

// arrive does what follows the end of the program. What fails is reported and
// changes no exit code: the program has run.
func (j *journey) arrive() {
	j.gits.settle()
	j.holdLeftovers()
	j.finishGit()
	for _, f := range j.after {
		if err := f(j); err != nil {
			j.app.fail(err)
		}
	}
}

func (j *journey) id() string {
	if j.run == nil {
		return ""
	}
	return j.run.ID
}

func (j *journey) close() {
	id := j.id()
	for _, stop := range j.stops {
		stop()
	}
	j.filled.close()
	j.finishGit()
	j.net.close()
	if j.logs != nil {
		_ = j.logs.Close()
	}
	if err := j.log.Close(); err != nil {
		j.app.warn("the record of run %s: %v", id, err)
	}
	if err := j.dropCopies(); err != nil {
		j.app.warn("the copies of run %s: %v", id, err)
	}
	if err := j.run.Close(); err != nil {
		j.app.warn("run %s left something behind: %v", id, err)
	}
}

// startFailure puts into words why the program did not start.
func startFailure(res launch.Result) error {
	r := &fault.Refusal{Code: res.Code, Msg: "the sandbox could not start: " + res.Reason}
	switch {
	case res.Code == 126 || res.Code == 127:
		r.Msg = res.Reason
	case strings.Contains(res.Reason, "Unknown option"):
		r.Msg, r.Hint = "the sandbox could not start: bwrap is older than "+oldestBwrap+": "+res.Reason, "inner doctor"
	case strings.Contains(res.Reason, "uid map"), strings.Contains(res.Reason, "namespace"), strings.Contains(res.Reason, "loopback"):
		r.Hint = "inner doctor"
		if why, _ := host.ProbeNamespaces("/").Cause("/usr/bin/bwrap", res.Reason); why != "" {
			r.Msg = "the sandbox could not start: " + why + ": " + res.Reason
		}
	}
	return r
}

func codeOf(err error) int {
	if r := fault.AsRefusal(err); r != nil {
		return r.Code
	}
	return 125
}

// prepared is what is known before anything is staged.
type prepared struct {
	facts   host.Facts
	program string
	argv    []string
	clones  []capability.Capability
	git     *gitSettings // nil without [git]
}

// prepare resolves the program and probes the host. It changes nothing.
func (a *app) prepare(rc *profile.RunConfig, base string) (prepared, error) {
	var prep prepared
	if rc.Entrypoint.Cmd == "" {
		rc.Entrypoint.Cmd = os.Getenv("SHELL")
		if rc.Entrypoint.Cmd == "" {
			rc.Entrypoint.Cmd = "/bin/sh"
		}
	}
	var err error
	prep.program, err = a.program(*rc)
	if err != nil {
		return prep, err
	}
	prep.argv = append([]string{rc.Entrypoint.Cmd}, rc.Entrypoint.Args...)
	if prep.clones, err = a.capabilities(rc); err != nil {
		return prep, err
	}
	prep.argv = withArgs(prep.argv, prep.clones)
	who := host.Facts{UID: os.Getuid(), Home: a.Home, OtherHome: a.OtherHome(), InnerHome: a.InnerHome, StageBase: base, Env: host.Environment(os.Environ())}
	paths, globs, writable := plan.Asks(*rc, who, prep.program, files.Real, host.Names())
	for _, c := range prep.clones {
		for _, f := range c.Folders {
			paths = append(paths, f.Place(a.Home))
		}
	}
	if prep.git, err = a.gitSettings(*rc); err != nil {
		return prep, err
	}
	paths = append(paths, prep.git.asks(a.Home)...)
	if rc.Network.ByName() {
		paths = append(paths, hostSSH)
	}
	dirs, names := plan.Programs(*rc, os.Getenv("PATH"))
	shown, copied := plan.Mounted(*rc)
	prep.facts = host.Probe(host.Request{
		Home: who.Home, OtherHome: who.OtherHome, InnerHome: a.InnerHome, StageBase: base, Paths: paths, Globs: globs, Holding: plan.Holding(*rc, who), Hide: rc.Hide, Writable: writable, Mounted: shown, Copied: copied,
		Later: plan.LaterFolders(*rc, func(sign string) bool { return slices.Contains(rc.Capabilities, sign) || a.toolThere(sign) }), Obeyed: plan.ObeyedRoots(*rc), Bare: plan.EmptyPlaces(), Display: rc.Clipboard, Env: os.Environ(), Terminal: rc.Entrypoint.Interactive && isTerminal(os.Stdin) && isTerminal(os.Stdout),
		Nested: slices.Contains(rc.Allow, "nested-user-ns"), Limits: rc.Limits.Any(), ProgramDirs: dirs, ProgramNames: names, Setuid: a.setuidBwrap,
	})
	if rc.GitDir == "rw" { // what its settings name is the box's, too
		prep.facts.Later = slices.DeleteFunc(prep.facts.Later, func(p host.Placeholder) bool { return slices.Contains(prep.facts.Named, p.Path) })
	}
	if path := exchanged(*rc, prep.facts.Paths); path != "" {
		return prep, &fault.Refusal{Code: 126, Msg: fmt.Sprintf("%q was exchanged for something else while the sandbox was made", path), Hint: "run it again"}
	}
	return prep, nil
}

// toolThere reports whether this sign of a tool, a program or a path of the home, is on this
// computer.
func (a *app) toolThere(sign string) bool {
	if a.AllTools {
		return true
	}
	if rest, ok := strings.CutPrefix(sign, "~/"); ok {
		return exists(filepath.Join(a.Home, rest))
	}
	_, err := a.FindReal(sign, os.Getenv("PATH"))
	return err == nil
}

// setuidBwrap reports whether the user's own config.toml, and no project's, lets
// inner use a bwrap that starts with the rights of root.
func (a *app) setuidBwrap() bool {
	cfg, err := a.GlobalConfig()
	return err == nil && cfg.SetuidBwrap
}

// program finds what is to run: on the box's PATH, or failing that on the
// caller's.
func (a *app) program(rc profile.RunConfig) (string, error) {
	cmd := rc.Entrypoint.Cmd
	if a.IsShim(cmd) {
		cmd = filepath.Base(cmd) // of $SHELL: the program behind it
	}
	if strings.Contains(cmd, "/") {
		if !filepath.IsAbs(cmd) {
			cmd = filepath.Join(rc.Cwd, cmd)
		}
		fi, err := os.Stat(cmd)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", &fault.Refusal{Code: 127, Msg: fmt.Sprintf("program %q does not exist", cmd)}
		case err != nil:
			return "", &fault.Refusal{Code: 126, Msg: err.Error()}
		case fi.IsDir() || fi.Mode().Perm()&0o111 == 0:
			return "", &fault.Refusal{Code: 126, Msg: fmt.Sprintf("program %q is not executable", cmd)}
		}
		return cmd, nil
	}
	boxPath := plan.BoxPath(rc, os.Getenv("PATH"))
	real, err := a.FindReal(cmd, boxPath)
	if err != nil {
		found, err2 := a.FindReal(cmd, os.Getenv("PATH"))
		if err2 == nil && filepath.IsAbs(found) {
			return found, nil
		}
		if errors.Is(err2, shims.ErrNotExecutable) {
			err = err2
		}
		code, msg := 127, fmt.Sprintf("program %q was not found on PATH", cmd)
		if errors.Is(err, shims.ErrNotExecutable) {
			code, msg = 126, fmt.Sprintf("program %q on PATH is not executable", cmd)
		}
		return "", &fault.Refusal{Code: code, Msg: msg, Hint: fmt.Sprintf("install %s, or name its path in entrypoint.cmd", cmd)}
	}
	return real, nil
}

// exchanged names a path of the profile that the host's facts say leads elsewhere than
// when the grants were compared; "" when none does.
func exchanged(rc profile.RunConfig, facts map[string]host.Path) string {
	for path, real := range rc.Real {
		if f, ok := facts[path]; ok && f.Real != "" && f.Real != real {
			return path
		}
	}
	return ""
}
