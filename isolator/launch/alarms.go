package launch

import (
	"runtime/debug"
	"syscall"
	"time"
)

// alarm is something that the loop does at its time, rather than when a descriptor is ready.
type alarm int

// Those that are due at the same moment go off in this order.
const (
	timeLimit      alarm = iota // Options.Timeout is over
	killTime                    // the whole box is killed
	lookAtLimits                // Options.Over is asked which limit the box came to
	giveBackMemory              // the start took more than the rest of the run needs
	moveIsLate                  // the relay still waits for the terminal before, see move.go
	recallTerminal              // has a shell brought us to its foreground again? See letgo.go
	trueSize                    // the box gets its size back: programs draw again when it changes
	questionOpens               // from now on a key answers, see question.go
	questionEnds                // nobody has answered
	tryTerminal                 // are we in the foreground again? Did our own stop not happen?
	unreadLine                  // what is typed and unread is for the program, see console.waits
	lookAtCovers                // is all that is hidden or protected covered? See recover.go
	alarmCount
)

// alarms are the times of all of them; zero for one that is not set.
type alarms [alarmCount]time.Time

func (a *alarms) in(which alarm, d time.Duration) { a[which] = time.Now().Add(d) }

func (a *alarms) off(which ...alarm) {
	for _, w := range which {
		a[w] = time.Time{}
	}
}

func (a *alarms) set(which alarm) bool { return !a[which].IsZero() }

// patience returns how long poll may wait until one goes off, in milliseconds.
func (a *alarms) patience() int {
	var first time.Time
	for _, t := range a {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	if first.IsZero() {
		return -1
	}
	return int(max(0, time.Until(first)/time.Millisecond+1))
}

// due reports, once, whether the time of an alarm has come.
func (a *alarms) due(which alarm, now time.Time) bool {
	if !a.set(which) || now.Before(a[which]) {
		return false
	}
	a.off(which)
	return true
}

// goOff does what is due.
func (s *session) goOff(now time.Time) {
	for which, do := range [alarmCount]func(*session){
		timeLimit:      (*session).timeUp,
		killTime:       (*session).killBox,
		lookAtLimits:   (*session).lookAtLimits,
		giveBackMemory: (*session).giveBackMemory,
		moveIsLate:     (*session).moveLate,
		recallTerminal: (*session).recall,
		trueSize:       (*session).resize,
		questionOpens:  (*session).openQuestion,
		questionEnds:   (*session).dropQuestion,
		tryTerminal:    (*session).tryTerminal,
		unreadLine:     (*session).giveUnread,
		lookAtCovers:   (*session).coverAgain,
	} {
		if s.alarms.due(alarm(which), now) {
			do(s)
		}
	}
}

func (s *session) timeUp() {
	if s.over() {
		return
	}
	s.program.timedOut = true
	s.signalJob(syscall.SIGTERM)
	s.signalJob(syscall.SIGCONT)
	s.killAfter(killGrace)
}

func (s *session) lookAtLimits() {
	if s.over() {
		return
	}
	if s.limits.over = s.o.Over(); s.limits.over != "" {
		s.killBox()
		return
	}
	s.alarms.in(lookAtLimits, lookEvery)
}

func (s *session) giveBackMemory() {
	if !s.program.ended {
		debug.FreeOSMemory()
	}
}

// tryTerminal makes the real terminal the box's if it is ours again. After a stop of ours
// that never reached us, as in an orphaned process group, the job goes on.
func (s *session) tryTerminal() {
	switch {
	case s.suspended.on:
		s.resume(false)
		s.suspended.guessed = time.Now()
	case s.console.full && !s.console.real.raw:
		s.attach()
	}
}

// giveUnread gives the program its terminal for a line that nobody else has read.
func (s *session) giveUnread() {
	if s.console.waits && !s.over() && !s.suspended.on && s.unread() {
		s.give()
	}
}
