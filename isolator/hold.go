package isolator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
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
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
)

// The holder of the box of a session is this program, started by the first call in a session
// of the system of its own. It makes the box as Run does, and ends it when inner session end
// says so, when no call came for session_idle, when a call comes that has another box, or when
// it is killed: then everything in the box dies with it.

// holderName and holderWord make this program a holder: nobody types them by accident.
const (
	holderName = "inner-session"
	holderWord = "__hold"
)

func isHolder(args []string) bool {
	return len(args) == 2 && args[0] == holderName && args[1] == holderWord
}

// holdRequest is what a holder is started with, on its standard input. Its environment is that
// of the call.
type holdRequest struct {
	Home, InnerHome, Exe, Version string

	Key       string // of the box, see boxKey
	Folder    string // of the session
	Dir, Word string // what the call is about
	File      profile.File
	Scope     profile.Scope
	Overrides profile.Overrides
	By        runlog.By
	Idle      time.Duration
	Settles   bool // the key is looked at once more when everything is made
}

// holdRefusal is why there is no box, on its standard output; nothing when there is one.
type holdRefusal struct {
	Code            int
	Kind, Msg, Hint string
	Again           bool // with what was made, the box is another one
}

// mostUnsettled is how often a box may be another one once everything for it is made: what inner
// makes for the first box of a user or a project is there for the next.
const mostUnsettled = 3

// startHolder starts a holder, and returns when it listens.
func startHolder(s *settings.Settings, c Call, key string, try int) error {
	idle := session.DefaultIdle
	if cfg, err := s.GlobalConfig(); err == nil && cfg.SessionIdle > 0 {
		idle = cfg.SessionIdle
	}
	text, err := json.Marshal(holdRequest{
		Home: s.Home, InnerHome: s.InnerHome, Exe: s.Exe, Version: s.Version, Key: key, Folder: c.Session, Dir: c.Context.Cwd, Word: c.Word,
		File: c.Profile.Files[0], Scope: c.Profile.Scope, Overrides: c.Context.Overrides, By: c.By, Idle: idle, Settles: try < mostUnsettled,
	})
	if err != nil {
		return err
	}
	in, err := streams.Text(string(text))
	if err != nil {
		return err
	}
	defer in.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	exe := s.Exe
	if exe == "" {
		exe = "/proc/self/exe"
	}
	p, err := os.StartProcess(exe, []string{holderName, holderWord}, &os.ProcAttr{Dir: "/", Env: s.Environ, Files: []*os.File{in, w, null}, Sys: &syscall.SysProcAttr{Setsid: true}})
	w.Close()
	if err != nil {
		return err
	}
	go func() { _, _ = p.Wait() }() // it may end before this process
	said, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if string(said) == holdsWord {
		return nil
	}
	var no holdRefusal
	switch err := json.Unmarshal(said, &no); {
	case err == nil && no.Again:
		return errAgain
	case err != nil || no.Code == 0:
		return errors.New("what was to hold it ended without a word")
	}
	return &fault.Refusal{Code: no.Code, Kind: no.Kind, Msg: no.Msg, Hint: no.Hint}
}

// holdsWord is what a holder says when it listens.
const holdsWord = "ok"

// hold is the life of a holder; it returns its exit code.
func hold() int {
	runtime.LockOSThread() // the box dies with the thread that started it
	var q holdRequest
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil || q.Folder == "" {
		os.Stderr.WriteString("inner: " + holderWord + " is for inner itself\n")
		return 2
	}
	h := &holder{q: q, notes: new(caller.Notes), calls: new(launch.Calls), done: make(chan struct{})}
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
	no := holdRefusal{Code: fault.Code(err), Kind: fault.KindOf(err), Msg: err.Error(), Again: errors.Is(err, errAgain)}
	if r := fault.AsRefusal(err); r != nil {
		no.Hint = r.Hint
	}
	_ = json.NewEncoder(os.Stdout).Encode(no)
	return no.Code
}

// holder holds one box.
type holder struct {
	q        holdRequest
	notes    *caller.Notes
	settings *settings.Settings
	box      *Prepared
	place    settings.Place
	call     Call              // the first
	staged   map[string]string // see stagedEnv
	calls    *launch.Calls
	listener *net.UnixListener
	mounts   []proc.Mount // that were made for the box
	begun    time.Time
	done     chan struct{} // closed when the box is to end

	mu      sync.Mutex
	running int  // calls
	closed  bool // no call is taken any more
	over    bool // done is closed

	between sync.Mutex // what follows the end of a call, one at a time
	clock   time.Time  // of files: until then was looked at what calls left
}

