package launch

import "time"

// alarm is something that the loop does at its time, rather than when a descriptor is ready.
type alarm int

// Those that are due at the same moment go off in this order.
const (
	timeLimit      alarm = iota // Options.Timeout is over
	killTime                    // the whole box is killed
	lookAtLimits                // Options.Over is asked which limit the box came to
	giveBackMemory              // the start took more than the rest of the run needs
	recallTerminal              // has a shell brought us to its foreground again? See letgo.go
	trueSize                    // the box gets its size back: programs draw again when it changes
	questionOpens               // from now on a key answers, see question.go
	questionEnds                // nobody has answered
	tryTerminal                 // are we in the foreground again? Did our own stop not happen?
	unreadLine                  // what is typed and unread is for the program, see console.waits
	lookAtCovers                // is all that is hidden or protected covered? See recover.go
	callsWanted                 // is a box for calls wanted?
	alarmCount
)

// alarms are the times of all of them, zero for one that is not set, and what is done then.
type alarms [alarmCount]struct {
	at time.Time
	do func()
}

func (a *alarms) in(which alarm, d time.Duration, do func()) {
	a[which].at, a[which].do = time.Now().Add(d), do
}

func (a *alarms) off(which ...alarm) {
	for _, w := range which {
		a[w].at = time.Time{}
	}
}

func (a *alarms) set(which alarm) bool { return !a[which].at.IsZero() }

// patience returns how long poll may wait until one goes off, in milliseconds.
func (a *alarms) patience() int {
	var first time.Time
	for _, alarm := range a {
		if !alarm.at.IsZero() && (first.IsZero() || alarm.at.Before(first)) {
			first = alarm.at
		}
	}
	if first.IsZero() {
		return -1
	}
	return int(max(0, time.Until(first)/time.Millisecond+1))
}

// goOff does what is due, once.
func (a *alarms) goOff(now time.Time) {
	for which := range alarmCount {
		if a.set(which) && !now.Before(a[which].at) {
			a.off(which)
			a[which].do()
		}
	}
}
