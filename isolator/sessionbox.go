package isolator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// The keeper of the box of a session is this program, started by the first call in a session
// of the system of its own. It makes the box as Run does, and ends it when inner session end
// says so, when no call came for session_idle, when a call comes that has another box, when its profile is
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

	Key       string // of the box, see boxKey
	Folder    string // of the session
	Dir       string // what the call is about
	File      profile.File
	Scope     profile.Scope
	Overrides profile.Overrides
	By        runlog.By
	Idle      time.Duration
}

// keeperRefusal is why there is no box, on its standard output; keeperListens says that there is one.
type keeperRefusal struct {
	Code            int
	Kind, Msg, Hint string
}

const keeperListens = "ok"

// startKeeper starts a keeper, and returns when it listens.
func startKeeper(s *settings.Settings, c Call, key string) error {
	text, err := json.Marshal(keeperRequest{
		Home: s.Home, InnerHome: s.InnerHome, Exe: s.Exe, Version: s.Version, Key: key, Folder: c.Session, Dir: c.Context.Cwd,
		File: c.Profile.Files[0], Scope: c.Profile.Scope, Overrides: c.Context.Overrides, By: c.By, Idle: SessionIdle(s),
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
	var no keeperRefusal
	if json.Unmarshal(said, &no) != nil || no.Code == 0 {
		return errors.New("what was to keep it ended without a word")
	}
	return &fault.Refusal{Code: no.Code, Kind: no.Kind, Msg: no.Msg, Hint: no.Hint}
}

// SessionIdle is how long a session is kept that nobody uses.
func SessionIdle(s *settings.Settings) time.Duration {
	if cfg, err := s.GlobalConfig(); err == nil && cfg.SessionIdle > 0 {
		return cfg.SessionIdle
	}
	return session.DefaultIdle
}

// keepBox is the life of a keeper; it returns its exit code.
func keepBox() int {
	runtime.LockOSThread() // the box dies with the thread that started it
	k := &keeper{notes: new(caller.Notes), calls: new(launch.Calls), done: make(chan struct{}), door: -1}
	if err := json.NewDecoder(os.Stdin).Decode(&k.q); err != nil || k.q.Folder == "" {
		os.Stderr.WriteString("inner: " + keeperWord + " is for inner itself\n")
		return 2
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		<-signals
		k.end()
	}()
	err := k.run()
	if err == nil || k.listened {
		return 0
	}
	no := keeperRefusal{Code: fault.Code(err), Kind: fault.KindOf(err), Msg: err.Error()}
	if r := fault.AsRefusal(err); r != nil {
		no.Hint = r.Hint
	}
	_ = json.NewEncoder(os.Stdout).Encode(no)
	return no.Code
}

// keeper keeps one box.
type keeper struct {
	q        keeperRequest
	notes    *caller.Notes
	settings *settings.Settings
	place    settings.Place
	call     Call // that makes the box
	box      *Prepared
	calls    *launch.Calls
	done     chan struct{} // closed when the box is to end

	mu       sync.Mutex
	door     int  // the socket that it listens on; -1 when no call is taken any more
	listened bool // it has
	running  int  // calls
	over     bool // done is closed

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
	_, err = Run(k.settings, k.call)
	return err
}

// load loads the profile as the call did.
func (k *keeper) load() (err error) {
	q := k.q
	s := settings.Of(&caller.Caller{Home: q.Home, InnerHome: q.InnerHome, Exe: q.Exe, Version: q.Version, Environ: os.Environ(), Teller: k.notes})
	k.settings, k.call = s, Call{Word: "session " + q.By.Session, By: q.By, Tmp: filepath.Join(q.Folder, "tmp"), Instead: k.serve}
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
func (k *keeper) serve(box *Prepared) error {
	k.box = box
	k.notes.Began()
	o := box.Options()
	o.Done, o.Calls, o.Begun, o.Timeout, o.Interactive = k.done, k.calls, k.open, 0, false
	out := features.Outcome{ID: box.ID(), Begun: time.Now()}
	k.clock = runlog.Moment()
	out.Result = box.Launch(o, nil)
	k.end()
	if !out.Started {
		return StartFailure(out.Result)
	}
	k.between.Lock()
	defer k.between.Unlock()
	out.Clock = k.clock
	box.finish(&out)
	k.settings.Audit(out.Events...)
	return nil
}

// open lets calls join, once the box is there.
func (k *keeper) open() {
	defer os.Stdout.Close()
	door, err := wire.Listen(session.Door(k.q.Folder), 128)
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(keeperRefusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("the box of the session: %v", err)})
		k.end()
		return
	}
	k.door, k.listened = door, true
	_, _ = os.Stdout.WriteString(keeperListens)
	go func() {
		for {
			conn, _, err := wire.Accept(door)
			if err == unix.EBADF || err == unix.EINVAL {
				return
			}
			if err == nil {
				go k.served(conn)
			}
		}
	}()
	go k.watch()
}

// watchEvery is how often it is asked whether anybody uses the box.
const watchEvery = 2 * time.Second

// watch ends a box that nobody uses, nobody can find any more, or that is not allowed any more.
func (k *keeper) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-k.done:
			return
		case <-tick.C:
		}
		k.mu.Lock()
		unused := k.running == 0 && (time.Since(session.Used(k.q.Folder)) > k.q.Idle || !files.Exists(session.Door(k.q.Folder)) || !k.allowed())
		if unused {
			k.close()
		}
		k.mu.Unlock()
		if unused {
			k.end()
		}
	}
}

