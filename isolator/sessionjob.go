package isolator

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/streams"
)

// What the keeper of a session's box does for each call: it runs it as a job, and answers.

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
	p := plan.Plan{Program: q.Program, Argv: features.WithArgs(q.Argv, k.box.Agents)}
	p.Env = plan.Environment(rc, facts, staged)
	p.StartIn(rc, staged)
	return p
}

// copied puts pipes in the place of outputs, from which it copies to them until done is called.
func copied(fds []int) (done func(), err error) {
	var ends []func()
	for _, fd := range fds {
		own, errOf := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
		if errOf != nil {
			err = errors.Join(err, errOf)
			continue
		}
		to := os.NewFile(uintptr(own), "output")
		o, errOf := streams.NewOutput(to)
		if errOf == nil {
			errOf = unix.Dup3(launch.RawFd(o.W), fd, unix.O_CLOEXEC)
			o.W.Close()
			ends = append(ends, o.Rest)
		}
		err = errors.Join(err, errOf)
		ends = append(ends, func() { to.Close() })
	}
	return func() {
		for _, end := range ends {
			end()
		}
	}, err
}

// answer runs one call, whose streams it closes once they are the box's, and answers it.
func (k *keeper) answer(conn int, q callRequest, stdio [3]int) {
	a := callAnswer{Outcome: features.Outcome{ID: k.box.ID(), Backend: "bwrap", Begun: time.Now()}}
	written, err := copied(stdio[1:])
	var run *launch.CallRun
	if err == nil {
		run, err = k.calls.Start(k.jobOf(q), stdio)
	}
	null, _ := wire.OpenNull()
	for _, fd := range stdio { // their other ends see the box alone
		_ = unix.Dup3(null, fd, unix.O_CLOEXEC)
	}
	unix.Close(null)
	words, over, heard := make(chan wire.Msg), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(heard)
		hear(conn, words, over)
	}()
	defer func() { // it must not read on where the number is another connection's
		close(over)
		_ = unix.Shutdown(conn, unix.SHUT_RDWR)
		<-heard
	}()
	if err != nil {
		a.Code, a.Reason = launch.CodeNoSandbox, err.Error()
	} else {
		a.Result, a.Lost = follow(run, q.Timeout, words)
	}
	written()
	k.after(q, &a)
	_ = sendJSON(conn, wire.Ended, a)
}

// hear reads what a call says while it runs. The zero message is the end of the connection.
func hear(conn int, words chan<- wire.Msg, over <-chan struct{}) {
	for {
		m, fds, err := wire.Await(conn)
		wire.CloseAll(fds)
		if err != nil {
			m = wire.Msg{}
		}
		select {
		case words <- m:
		case <-over:
			return
		}
		if err != nil {
			return
		}
	}
}

// callGrace is how long a program may take after SIGTERM, as in a box of its own.
const callGrace = 5 * time.Second

// follow follows a call to its end. lost says that the box has ended, and the call with it.
func follow(run *launch.CallRun, limit time.Duration, words <-chan wire.Msg) (res launch.Result, lost bool) {
	defer run.Forget()
	var timeout, kill <-chan time.Time
	if limit > 0 {
		timeout = time.After(limit)
	}
	ended, all, killed := false, false, false // all: its processes have to end, too
	for timedOut := false; !ended || all && !killed; res.TimedOut = timedOut {
		select {
		case m, ok := <-run.Said:
			end, is := launch.EndOf(m)
			switch {
			case !ok:
				if !ended {
					res, lost = launch.Lost(), true
				}
				ended, killed = true, true
			case is:
				if res, ended, timeout = end, true, nil; all && !killed {
					run.Kill()
				}
			case m.Kind == wire.Killed:
				killed = true
			}
		case <-timeout:
			timeout, all, timedOut = nil, true, true
			run.Signal(syscall.SIGTERM)
			run.Signal(syscall.SIGCONT)
			kill = time.After(callGrace)
		case <-kill:
			kill = nil
			run.Kill()
		case w := <-words:
			if sig := syscall.Signal(w.N); w.Kind == wire.Signal {
				run.Signal(sig)
				if (sig == syscall.SIGTERM || sig == syscall.SIGHUP) && kill == nil {
					all, kill = true, time.After(callGrace)
				}
				continue
			}
			all = true // whoever called is gone, or wants no more of it
			run.Kill()
			if w.Kind != wire.Kill {
				words = nil
			}
		}
	}
	if res.TimedOut {
		res.Code = launch.CodeTimeout
	}
	return res, lost
}

// after is what follows the end of a call: it says what became of what the box has in common.
func (k *keeper) after(q callRequest, a *callAnswer) {
	k.between.Lock()
	defer k.between.Unlock()
	now := runlog.Moment()
	a.Clock, k.clock = k.clock, now
	a.Recovered, a.Replaced = k.calls.Replaced()
	k.box.Between(&a.Outcome)
	a.Limits = features.LimitTexts(k.box.Run, k.reached(a))
	for _, text := range a.Limits {
		reached := runlog.Event{Type: runlog.EventLimit, Run: a.ID, Profile: k.box.Spec.Name, Reason: text + " reached"}
		a.Events = append(a.Events, reached)
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
	events := k.box.Ended(c, a.Outcome)
	end := &events[len(events)-1]
	end.Program, end.Args, end.Cwd = q.Program, max(0, len(q.Argv)-1), q.Cwd
	if a.Lost {
		end.Reason = "the box of the session ended"
	}
	k.settings.Audit(events...)
}
