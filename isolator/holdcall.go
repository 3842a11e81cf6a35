package isolator

import (
	"encoding/json"
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
	"github.com/enr/inner/isolator/streams"
)

// callGrace is how long a program may take after SIGTERM, as in a box of its own.
const callGrace = 5 * time.Second

// askWithin is how long a connection may take to say what it wants.
const askWithin = 30 * time.Second

// serve is one connection.
func (h *holder) serve(conn *net.UnixConn) {
	defer conn.Close()
	if peer, err := session.Peer(conn); err != nil || !launch.OutsideBoxes(peer) {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(askWithin))
	m, files, err := receive(conn)
	defer closeFiles(files)
	_ = conn.SetReadDeadline(time.Time{})
	switch {
	case err != nil:
	case m[0] == session.EndWord:
		h.end()
	case m[0] == callWord && len(files) == 4:
		var q boxRequest
		if text, err := io.ReadAll(files[0]); err != nil || json.Unmarshal(text, &q) != nil {
			return
		}
		taken, other := h.take(q.Key)
		if other {
			_, _ = conn.Write(append([]byte{callNo}, "what the old one was made of has changed, and its programs end"...))
		}
		if !taken {
			return
		}
		defer h.leave()
		if _, err := conn.Write([]byte{callTaken}); err == nil {
			h.run1(conn, q, files)
		}
	}
}

// run1 runs one call and answers it.
func (h *holder) run1(conn *net.UnixConn, q boxRequest, files []*os.File) {
	begun := time.Now()
	p := plan.Plan{Program: q.Program, Argv: q.Argv, Env: withEnv(q.Env, h.staged), Dir: q.Dir, DirElse: q.DirElse}
	run, err := h.calls.Start(p, [3]*os.File{files[1], files[2], files[3]})
	for _, f := range files {
		f.Close()
	}
	words, over := make(chan word), make(chan struct{})
	defer close(over)
	go listen(conn, words, over)
	a := boxAnswer{ID: h.box.ID()}
	if err != nil {
		a.Code, a.Reason = launch.CodeNoSandbox, err.Error()
	} else {
		h.follow(run, q, words, &a)
		run.Forget()
	}
	h.after(q, &a, begun)
	if answer(conn, a) != nil {
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

// follow follows a call to its end.
func (h *holder) follow(run *launch.CallRun, q boxRequest, words <-chan word, a *boxAnswer) {
	var timeout, kill <-chan time.Time
	if q.Timeout > 0 {
		timeout = time.After(q.Timeout)
	}
	all := false // its processes have to end, too
	for {
		select {
		case e := <-run.Ended():
			if all {
				run.Kill()
			}
			a.Started, a.Lost, a.Reason = e.Started, e.Lost, e.Reason
			if a.Code, a.Signal = e.Exit(); a.TimedOut {
				a.Code = launch.CodeTimeout
			}
			return
		case <-timeout:
			timeout, all, a.TimedOut = nil, true, true
			run.Signal(syscall.SIGTERM)
			run.Signal(syscall.SIGCONT)
			kill = time.After(callGrace)
		case <-kill:
			kill = nil
			go run.Kill()
		case w := <-words:
			switch {
			case w.kind == callSignal:
				run.Signal(w.sig)
				if (w.sig == syscall.SIGTERM || w.sig == syscall.SIGHUP) && kill == nil {
					all, kill = true, time.After(callGrace)
				}
			default: // whoever called is gone, or wants no more of it
				all = true
				go run.Kill()
				if w.kind != callKill {
					words = nil
				}
			}
		}
	}
}

// after is what follows the end of a call: it says what became of what the box has in common.
func (h *holder) after(q boxRequest, a *boxAnswer, begun time.Time) {
	h.between.Lock()
	defer h.between.Unlock()
	o := &features.Outcome{ID: a.ID, Begun: begun, Clock: h.clock}
	clock := runlog.Moment()
	for _, f := range h.box.features {
		if f.Between != nil && a.Started {
			if err := f.Between(h.box.Run, o); err != nil {
				h.settings.Fail(err)
			}
		}
	}
	h.clock = clock
	reached := h.calls.Reached()
	if l := h.box.Plan.Limits; l != nil && l.Rlimits.FileSize > 0 && a.Started && a.Code == 128+int(syscall.SIGXFSZ) {
		reached = append(reached, "file_size")
	}
	a.Limits = features.LimitTexts(h.box.Run, reached)
	for _, text := range a.Limits {
		o.Events = append(o.Events, runlog.Event{Type: runlog.EventLimit, Run: a.ID, Profile: h.box.Spec.Name, Reason: text + " reached"})
	}
	a.Aside, a.Hosts, a.Blocked, a.Rewound = o.Aside, o.Hosts, o.Blocked, o.Rewound
	if a.Started {
		h.audit(q, a, o, time.Since(begun))
	}
	a.SetUp, a.Notes = h.notes.Take()
	session.Use(h.q.Folder)
}

// audit writes the line of a call; of one that has not run its own process writes it.
func (h *holder) audit(q boxRequest, a *boxAnswer, o *features.Outcome, took time.Duration) {
	first := h.call
	first.Word, first.By = q.Word, q.By
	out := *o
	out.Result = launch.Result{Started: true, Code: a.Code, Signal: a.Signal, TimedOut: a.TimedOut}
	out.Backend, out.Begun, out.Blocked = "bwrap", time.Now().Add(-took), a.Blocked
	events := ended(h.box, first, out)
	end := &events[len(events)-1]
	end.Program, end.Args, end.Cwd = q.Program, max(0, len(q.Argv)-1), q.Cwd
	if a.Lost {
		end.Reason = "the box of the session ended"
	}
	h.settings.Audit(events...)
}

// answer sends what came of a call.
func answer(conn *net.UnixConn, a boxAnswer) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	file, err := streams.Text(string(text))
	if err != nil {
		return err
	}
	defer file.Close()
	return sendFiles(conn, []byte{callEnded}, file)
}