// allowed reports whether the profile is still allowed, by what is on the disk now.
func (k *keeper) allowed() bool {
	s, p := settings.Of(k.settings.Caller), k.call.Profile
	if p.Scope == profile.Local && s.Verdict(k.place, p).State != trust.Allowed {
		return false
	}
	_, err := specOf(s, k.call)
	return err == nil
}

// close takes no more calls: whoever has not been answered yet finds the end of the connection. The
// mutex is held.
func (k *keeper) close() {
	if k.door >= 0 {
		_ = os.Remove(session.Door(k.q.Folder))
		_ = unix.Shutdown(k.door, unix.SHUT_RDWR)
		unix.Close(k.door)
		k.door = -1
	}
}

// end ends the box.
func (k *keeper) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.close()
	if !k.over {
		k.over = true
		close(k.done)
	}
}

// take reports whether a call of that key is taken; leave has to follow then. A call of another
// one closes the box.
func (k *keeper) take(key string) (taken, other bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.door < 0:
		return false, false
	case key != k.q.Key:
		k.close()
		if k.running == 0 {
			go k.end() // which takes the mutex
		}
		return false, true
	}
	k.running++
	return true, false
}

func (k *keeper) leave() {
	k.mu.Lock()
	k.running--
	last := k.door < 0 && k.running == 0
	k.mu.Unlock()
	if last {
		k.end()
	}
}

// askWithin is how long a connection may take to say what it wants.
const askWithin = 30 * time.Second

// served serves one connection.
func (k *keeper) served(conn int) {
	defer unix.Close(conn)
	if wire.Poll(conn, unix.POLLIN, int(askWithin/time.Millisecond)) == 0 {
		return
	}
	m, fds, err := wire.Await(conn)
	defer wire.CloseAll(fds)
	var q callRequest
	switch {
	case err != nil:
	case m.Kind == wire.End:
		k.end()
	case m.Kind == wire.Call && len(fds) == 4 && received(fds[0], &q) == nil:
		taken, other := k.take(q.Key)
		if other {
			_ = wire.Send(conn, wire.Msg{Kind: wire.Failed})
		}
		if !taken {
			return
		}
		defer k.leave()
		if wire.Send(conn, wire.Msg{Kind: wire.Started}) == nil {
			k.answer(conn, q, [3]int(fds[1:]))
		}
	}
}

// jobOf is the program of a call, as it would run in a box of its own that is made as this one is.
func (k *keeper) jobOf(q callRequest) plan.Plan {
	rc, facts, staged := k.box.Spec, k.box.Facts, k.box.Assets
	rc.Env, rc.Cwd = q.Env, q.Cwd
	facts.Env, staged.Env = host.Environment(q.Environ), k.box.Plan.Set
	staged.Start, staged.OrElse = q.Start, q.OrElse
	p := plan.Plan{Program: q.Program, Argv: features.WithArgs(q.Argv, k.box.Agents), Env: plan.Environment(rc, facts, staged)}
	p.StartIn(rc, staged)
	return p
}

