package runlog

import (
	"time"

	"golang.org/x/sys/unix"
)

// Changes is what changed in the writable folders during a run, by the run or
// by somebody else: their time of change is not before its start. What was
// removed is only known by the folder it was in.
type Changes struct {
	Files  []string `json:"files,omitempty"`  // new, written, or with other attributes
	Gone   []string `json:"gone,omitempty"`   // folders something was removed from or renamed in
	More   int      `json:"more,omitempty"`   // files not listed
	Partly bool     `json:"partly,omitempty"` // the search ended early: there may be others
}

// Moment returns the time as files know it: their clock ticks every few
// milliseconds only. What changes from now on has this time or a later one.
func Moment() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().Add(-10 * time.Millisecond)
	}
	return time.Unix(ts.Unix())
}
