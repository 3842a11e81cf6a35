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
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
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

	Key       string // of the box, see boxKey
	Folder    string // of the session
	Dir       string // what the call is about
	File      profile.File
	Scope     profile.Scope
	Overrides profile.Overrides
	By        runlog.By
}

// keeperRefusal is why there is no box, on its standard output; keeperListens says that there is one.
type keeperRefusal struct {
	Code            int
	Kind, Msg, Hint string
}

const keeperListens = "ok"

// startKeeper starts a keeper, and returns when it listens.
func startKeeper(s *settings.Settings, folder string, c run.Call, key string) error {
	text, err := json.Marshal(keeperRequest{
		Home: s.Home, InnerHome: s.InnerHome, Exe: s.Exe, Version: s.Version, Key: key, Folder: folder, Dir: c.Context.Cwd,
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
	var no keeperRefusal
	if json.Unmarshal(said, &no) != nil || no.Code == 0 {
		return errors.New("what was to keep it ended without a word")
	}
	return &fault.Refusal{Code: no.Code, Kind: no.Kind, Msg: no.Msg, Hint: no.Hint}
}

// keepBox is the life of a keeper; it returns its exit code.
func keepBox() int {
	runtime.LockOSThread() // the box dies with the thread that started it
	k := &keeper{notes: new(Notes), calls: new(launch.Calls), done: make(chan struct{}), door: -1}
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
	notes    *Notes
	settings *settings.Settings
	place    settings.Place
	call     run.Call // that makes the box
	box      *run.Prepared
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
	_, err = run.Run(k.settings, k.call)
	return err
}

// load loads the profile as the call did.
func (k *keeper) load() (err error) {
	q := k.q
	who := &caller.Caller{Home: q.Home, InnerHome: q.InnerHome, Exe: q.Exe, Version: q.Version}
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
	o.Done, o.Calls, o.Begun, o.Timeout, o.Interactive = k.done, k.calls, k.open, 0, false
	out := features.Outcome{ID: box.ID(), Begun: time.Now()}
	k.clock = runlog.Moment()
	out.Result = box.Launch(o, nil)
	k.end()
	if !out.Started {
		return run.StartFailure(out.Result)
	}
	k.between.Lock()
	defer k.between.Unlock()
	out.Clock = k.clock
	box.Finish(&out)
	k.settings.Audit(out.Events...)
	return nil
}

// open lets calls join, once the box is there.
func (k *keeper) open() {
	defer os.Stdout.Close()
	door, err := wire.Listen(session.Door(k.q.Folder), 128)
	if err != nil {
		no := keeperRefusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("the box of the session: %v", err)}
		_ = json.NewEncoder(os.Stdout).Encode(no)
		k.end()
		return
	}
	k.mu.Lock()
	k.door, k.listened = door, true
	k.mu.Unlock()
	_, _ = os.Stdout.WriteString(keeperListens)
	go func() {
		for {
			switch conn, _, err := wire.Accept(door, true); err {
			case nil:
				go k.served(conn)
			case unix.EINVAL: // it was shut, and all who had come before were answered
				return
			default: // such as too many open files
				time.Sleep(10 * time.Millisecond)
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
		found := files.Exists(session.Door(k.q.Folder)) && time.Since(session.Used(k.q.Folder)) <= session.Idle
		unused := k.running == 0 && (!found || !k.allowed())
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
	_, err := run.SpecOf(s, k.call)
	return err == nil
}

// close takes no more calls: whoever has not been answered yet finds the end of the connection. The
// descriptor stays, so that its number is nothing else while it is waited for. The mutex is held.
func (k *keeper) close() {
	if k.door >= 0 {
		_ = os.Remove(session.Door(k.q.Folder))
		_ = unix.Shutdown(k.door, unix.SHUT_RDWR)
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
