package isolator

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/streams"
	"github.com/enr/inner/profile"
)

// mostJoins is how often a call tries to join: a box can end at any time before it has taken
// the call.
const mostJoins = 20

// errAgain says that the call was not taken.
var errAgain = errors.New("the box has ended")

// callBox is Run in the box of a session.
func callBox(s *settings.Settings, c Call, spec profile.RunConfig) (out features.Outcome, err error) {
	unreachable := func(err error) error {
		return &fault.Refusal{Code: 125, Kind: fault.KindNoSandbox, Msg: fmt.Sprintf("the box of session %q cannot be joined: %v", c.By.Session, err), Hint: "inner session end " + c.By.Session}
	}
	var news []string
	for try := range mostJoins {
		q, err := requestOf(s, c, spec)
		if err != nil {
			return out, besideBox(c, err)
		}
		conn, err := joinBox(s, c, q.Key, try)
		switch {
		case errors.Is(err, errAgain):
			continue
		case fault.AsRefusal(err) != nil:
			return out, err
		case err != nil:
			return out, unreachable(err)
		}
		j := &joined{s: s, c: c, conn: conn}
		a, err := j.call(q)
		conn.Close()
		news = append(news, j.news...)
		switch {
		case errors.Is(err, errAgain):
			continue
		case err != nil:
			return out, unreachable(err)
		}
		a.Notes = slices.Concat(news, a.Notes)
		return told(s, c, spec, a)
	}
	return out, unreachable(errAgain)
}

// besideBox adds to what refuses a call how its session ends, where that has a box: its
// programs may be what makes the reason again and again.
func besideBox(c Call, err error) error {
	r := fault.AsRefusal(err)
	if r == nil {
		return err
	}
	conn, away := session.Dial(c.Session)
	if away != nil {
		return err
	}
	conn.Close()
	end := "inner session end " + c.By.Session + " ends the programs of the session, should one of them be the reason"
	if r.Hint != "" {
		end = r.Hint + "; " + end
	}
	return &fault.Refusal{Msg: err.Error(), Hint: end, Code: r.Code, Kind: r.Kind}
}

// requestOf is a call as it would run now.
func requestOf(s *settings.Settings, c Call, spec profile.RunConfig) (q boxRequest, err error) {
	p, err := Prepare(s, c, spec, nil, features.Preview)
	if err != nil {
		return q, err
	}
	defer p.Close()
	q = boxRequest{Program: p.Plan.Program, Argv: p.Plan.Argv, Env: p.Plan.Env, Dir: p.Plan.Dir, DirElse: p.Plan.DirElse, Cwd: spec.Cwd, Word: c.Word, Timeout: spec.Output.Timeout, By: c.By}
	q.Key, err = boxKey(p, c)
	return q, err
}

// told tells what an answer has to tell, and returns it as an outcome.
func told(s *settings.Settings, c Call, spec profile.RunConfig, a boxAnswer) (features.Outcome, error) {
	for _, text := range a.SetUp {
		s.Warn("%s", text)
	}
	c.began()
	for _, text := range a.Notes {
		s.Warn("%s", text)
	}
	if !a.Started {
		return a.Outcome, StartFailure(a.Result)
	}
	if a.Lost {
		s.Warn("the box of session %q ended, and this call with it", c.By.Session)
	}
	if a.TimedOut {
		s.Say("stopped after %s (timeout)", spec.Output.Timeout)
	}
	warnRewound(s.Caller, a.Rewound)
	return a.Outcome, nil
}

// joinBox connects to the box of a session, and starts one where there is none.
func joinBox(s *settings.Settings, c Call, key string, try int) (*net.UnixConn, error) {
	conn, err := session.Dial(c.Session)
	if !errors.Is(err, session.ErrNoBox) {
		return conn, err
	}
	starting, err := session.Starting(c.Session)
	if err != nil {
		return nil, err
	}
	defer starting.Close()
	if conn, err = session.Dial(c.Session); !errors.Is(err, session.ErrNoBox) {
		return conn, err
	}
	if err := startServer(s, c, key, try); err != nil {
		return nil, err
	}
	if conn, err = session.Dial(c.Session); errors.Is(err, session.ErrNoBox) {
		return nil, errAgain // a call of another box was faster
	}
	return conn, err
}

