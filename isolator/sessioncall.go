package isolator

import (
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
	spec.Env, spec.Cwd, spec.Entrypoint = profile.Env{}, "", profile.Entrypoint{}
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

// mostJoins is how often a call tries to join: a box can end at any time before it has taken
// the call.
const mostJoins = 20

// errAgain says that the call was not taken.
var errAgain = errors.New("the box has ended")

// callBox runs a call in the box of the session whose folder this is.
func callBox(s *settings.Settings, folder string, c run.Call, spec profile.RunConfig) (out features.Outcome, err error) {
	q, err := requestOf(s, c, spec)
	if err != nil {
		return out, err
	}
	j := &joined{s: s, c: c, conn: -1}
	for range mostJoins {
		var a callAnswer
		if j.conn, err = joinBox(s, folder, c, q.Key); err == nil {
			a, err = j.call(q)
			unix.Close(j.conn)
		}
		switch {
		case err == nil:
			a.Notes = slices.Concat(j.news, a.Notes)
			return told(s, c, spec, a)
		case fault.AsRefusal(err) != nil:
			return out, err
		case !errors.Is(err, errAgain):
			return out, unreachable(c, err)
		}
	}
	return out, unreachable(c, errors.New("it takes no call; another version of inner may have made it"))
}

func unreachable(c run.Call, err error) error {
	r := &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Hint: "inner stop " + c.By.Session}
	r.Msg = fmt.Sprintf("the box of session %q cannot be joined: %v", c.By.Session, err)
	return r
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

// joinBox connects to the keeper of the box of a session, and starts one where there is none.
func joinBox(s *settings.Settings, folder string, c run.Call, key string) (conn int, err error) {
	if conn, err = session.Dial(folder); !errors.Is(err, session.ErrNoBox) {
		return conn, err
	}
	starting, err := session.Starting(folder)
	if err != nil {
		return -1, err
	}
	defer starting.Close()
	if conn, err = session.Dial(folder); !errors.Is(err, session.ErrNoBox) {
		return conn, err
	}
	if err := startKeeper(s, folder, c, key); err != nil {
		return -1, err
	}
	if conn, err = session.Dial(folder); errors.Is(err, session.ErrNoBox) {
		return -1, errAgain // a call of another box was faster
	}
	return conn, err
}

// joined is one call in a box that it has joined.
type joined struct {
	s    *settings.Settings
	c    run.Call
	conn int
	news []string // of the box, for the answer
}

// call runs it.
func (j *joined) call(q callRequest) (a callAnswer, err error) {
	signals, stop := j.signals() // before the program may start
	defer stop()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return a, err
	}
	stdio := [3]*os.File{j.s.Stdin, j.s.Stdout, j.s.Stderr}
	for i, f := range stdio {
		if f == nil {
			stdio[i] = null
		}
	}
	err = sendJSON(j.conn, wire.Call, q, stdio[:]...)
	null.Close()
	if err != nil {
		return a, errAgain
	}
	if err = j.taken(); err != nil {
		return a, err
	}
	replies := make(chan callAnswer, 1)
	go func() { replies <- j.reply() }()
	say := func(kind wire.Kind, sig syscall.Signal) {
		_ = wire.SendPatiently(j.conn, wire.Msg{Kind: kind, N: uint32(sig)})
	}
	done := j.c.Done
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTSTP { // its group is orphaned: there SIGTSTP does nothing
				say(wire.Signal, syscall.SIGSTOP)
				launch.StopSelf()
				sig = syscall.SIGCONT
			}
			say(wire.Signal, sig.(syscall.Signal))
		case <-done:
			done = nil
			say(wire.Kill, 0)
		case a = <-replies:
			return a, nil
		}
	}
}

// signals are those that are the program's, when the call is all that this process does.
func (j *joined) signals() (<-chan os.Signal, func()) {
	if j.c.Done != nil {
		return nil, func() {}
	}
	c := make(chan os.Signal, 16)
	for _, sig := range []syscall.Signal{
		syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP,
	} {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	return c, func() { signal.Stop(c) }
}

// taken waits for the word that the call will run. A keeper of another version has another one.
func (j *joined) taken() error {
	m, fds, err := wire.Await(j.conn)
	wire.CloseAll(fds)
	if err != nil || m.Kind == wire.Started {
		if err != nil {
			err = errAgain
		}
		return err
	}
	const news = "session %q gets a new box: what the old one was made of has changed, and its programs end"
	j.news = append(j.news, fmt.Sprintf(news, j.c.By.Session))
	return errAgain
}

// reply is the answer; one of our own when the keeper is gone.
func (j *joined) reply() (a callAnswer) {
	m, fds, err := wire.Await(j.conn)
	defer wire.CloseAll(fds)
	if err == nil && m.Kind == wire.Ended && len(fds) == 1 && received(fds[0], &a) == nil {
		return a
	}
	return callAnswer{Lost: true, Outcome: features.Outcome{Result: launch.Lost()}}
}

// sendJSON sends a message with a value, as a file, and further files, which stay the caller's.
func sendJSON(conn int, kind wire.Kind, v any, more ...*os.File) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := wire.Memfd(text)
	if err != nil {
		return err
	}
	defer unix.Close(file)
	fds := []int{file}
	for _, f := range more {
		fds = append(fds, launch.RawFd(f))
	}
	return wire.SendPatiently(conn, wire.Msg{Kind: kind}, fds...)
}

// received reads the value of a message from its file.
func received(fd int, v any) error {
	text, err := wire.Content(fd)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}
