package isolator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/proc"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// The server of the box of a session is this program, started by the first call in a session
// of the system of its own. It makes the box as Run does, and ends it when inner session end
// says so, when no call came for session_idle, when a call comes that has another box, or when
// it is killed: then everything in the box dies with it.

// serverName and serverWord make this program a server: nobody types them by accident.
const (
	serverName = "inner-session"
	serverWord = "__hold"
)

func isServer(args []string) bool {
	return len(args) == 2 && args[0] == serverName && args[1] == serverWord
}

// serverRequest is what a server is started with, on its standard input. Its environment is that
// of the call.
type serverRequest struct {
	Home, InnerHome, Exe, Version string

	Key       string // of the box, see boxKey
	Folder    string // of the session
	Dir       string // what the call is about
	File      profile.File
	Scope     profile.Scope
	Overrides profile.Overrides
	By        runlog.By
	Idle      time.Duration
	Settles   bool // the key is looked at once more when everything is made
}

// serverRefusal is why there is no box, on its standard output; nothing when there is one.
type serverRefusal struct {
	Code            int
	Kind, Msg, Hint string
	Again           bool // with what was made, the box is another one
}

// mostUnsettled is how often a box may be another one once everything for it is made: what inner
// makes for the first box of a user or a project is there for the next.
const mostUnsettled = 3

// startServer starts a server, and returns when it listens.
func startServer(s *settings.Settings, c Call, key string, try int) error {
	text, err := json.Marshal(serverRequest{
		Home: s.Home, InnerHome: s.InnerHome, Exe: s.Exe, Version: s.Version, Key: key, Folder: c.Session, Dir: c.Context.Cwd,
		File: c.Profile.Files[0], Scope: c.Profile.Scope, Overrides: c.Context.Overrides, By: c.By, Idle: SessionIdle(s), Settles: try < mostUnsettled,
	})
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{
		Path: cmp.Or(s.Exe, "/proc/self/exe"), Args: []string{serverName, serverWord}, Dir: "/", Env: s.Environ,
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
	if err != nil || string(said) == serverListens {
		return err
	}
	var no serverRefusal
	switch err := json.Unmarshal(said, &no); {
	case err == nil && no.Again:
		return errAgain
	case err != nil || no.Code == 0:
		return errors.New("what was to hold it ended without a word")
	}
	return &fault.Refusal{Code: no.Code, Kind: no.Kind, Msg: no.Msg, Hint: no.Hint}
}

// serverListens is what a server says when it listens.
const serverListens = "ok"

// SessionIdle is how long a session is kept that nobody uses.
func SessionIdle(s *settings.Settings) time.Duration {
	if cfg, err := s.GlobalConfig(); err == nil && cfg.SessionIdle > 0 {
		return cfg.SessionIdle
	}
	return session.DefaultIdle
}

// serveBox is the life of a server; it returns its exit code.
func serveBox() int {
	runtime.LockOSThread() // the box dies with the thread that started it
	var q serverRequest
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil || q.Folder == "" {
		os.Stderr.WriteString("inner: " + serverWord + " is for inner itself\n")
		return 2
	}
	h := &boxServer{q: q, notes: new(caller.Notes), calls: new(launch.Calls), done: make(chan struct{})}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Ignore(syscall.SIGPIPE)
	go func() {
		<-signals
		h.end()
	}()
	err := h.run()
	if err == nil || h.listener != nil {
		return 0
	}
	no := serverRefusal{Code: fault.Code(err), Kind: fault.KindOf(err), Msg: err.Error(), Again: errors.Is(err, errAgain)}
	if r := fault.AsRefusal(err); r != nil {
		no.Hint = r.Hint
	}
	_ = json.NewEncoder(os.Stdout).Encode(no)
	return no.Code
}

// boxServer serves one box.
type boxServer struct {
	q        serverRequest
	notes    *caller.Notes
	settings *settings.Settings
	place    settings.Place
	call     Call // that makes the box
	box      *Prepared
	staged   map[string]string // see stagedEnv
	calls    *launch.Calls
	listener *net.UnixListener
	mounts   []proc.Mount  // that were made for the box
	done     chan struct{} // closed when the box is to end

	mu      sync.Mutex
	running int  // calls
	closed  bool // no call is taken any more
	over    bool // done is closed

	between sync.Mutex // what follows the end of a call, one at a time
	clock   time.Time  // of files: until then was looked at what calls left
}

// run makes the box, and serves calls until its end.
func (h *boxServer) run() error {
	lock, err := session.Hold(h.q.Folder)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := h.load(); err != nil {
		return err
	}
	shown, err := h.preview()
	if err != nil {
		return err
	}
	h.call.Instead = func(box *Prepared) error { return h.serve(box, shown.Plan.Env) }
	_, err = Run(h.settings, h.call)
	return err
}

// serve launches the box that was prepared, and serves calls in it. shown is the environment of
// its preview.
func (h *boxServer) serve(box *Prepared, shown []string) error {
	h.box = box
	if h.q.Settles {
		if _, err := h.preview(); err != nil {
			return err
		}
	}
	h.notes.Began()
	h.staged = stagedEnv(shown, box.Plan.Env)
	o := box.Options()
	o.Done, o.Calls, o.Begun, o.Timeout, o.Interactive = h.done, h.calls, h.open, 0, false
	out := features.Outcome{ID: box.ID(), Begun: time.Now()}
	h.clock = runlog.Moment()
	out.Result = box.Launch(o, nil)
	h.end()
	if !out.Started {
		return StartFailure(out.Result)
	}
	h.between.Lock()
	defer h.between.Unlock()
	out.Clock = h.clock
	box.finish(&out)
	h.settings.Audit(out.Events...)
	return nil
}

// load loads the profile as the call did.
func (h *boxServer) load() (err error) {
	q := h.q
	s := settings.Of(&caller.Caller{Home: q.Home, InnerHome: q.InnerHome, Exe: q.Exe, Version: q.Version, Environ: os.Environ(), Teller: h.notes})
	h.settings, h.call = s, Call{Word: "session " + q.By.Session, By: q.By, Tmp: filepath.Join(q.Folder, "tmp")}
	if h.place, err = s.At(q.Dir); err != nil {
		return err
	}
	if h.call.Profile, err = s.Loader(h.place).LoadBytes(q.File, q.Scope); err != nil {
		return err
	}
	h.call.Context, err = s.Context(h.place, q.Overrides, false)
	return err
}

// preview is the box as a call would see it before it joins: errAgain when it is another one.
func (h *boxServer) preview() (*Prepared, error) {
	shown, err := Show(h.settings.With(h.settings.Caller), h.call, false)
	if err != nil {
		return nil, err
	}
	defer shown.Close()
	key, err := boxKey(shown, h.call)
	if err == nil && key != h.q.Key {
		err = errAgain
	}
	return shown, err
}

// open lets calls join, once the box is there.
func (h *boxServer) open() {
	l, err := session.Listen(h.q.Folder)
	if err == nil {
		h.mounts, err = h.calls.Mounts()
	}
	if err == nil {
		h.mounts, err = ownMounts(h.mounts)
	}
	defer os.Stdout.Close()
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(serverRefusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("the box of the session: %v", err)})
		h.end()
		return
	}
	h.listener = l
	_, _ = os.Stdout.WriteString(serverListens)
	go h.accept()
	go h.watch()
}