// joined is one call in a box that it has joined.
type joined struct {
	s    *settings.Settings
	c    Call
	conn *net.UnixConn
	outs [2]*streams.Output
	news []string // of the box, for the answer
}

// call runs it.
func (j *joined) call(q boxRequest) (a boxAnswer, err error) {
	signals, stop := j.signals() // before the program may start
	defer stop()
	stdio, closeAll, err := j.files()
	if err != nil {
		return a, err
	}
	if err = sendJSON(j.conn, callWord, q, stdio[:]...); err != nil {
		err = errAgain
	}
	closeAll()
	if err == nil {
		err = j.taken()
	}
	if err != nil {
		j.endOutputs(false)
		return a, err
	}
	replies := make(chan boxAnswer, 1)
	go func() { replies <- j.reply() }()
	done := j.c.Done
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTSTP { // its group is orphaned: there SIGTSTP does nothing
				_, _ = j.conn.Write([]byte{callSignal, byte(syscall.SIGSTOP)})
				launch.StopSelf()
				sig = syscall.SIGCONT
			}
			_, _ = j.conn.Write([]byte{callSignal, byte(sig.(syscall.Signal))})
		case <-done:
			done = nil
			_, _ = j.conn.Write([]byte{callKill})
		case a = <-replies:
			j.endOutputs(true)
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
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGTSTP} {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
	return c, func() { signal.Stop(c) }
}

// files are what the program reads and writes. Its outputs are pipes of ours: who still has
// them after the call must not have a file of the caller's.
func (j *joined) files() (stdio [3]*os.File, closeAll func(), err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return stdio, nil, err
	}
	opened := []*os.File{null}
	closeAll = func() {
		for _, f := range opened {
			f.Close()
		}
	}
	stdio = [3]*os.File{null, null, null}
	if j.s.Stdin != nil {
		stdio[0] = j.s.Stdin
	}
	for i, to := range []*os.File{j.s.Stdout, j.s.Stderr} {
		if to == nil {
			continue
		}
		if j.outs[i], err = streams.NewOutput(to); err != nil {
			closeAll()
			j.endOutputs(false)
			return stdio, nil, err
		}
		stdio[i+1], opened = j.outs[i].W, append(opened, j.outs[i].W)
	}
	return stdio, closeAll, nil
}

// taken waits for the word that the call will run.
func (j *joined) taken() error {
	m, files, err := receive(j.conn)
	closeFiles(files)
	switch {
	case err != nil:
		return errAgain
	case m[0] == callNo:
		j.news = append(j.news, fmt.Sprintf("session %q gets a new box: %s", j.c.By.Session, strings.TrimSpace(string(m[1:]))))
		return errAgain
	case m[0] != callTaken:
		return fmt.Errorf("it said %q", m)
	}
	return nil
}

// reply is the answer; one of our own when the server is gone.
func (j *joined) reply() (a boxAnswer) {
	m, files, err := receive(j.conn)
	defer closeFiles(files)
	if err == nil && m[0] == callEnded && len(files) == 1 && received(files[0], &a) == nil {
		return a
	}
	code, sig := launch.CallEnd{Lost: true}.Exit()
	return boxAnswer{Lost: true, Outcome: features.Outcome{Result: launch.Result{Started: true, Code: code, Signal: sig}}}
}

// endOutputs hands on what was written, and the pipes, from which the server reads on what
// programs that are still there write.
func (j *joined) endOutputs(after bool) {
	var rest []*os.File
	for _, o := range j.outs {
		if o == nil {
			continue
		}
		if r := o.Rest(); r != nil {
			rest = append(rest, r)
		}
	}
	if after {
		_ = sendFiles(j.conn, []byte{callDone}, rest...)
	}
	closeFiles(rest)
}
