package isolator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// The keeper of the box of a session is this program, started by the first call in a session
// of the system of its own. It makes the box as run.Run does, and ends it when inner stop
// says so, when no call came for session.Idle, when a call comes that has another box, when its profile is
// not allowed any more, or when it is killed: then everything in the box dies with it.

// keeperName and keeperWord make this program a keeper: nobody types them by accident.
const (
	keeperName = "inner-session"
	keeperWord = "__hold"
)

func isKeeper(args []string) bool {
	return len(args) == 2 && args[0] == keeperName && args[1] == keeperWord
}

// keeperRequest is what a keeper is started with, on its standard input. Its environment is that
// of the call.
type keeperRequest struct {
	Home, InnerHome, Exe, Version string

	Inner     string
	Key       string // of the box, see boxKey
	Folder    string // of the session
	Dir       string // what the call is about
	File      profile.File
	Scope     profile.Scope
	Overrides profile.Overrides
	By        runlog.By
}

// keeperListens says on standard output that there is a box; else that has the Refusal.
const keeperListens = "ok"

// startKeeper starts a keeper, and returns when it listens.
func startKeeper(s *settings.Settings, folder string, c run.Call, key string) error {
	text, err := json.Marshal(keeperRequest{
		Home: s.Home, InnerHome: s.InnerHome, Exe: s.Exe, Inner: s.Inner, Version: s.Version, Key: key, Folder: folder, Dir: c.Context.Cwd,
		File: c.Profile.Files[0], Scope: c.Profile.Scope, Overrides: c.Context.Overrides, By: c.By,
	})
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{
		Path: cmp.Or(s.Exe, "/proc/self/exe"), Args: []string{keeperName, keeperWord}, Dir: "/", Env: s.Environ,
		Stdin: bytes.NewReader(text), SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	said, err := io.ReadAll(out)
	go func() { _ = cmd.Wait() }() // it may end before this process
	if err != nil || string(said) == keeperListens {
		return err
	}
	var no Refusal
	if json.Unmarshal(said, &no) != nil || no.Code == 0 {
		return errors.New("what was to keep it ended without a word")
	}
	return &no
}

// keepBox is the life of a keeper; it returns its exit code.
func keepBox() int {
	runtime.LockOSThread() // the box dies with the thread that started it
	k := &keeper{notes: new(Notes), done: make(chan struct{})}
	if err := json.NewDecoder(os.Stdin).Decode(&k.q); err != nil || k.q.Folder == "" {
		os.Stderr.WriteString("inner: " + keeperWord + " is for inner itself\n")
		return 2
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		<-signals
		close(k.done)
	}()
	err := k.run()
	if err == nil || k.listens {
		return 0
	}
	_ = json.NewEncoder(os.Stdout).Encode(refused(err))
	return fault.Code(err)
}

// keeper keeps one box.
type keeper struct {
	q        keeperRequest
	notes    *Notes
	settings *settings.Settings
	place    settings.Place
	call     run.Call // that makes the box
	box      *run.Prepared
	done     chan struct{} // closed when the box is to end
	listens  bool

	between sync.Mutex // what follows the end of a call, one at a time
	clock   time.Time  // of files: until then was looked at what calls left
}

// run makes the box, and serves calls until its end.
func (k *keeper) run() error {
	lock, err := session.Hold(k.q.Folder)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := k.load(); err != nil {
		return err
	}
	_, err = run.Run(k.settings, k.call)
	return err
}

// load loads the profile as the call did.
func (k *keeper) load() (err error) {
	q := k.q
	who := &caller.Caller{Home: q.Home, InnerHome: q.InnerHome, Exe: q.Exe, Inner: q.Inner, Version: q.Version}
	who.Environ, who.Teller = os.Environ(), k.notes
	s := settings.Of(who)
	k.settings = s
	k.call = run.Call{Word: "session " + q.By.Session, By: q.By, Tmp: filepath.Join(q.Folder, "tmp"), Instead: k.serve}
	if k.place, err = s.At(q.Dir); err != nil {
		return err
	}
	if k.call.Profile, err = s.Loader(k.place).LoadBytes(q.File, q.Scope); err != nil {
		return err
	}
	k.call.Context, err = s.Context(k.place, q.Overrides, false)
	return err
}

// serve launches the box that was prepared, and serves calls in it.
func (k *keeper) serve(box *run.Prepared) error {
	k.box = box
	k.notes.Began()
	o := box.Options()
	o.Done, o.Begun, o.Timeout, o.Interactive = k.done, k.begun, 0, false
	o.Grant = box.Grant
	for _, suffix := range []string{"", launch.WhereSuffix} { // for inner allow
		if err := os.Symlink(session.Door(k.q.Folder)+suffix, stage.Door(box.StageBase(), box.ID())+suffix); err != nil {
			return err
		}
	}
	o.Join, o.Calls = session.Door(k.q.Folder), &launch.Calls{Open: k.open, Wanted: k.wanted}
	out := features.Outcome{ID: box.ID(), Begun: time.Now()}
	k.clock = runlog.Moment()
	if out.Result = box.Launch(o, nil); !out.Started {
		return run.StartFailure(out.Result)
	}
	out.Clock = k.clock
	box.Finish(&out)
	k.settings.Audit(out.Events...)
	return nil
}

// begun says that the box is there.
func (k *keeper) begun() {
	k.listens = true
	_, _ = os.Stdout.WriteString(keeperListens)
	os.Stdout.Close()
}

// wanted reports whether somebody can find the box and has used it lately, and its profile is still allowed.
func (k *keeper) wanted() bool {
	return files.Exists(session.Door(k.q.Folder)) && time.Since(session.Used(k.q.Folder)) <= session.Idle && k.allowed()
}

// allowed reports whether the profile is still allowed, by what is on the disk now.
func (k *keeper) allowed() bool {
	s, p := settings.Of(k.settings.Caller), k.call.Profile
	if p.Scope == profile.Local && s.Verdict(k.place, p).State != trust.Allowed {
		return false
	}
	_, err := run.SpecOf(s, k.call)
	return err == nil
}

// open reads a call, which runs as in a box of its own that is made as this one is.
func (k *keeper) open(request []byte, stdio [3]*os.File) (*launch.Call, error) {
	var q callRequest
	if json.Unmarshal(request, &q) != nil || q.Key != k.q.Key {
		return nil, nil
	}
	rc, facts, staged := k.box.Spec, k.box.Facts, k.box.Assets
	rc.Env, rc.Cwd, rc.Entered = q.Env, q.Cwd, ""
	facts.Env, staged.Env = host.Environment(q.Environ), k.box.Plan.Set
	staged.Start, staged.OrElse = q.Start, q.OrElse
	p := plan.Plan{Program: q.Program, Argv: features.WithArgs(q.Argv, k.box.Agents)}
	p.Env = plan.Environment(rc, facts, staged)
	p.StartIn(rc, staged)
	begun := time.Now()
	// Who still writes after the call has no file of the caller's.
	files, err := streams.Open(stdio[0], struct{ io.Writer }{stdio[1]}, struct{ io.Writer }{stdio[2]})
	call := &launch.Call{Plan: p, Timeout: q.Timeout, Ended: func(r launch.Result, lost bool) []byte {
		files.Close()
		stdio[1].Close()
		stdio[2].Close()
		a := callAnswer{Outcome: features.Outcome{Result: r, ID: k.box.ID(), Backend: "bwrap", Begun: begun}, Lost: lost}
		k.after(q, &a)
		text, _ := json.Marshal(a)
		return text
	}}
	if err == nil {
		call.Stdio = [3]*os.File{files.In, files.Out, files.Err}
	}
	return call, err
}

// after is what follows the end of a call: it says what became of what the box has in common, and writes the
// line of the call; of one that has not run its own process writes it.
func (k *keeper) after(q callRequest, a *callAnswer) {
	k.between.Lock()
	defer k.between.Unlock()
	now := runlog.Moment()
	a.Clock, k.clock = k.clock, now
	k.box.Between(&a.Outcome)
	a.Limits = features.LimitTexts(k.box.Run, a.Reached)
	for _, text := range a.Limits {
		reached := runlog.Event{Type: runlog.EventLimit, Run: a.ID, Profile: k.box.Spec.Name, Reason: text + " reached"}
		a.Events = append(a.Events, reached)
	}
	if a.Started {
		c := k.call
		c.Word, c.By = q.Word, q.By
		events := k.box.Ended(c, a.Outcome)
		end := &events[len(events)-1]
		end.Program, end.Args, end.Cwd = q.Program, max(0, len(q.Argv)-1), q.Cwd
		if a.Lost {
			end.Reason = "the box of the session ended"
		}
		k.settings.Audit(events...)
	}
	a.Events = nil
	a.SetUp, a.Notes = k.notes.Take()
	session.Use(k.q.Folder)
}