// answer runs one call, whose streams it closes once they are the box's, and answers it.
func (k *keeper) answer(conn int, q callRequest, stdio [3]int) {
	a := callAnswer{Outcome: features.Outcome{ID: k.box.ID(), Backend: "bwrap", Begun: time.Now()}}
	run, err := k.calls.Start(k.jobOf(q), stdio)
	null, _ := wire.OpenNull()
	for _, fd := range stdio { // their other ends see the box alone
		_ = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	unix.Close(null)
	words, over := make(chan word), make(chan struct{})
	defer close(over)
	go hear(conn, words, over)
	if err != nil {
		a.Code, a.Reason = launch.CodeNoSandbox, err.Error()
	} else {
		a.Result, a.Lost = follow(run, q.Timeout, words)
	}
	k.after(q, &a)
	if sendJSON(conn, wire.Ended, a) != nil {
		return
	}
	select {
	case w := <-words:
		for _, fd := range w.fds { // as long as somebody writes
			go func() {
				f := os.NewFile(uintptr(fd), "output")
				_, _ = io.Copy(io.Discard, f)
				f.Close()
			}()
		}
	case <-time.After(askWithin):
	}
}

// word is what a call says while it runs; the zero value is the end of the connection.
type word struct {
	wire.Msg
	fds []int
}

// hear reads what a call says, until its last word.
func hear(conn int, words chan<- word, over <-chan struct{}) {
	for {
		m, fds, err := wire.Await(conn)
		if err != nil {
			m = wire.Msg{}
		}
		if m.Kind != wire.Rest {
			wire.CloseAll(fds)
			fds = nil
		}
		select {
		case words <- word{m, fds}:
		case <-over:
			wire.CloseAll(fds)
			return
		}
		if err != nil || m.Kind == wire.Rest {
			return
		}
	}
}

// callGrace is how long a program may take after SIGTERM, as in a box of its own.
const callGrace = 5 * time.Second

// follow follows a call to its end. lost says that the box has ended, and the call with it.
func follow(run *launch.CallRun, limit time.Duration, words <-chan word) (res launch.Result, lost bool) {
	defer run.Forget()
	var timeout, kill <-chan time.Time
	if limit > 0 {
		timeout = time.After(limit)
	}
	all := false // its processes have to end, too
	for {
		select {
		case e := <-run.Ended():
			if all {
				run.Kill()
			}
			res.Started, res.Reason = e.Started, e.Reason
			if res.Code, res.Signal = e.Exit(); res.TimedOut {
				res.Code = launch.CodeTimeout
			}
			return res, e.Lost
		case <-timeout:
			timeout, all, res.TimedOut = nil, true, true
			run.Signal(syscall.SIGTERM)
			run.Signal(syscall.SIGCONT)
			kill = time.After(callGrace)
		case <-kill:
			kill = nil
			go run.Kill()
		case w := <-words:
			if sig := syscall.Signal(w.N); w.Kind == wire.Signal {
				run.Signal(sig)
				if (sig == syscall.SIGTERM || sig == syscall.SIGHUP) && kill == nil {
					all, kill = true, time.After(callGrace)
				}
				continue
			}
			all = true // whoever called is gone, or wants no more of it
			go run.Kill()
			if w.Kind != wire.Kill {
				words = nil
			}
		}
	}
}

// after is what follows the end of a call: it says what became of what the box has in common.
func (k *keeper) after(q callRequest, a *callAnswer) {
	k.between.Lock()
	defer k.between.Unlock()
	now := runlog.Moment()
	a.Clock, k.clock = k.clock, now
	k.box.tellReplaced(k.calls.Replaced())
	for _, f := range k.box.features {
		if f.Between != nil && a.Started {
			if err := f.Between(k.box.Run, &a.Outcome); err != nil {
				k.settings.Fail(err)
			}
		}
	}
	a.Limits = features.LimitTexts(k.box.Run, k.reached(a))
	for _, text := range a.Limits {
		a.Events = append(a.Events, runlog.Event{Type: runlog.EventLimit, Run: a.ID, Profile: k.box.Spec.Name, Reason: text + " reached"})
	}
	if a.Started {
		k.audit(q, a)
	}
	a.Events = nil
	a.SetUp, a.Notes = k.notes.Take()
	session.Use(k.q.Folder)
}

// reached names the limits that the box has reached since the last call, and this call.
func (k *keeper) reached(a *callAnswer) []string {
	list := k.calls.Reached()
	if l := k.box.Plan.Limits; l != nil && l.Rlimits.FileSize > 0 && a.Started && a.Code == 128+int(syscall.SIGXFSZ) {
		list = append(list, "file_size")
	}
	return list
}

// audit writes the line of a call; of one that has not run its own process writes it.
func (k *keeper) audit(q callRequest, a *callAnswer) {
	c := k.call
	c.Word, c.By = q.Word, q.By
	events := ended(k.box, c, a.Outcome)
	end := &events[len(events)-1]
	end.Program, end.Args, end.Cwd = q.Program, max(0, len(q.Argv)-1), q.Cwd
	if a.Lost {
		end.Reason = "the box of the session ended"
	}
	k.settings.Audit(events...)
}
