package isolator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// A call of a session whose profile says session = "box" joins the box of that session, or has
// one made. The box belongs to a keeper, a process of its own (sessionbox.go), which
// listens in the session's folder and runs the calls as jobs of the box (launch/calls.go).

// callRequest is a call as the keeper is asked for it.
type callRequest struct {
	Key     string // of the box, see boxKey
	Program string
	Argv    []string
	Env     profile.Env // what the program gets of Environ, and more
	Environ []string    // of whoever calls
	Cwd     string
	Start   string // where the program starts in the place of Cwd; "" for there
	OrElse  bool   // in Cwd where the box has no Start
	Word    string
	Timeout time.Duration
	By      runlog.By
}

// callAnswer is what came of it.
type callAnswer struct {
	features.Outcome
	Lost         bool     // the box ended, and the call with it
	SetUp, Notes []string // what is to be said of the box, and of this call
}

// boxKey is what the box of a call is: whose, of which profile, role and project, and with which limits. A
// call joins a box of its own key alone; what is the call's own is not in it.
func boxKey(version string, c run.Call, spec profile.RunConfig) (string, error) {
	spec.Env, spec.Cwd, spec.Entered, spec.Entrypoint = profile.Env{}, "", "", profile.Entrypoint{}
	spec.Output.Timeout, spec.AskedTimeout = 0, 0
	var files []string
	for _, f := range c.Profile.Files {
		files = append(files, f.Path, f.Digest)
	}
	text, err := json.Marshal([]any{version, c.By.Role, os.Getuid(), files, spec})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// callBox runs a call in the box of the session whose folder this is.
func callBox(s *settings.Settings, folder string, c run.Call, spec profile.RunConfig) (out features.Outcome, err error) {
	q, err := requestOf(s, c, spec)
	if err != nil {
		return out, err
	}
	j := &joined{s: s, c: c, signals: make(chan os.Signal, 16)}
	defer signal.Stop(j.signals)
	if err := j.join(folder, q); err != nil {
		if fault.AsRefusal(err) == nil {
			text := fmt.Sprintf("the box of session %q cannot be joined: %v", c.By.Session, err)
			err = &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Hint: "inner stop " + c.By.Session, Msg: text}
		}
		return out, err
	}
	defer unix.Close(j.conn)
	a := j.follow()
	a.Notes = slices.Concat(j.news, a.Notes)
	return told(s, c, spec, a)
}

// requestOf is a call as it would run now.
func requestOf(s *settings.Settings, c run.Call, spec profile.RunConfig) (q callRequest, err error) {
	spec = run.Named(s.Caller, spec)
	q = callRequest{
		Argv: append([]string{spec.Entrypoint.Cmd}, spec.Entrypoint.Args...), Env: spec.Env, Environ: s.Environ,
		Cwd: spec.Cwd, Start: c.Start, OrElse: c.OrElse, Word: c.Word, Timeout: spec.Output.Timeout, By: c.By,
	}
	if q.Program, err = run.Program(s.Caller, spec); err == nil {
		q.Key, err = boxKey(s.Version, c, spec)
	}
	return q, err
}

// told tells what an answer has to tell, and returns it as an outcome.
func told(s *settings.Settings, c run.Call, spec profile.RunConfig, a callAnswer) (features.Outcome, error) {
	for _, text := range a.SetUp {
		s.Warn("%s", text)
	}
	c.Began()
	for _, text := range a.Notes {
		s.Warn("%s", text)
	}
	if !a.Started {
		return a.Outcome, run.StartFailure(a.Result)
	}
	if a.Lost {
		s.Warn("the box of session %q ended, and this call with it", c.By.Session)
	}
	if a.TimedOut {
		s.Say("stopped after %s (timeout)", spec.Output.Timeout)
	}
	run.WarnRewound(s.Caller, a.Rewound)
	return a.Outcome, nil
}

// joined is one call in a box that it has joined.
type joined struct {
	s    *settings.Settings
	c    run.Call
	conn int
	news []string // of the box, for the answer

	signals chan os.Signal // that are the program's
}

// mostBoxes is how many boxes a call is offered to: one can end before it has taken the call.
const mostBoxes = 3

// join has the box of the session take the call, and has one made where there is none. Nobody else
// does that meanwhile.
func (j *joined) join(folder string, q callRequest) error {
	starting, err := session.Starting(folder)
	if err != nil {
		return err
	}
	defer starting.Close()
	for range mostBoxes {
		j.conn, err = session.Dial(folder)
		if errors.Is(err, session.ErrNoBox) {
			if err = startKeeper(j.s, folder, j.c, q.Key); err == nil {
				j.conn, err = session.Dial(folder)
			}
		}
		switch {
		case errors.Is(err, session.ErrNoBox): // it has ended already
			continue
		case err != nil:
			return err
		}
		j.catch() // before the program may start
		if taken, err := j.offer(q); taken || err != nil {
			return err
		}
		unix.Close(j.conn)
	}
	return errors.New("it takes no call: it ends, or its inner is of another version")
}

// offer sends the call to a box, and waits for the word that it will run.
func (j *joined) offer(q callRequest) (taken bool, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return false, err
	}
	defer null.Close()
	text, err := json.Marshal(q)
	if err != nil {
		return false, err
	}
	request, err := wire.Memfd(text)
	if err != nil {
		return false, err
	}
	defer unix.Close(request)
	fds := []int{request}
	for _, f := range []*os.File{j.s.Stdin, j.s.Stdout, j.s.Stderr} {
		fds = append(fds, launch.RawFd(cmp.Or(f, null)))
	}
	_ = wire.SendPatiently(j.conn, wire.Msg{Kind: wire.Call}, fds...) // a box that has ended answers nothing
	m, more, err := wire.Await(j.conn)
	wire.CloseAll(more)
	if err == nil && m.Kind == wire.Failed {
		const news = "session %q gets a new box: what the old one was made of has changed, and its programs end"
		j.news = append(j.news, fmt.Sprintf(news, j.c.By.Session))
	}
	return err == nil && m.Kind == wire.Started, nil
}

// follow follows the call to its answer: what the box says at the end, or one of our own when it is gone.
func (j *joined) follow() (a callAnswer) {
	over := make(chan struct{})
	defer close(over)
	go j.passOn(over)
	m, fds, err := wire.Await(j.conn)
	defer wire.CloseAll(fds)
	if err == nil && m.Kind == wire.Ended && len(fds) == 1 {
		if text, err := wire.Content(fds[0]); err == nil && json.Unmarshal(text, &a) == nil {
			return a
		}
	}
	return callAnswer{Lost: true, Outcome: features.Outcome{Result: launch.Lost()}}
}

// passOn says to the box what the program is to be told.
func (j *joined) passOn(over <-chan struct{}) {
	say := func(kind wire.Kind, sig syscall.Signal) {
		_ = wire.SendPatiently(j.conn, wire.Msg{Kind: kind, N: uint32(sig)})
	}
	for {
		select {
		case sig := <-j.signals:
			if sig == syscall.SIGTSTP { // its group is orphaned: there SIGTSTP does nothing
				say(wire.Signal, syscall.SIGSTOP)
				launch.StopSelf()
				sig = syscall.SIGCONT
			}
			say(wire.Signal, sig.(syscall.Signal))
		case <-j.c.Done:
			say(wire.Kill, 0)
			return
		case <-over:
			return
		}
	}
}

// catch catches the signals that are the program's, when the call is all that this process does.
func (j *joined) catch() {
	if j.c.Done == nil {
		launch.Catch(j.signals)
	}
}
