package launch

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// activity is how much each process of the box has run, in nanoseconds of a processor, before a moment.
// While nothing in it changes the box does nothing, and can have written nothing since that moment: what
// a process did before it was looked at counts in both looks.
type activity struct {
	at    time.Time
	spent map[int]int64
}

// activityOf looks at a process and all below it. What cannot be read makes it like no other.
func activityOf(pid int) activity {
	a := activity{spent: map[int]int64{}}
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		var ts unix.Timespec
		// The processor clock of any process is to be read (clock_getcpuclockid(3); CPUCLOCK_SCHED is 2).
		err := unix.ClockGettime(int32(^next[0]<<3|2), &ts)
		a.spent[next[0]] = ts.Nano() // all its threads'
		lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", next[0]))
		if err != nil || len(lists) == 0 {
			return activity{}
		}
		for _, list := range lists {
			text, err := os.ReadFile(list)
			if err != nil {
				return activity{}
			}
			for f := range strings.FieldsSeq(string(text)) {
				child, _ := strconv.Atoi(f)
				next = append(next, child)
			}
		}
	}
	a.at = time.Now()
	return a
}

// idleSince reports whether nothing has run since another look.
func (a activity) idleSince(before activity) bool {
	return len(a.spent) > 0 && maps.Equal(a.spent, before.spent)
}