// run makes the box and holds it until its end.
func (h *holder) run() error {
	held, err := session.Hold(h.q.Folder)
	if err != nil {
		return err
	}
	defer held.Close()
	spec, shown, err := h.load()
	if err != nil {
		return err
	}
	s := h.settings
	folder, err := openFolder(s, spec)
	if err != nil {
		return err
	}
	defer closeFolder(s, folder)
	if h.box, err = Prepare(s, h.call, spec, folder, features.Program); err != nil {
		return err
	}
	defer h.box.Close()
	if err := folder.Say(h.box.about("session " + h.q.By.Session)); err != nil {
		return err
	}
	if h.q.Settles {
		if _, err := h.preview(); err != nil {
			return err
		}
	}
	h.notes.Began()
	h.staged = stagedEnv(shown.Plan.Env, h.box.Plan.Env)
	o := h.box.Options()
	o.Done, o.Calls, o.Begun, o.Timeout, o.Interactive = h.done, h.calls, h.open, 0, false
	h.begun, h.clock = time.Now(), runlog.Moment()
	out := features.Outcome{ID: folder.ID, Begun: h.begun, Clock: h.clock}
	out.Result = h.box.Launch(o, nil)
	h.end()
	if !out.Started {
		return StartFailure(out.Result)
	}
	h.between.Lock()
	defer h.between.Unlock()
	out.Clock = h.clock
	h.box.finish(&out)
	s.Audit(out.Events...)
	return nil
}

// load loads the profile as the call did, and makes sure that it comes to the same box.
func (h *holder) load() (spec profile.RunConfig, shown *Prepared, err error) {
	q := h.q
	s := settings.Of(&caller.Caller{Home: q.Home, InnerHome: q.InnerHome, Exe: q.Exe, Version: q.Version, Environ: os.Environ(), Teller: h.notes})
	h.settings = s
	place, err := s.At(q.Dir)
	if h.place = place; err != nil {
		return spec, nil, err
	}
	h.call = Call{Word: q.Word, By: q.By, Tmp: filepath.Join(q.Folder, "tmp")}
	if h.call.Profile, err = s.Loader(place).LoadBytes(q.File, q.Scope); err != nil {
		return spec, nil, err
	}
	if h.call.Context, err = s.Context(place, q.Overrides, false); err != nil {
		return spec, nil, err
	}
	if spec, err = specOf(s, h.call); err != nil {
		return spec, nil, err
	}
	shown, err = h.preview()
	return spec, shown, err
}

// preview is the box as a call would see it before it joins: errAgain when it is another one.
func (h *holder) preview() (*Prepared, error) {
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
func (h *holder) open() {
	l, err := session.Listen(h.q.Folder)
	if err == nil {
		h.mounts, err = h.calls.Mounts()
	}
	if err == nil {
		h.mounts, err = ownMounts(h.mounts)
	}
	if err != nil {
		_ = json.NewEncoder(os.Stdout).Encode(holdRefusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("the box of the session: %v", err)})
		os.Stdout.Close()
		h.end()
		return
	}
	h.listener = l
	_, _ = os.Stdout.WriteString(holdsWord)
	os.Stdout.Close()
	go h.accept()
	go h.watch()
}

func (h *holder) accept() {
	for {
		conn, err := h.listener.AcceptUnix()
		if err != nil {
			return
		}
		go h.serve(conn)
	}
}

// watchEvery is how often it is asked whether anybody uses the box.
const watchEvery = 2 * time.Second

// watch ends a box that nobody uses, nobody can find any more, or that is not allowed any more.
func (h *holder) watch() {
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
func (h *holder) allowed() bool {
	s, p := settings.Of(h.settings.Caller), h.call.Profile
	if p.Scope == profile.Local && s.Verdict(h.place, p).State != trust.Allowed {
		return false
	}
	_, err := specOf(s, h.call)
	return err == nil
}

// close takes no more calls. The mutex is held.
func (h *holder) close() {
	if !h.closed {
		h.closed = true
		if h.listener != nil {
			session.Unlisten(h.q.Folder, h.listener)
		}
	}
}

// end ends the box.
func (h *holder) end() {
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
func (h *holder) take(key string) (taken, other bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return false, false
	case key != h.q.Key, !h.whole():
		h.close()
		if h.running == 0 {
			defer h.endLater()
		}
		return false, true
	}
	h.running++
	return true, false
}

func (h *holder) endLater() { go h.end() }

func (h *holder) leave() {
	h.mu.Lock()
	h.running--
	last := h.closed && h.running == 0
	h.mu.Unlock()
	if last {
		h.end()
	}
}