func (h *boxServer) accept() {
	for {
		conn, err := h.listener.AcceptUnix()
		if err != nil {
			return
		}
		go h.serveCall(conn)
	}
}

// watchEvery is how often it is asked whether anybody uses the box.
const watchEvery = 2 * time.Second

// watch ends a box that nobody uses, nobody can find any more, or that is not allowed any more.
func (h *boxServer) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
		}
		h.mu.Lock()
		unused := h.running == 0 && (time.Since(session.Used(h.q.Folder)) > h.q.Idle || !session.Listens(h.q.Folder) || !h.whole() || !h.allowed())
		if unused {
			h.close()
		}
		h.mu.Unlock()
		if unused {
			h.end()
			return
		}
	}
}

// allowed reports whether the profile is still allowed, by what is on the disk now.
func (h *boxServer) allowed() bool {
	s, p := settings.Of(h.settings.Caller), h.call.Profile
	if p.Scope == profile.Local && s.Verdict(h.place, p).State != trust.Allowed {
		return false
	}
	_, err := specOf(s, h.call)
	return err == nil
}

// close takes no more calls. The mutex is held.
func (h *boxServer) close() {
	if !h.closed {
		h.closed = true
		if h.listener != nil {
			session.Unlisten(h.q.Folder, h.listener)
		}
	}
}

// end ends the box.
func (h *boxServer) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.close()
	if !h.over {
		h.over = true
		close(h.done)
	}
}

// take reports whether a call of that key is taken; leave has to follow then. A call of another
// one closes the box.
func (h *boxServer) take(key string) (taken, other bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return false, false
	case key != h.q.Key, !h.whole():
		h.close()
		if h.running == 0 {
			go h.end() // which takes the mutex
		}
		return false, true
	}
	h.running++
	return true, false
}

func (h *boxServer) leave() {
	h.mu.Lock()
	h.running--
	last := h.closed && h.running == 0
	h.mu.Unlock()
	if last {
		h.end()
	}
}
