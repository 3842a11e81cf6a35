package isolator

import (
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/session"
)

// callGrace is how long a program may take after SIGTERM, as in a box of its own.
const callGrace = 5 * time.Second

// askWithin is how long a connection may take to say what it wants.
const askWithin = 30 * time.Second

// serveCall serves one connection.
func (h *boxServer) serveCall(conn *net.UnixConn) {
	defer conn.Close()
	if peer, err := session.Peer(conn); err != nil || !launch.OutsideBoxes(peer) {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(askWithin))
	m, files, err := receive(conn)
	defer closeFiles(files)
	_ = conn.SetReadDeadline(time.Time{})
	var q boxRequest
	switch {
	case err != nil:
	case m[0] == session.EndWord:
		h.end()
	case m[0] == callWord && len(files) == 4 && received(files[0], &q) == nil:
		h.asked(conn, q, files)
	}
}

// asked runs a call in the box, if it is of this box.
func (h *boxServer) asked(conn *net.UnixConn, q boxRequest, files []*os.File) {
	taken, other := h.take(q.Key)
	if other {
		_, _ = conn.Write(append([]byte{callNo}, "what the old one was made of has changed, and its programs end"...))
	}
	if !taken {
		return
	}
	defer h.leave()
	if _, err := conn.Write([]byte{callTaken}); err == nil {
		h.runCall(conn, q, files)
	}
}

// runCall runs one call and answers it.
func (h *boxServer) runCall(conn *net.UnixConn, q boxRequest, files []*os.File) {
	begun := time.Now()
	p := plan.Plan{Program: q.Program, Argv: q.Argv, Env: withEnv(q.Env, h.staged), Dir: q.Dir, DirElse: q.DirElse}
	run, err := h.calls.Start(p, [3]*os.File{files[1], files[2], files[3]})
	closeFiles(files)
	words, over := make(chan word), make(chan struct{})
	defer close(over)
	go listen(conn, words, over)
	a := boxAnswer{Outcome: features.Outcome{ID: h.box.ID(), Backend: "bwrap", Begun: begun}}
	if err != nil {
		a.Code, a.Reason = launch.CodeNoSandbox, err.Error()
	} else {
		a.Result, a.Lost = follow(run, q.Timeout, words)
	}
	h.after(q, &a)
	if sendJSON(conn, callEnded, a) != nil {
		return
	}
	select {
	case w := <-words:
		for _, f := range w.files { // as long as somebody writes
			go func() {
				_, _ = io.Copy(io.Discard, f)
				f.Close()
			}()
		}
	case <-time.After(askWithin):
	}
}

// word is what a call says while it runs.
type word struct {
	kind  byte // 0 when the connection has ended
	sig   syscall.Signal
	files []*os.File
}

// listen reads what a call says, until its last word.
func listen(conn *net.UnixConn, words chan<- word, over <-chan struct{}) {
	say := func(w word) {
		select {
		case words <- w:
		case <-over:
			closeFiles(w.files)
		}
	}
	for {
		m, files, err := receive(conn)
		switch {
		case err != nil:
			closeFiles(files)
			say(word{})
			return
		case m[0] == callDone:
			say(word{kind: callDone, files: files})
			return
		case m[0] == callSignal && len(m) == 2:
			say(word{kind: callSignal, sig: syscall.Signal(m[1])})
		case m[0] == callKill:
			say(word{kind: callKill})
		}
		closeFiles(files)
	}
}

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
			if w.kind == callSignal {
				run.Signal(w.sig)
				if (w.sig == syscall.SIGTERM || w.sig == syscall.SIGHUP) && kill == nil {
					all, kill = true, time.After(callGrace)
				}
				continue
			}
			all = true // whoever called is gone, or wants no more of it
			go run.Kill()
			if w.kind != callKill {
				words = nil
			}
		}
	}
}

// after is what follows the end of a call: it says what became of what the box has in common.
func (h *boxServer) after(q boxRequest, a *boxAnswer) {
	h.between.Lock()
	defer h.between.Unlock()
	now := runlog.Moment()
	a.Clock, h.clock = h.clock, now
	for _, f := range h.box.features {
		if f.Between != nil && a.Started {
			if err := f.Between(h.box.Run, &a.Outcome); err != nil {
				h.settings.Fail(err)
			}
		}
	}
	a.Limits = features.LimitTexts(h.box.Run, h.reached(a))
	for _, text := range a.Limits {
		a.Events = append(a.Events, runlog.Event{Type: runlog.EventLimit, Run: a.ID, Profile: h.box.Spec.Name, Reason: text + " reached"})
	}
	if a.Started {
		h.audit(q, a)
	}
	a.Events = nil
	a.SetUp, a.Notes = h.notes.Take()
	session.Use(h.q.Folder)
}

// reached names the limits that the box has reached since the last call, and this call.
func (h *boxServer) reached(a *boxAnswer) []string {
	list := h.calls.Reached()
	if l := h.box.Plan.Limits; l != nil && l.Rlimits.FileSize > 0 && a.Started && a.Code == 128+int(syscall.SIGXFSZ) {
		list = append(list, "file_size")
	}
	return list
}

// audit writes the line of a call; of one that has not run its own process writes it.
func (h *boxServer) audit(q boxRequest, a *boxAnswer) {
	c := h.call
	c.Word, c.By = q.Word, q.By
	events := ended(h.box, c, a.Outcome)
	end := &events[len(events)-1]
	end.Program, end.Args, end.Cwd = q.Program, max(0, len(q.Argv)-1), q.Cwd
	if a.Lost {
		end.Reason = "the box of the session ended"
	}
	h.settings.Audit(events...)
}
