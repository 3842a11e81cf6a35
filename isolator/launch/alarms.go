package launch

import "time"

// alarm is something that the loop does at its time, rather than when a descriptor is ready.
type alarm int

const (
	killTime       alarm = iota // the whole box is killed
	lookAtLimits                // Options.Over is asked which limit the box came to
	giveBackMemory              // the start took more than the rest of the run needs
	recallTerminal              // has a shell brought us to its foreground again? See letgo.go
	trueSize                    // the box gets its size back: programs draw again when it changes
	questionOpens               // from now on a key answers, see question.go
	questionEnds                // nobody has answered
	tryTerminal                 // are we in the foreground again?
	unreadLine                  // what is typed and unread is for the program, see kept
	lookAtCovers                // is all that is hidden or protected covered? See recover.go
	callsWanted                 // is a box for calls wanted?
)

// alarms are the times of those that are set, and what is done then. A job has one of its own: its time limit,
// and that of its last call.
type alarms map[any]struct {
	at time.Time
	do func()
}

func (a alarms) in(which any, d time.Duration, do func()) {
	next := a[which]
	next.at, next.do = time.Now().Add(d), do
	a[which] = next
}

func (a alarms) off(which ...any) {
	for _, w := range which {
		delete(a, w)
	}
}

func (a alarms) set(which any) bool { return !a[which].at.IsZero() }

// first is the one that goes off first, nil for none.
func (a alarms) first() (which any) {
	for w, alarm := range a {
		if which == nil || alarm.at.Before(a[which].at) {
			which = w
		}
	}
	return which
}

// patience returns how long poll may wait until one goes off, in milliseconds.
func (a alarms) patience() int {
	which := a.first()
	if which == nil {
		return -1
	}
	return int(max(0, time.Until(a[which].at)/time.Millisecond+1))
}

// goOff does what is due, once.
func (a alarms) goOff(now time.Time) {
	for which := a.first(); which != nil && !now.Before(a[which].at); which = a.first() {
		do := a[which].do
		a.off(which)
		do()
	}
}
