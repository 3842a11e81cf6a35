package shims

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// LoopVar is the environment variable by which a shim recognises that it is being
// called in circles. Another version manager's shim later on PATH may look the
// command up on PATH again, find ours first, and call it back.
//
// Its value is a guard as text, written before the real program is executed: five numbers,
// and the programs. (encoding/json takes a good part of a shim's time to look at the type.)
//
// A variable leaks into everything the program starts, so what it says is bound to
// this one situation. It means nothing once loopWindow has passed. Within it:
//
//   - The same process with the same command and arguments: execve keeps the process,
//     so something may have led straight back. A script may do so once or twice on
//     purpose (set a variable, exec itself again), so only the third time are the
//     programs tried so far passed over and the next one on PATH taken.
//   - Anything else counts as one more level. Deeper than maxDepth the call is refused.
//
// Setting the variable by hand can make a shim refuse or take another program of the
// same name on PATH. It is read only where no profile claims the command, so it cannot
// lead around a sandbox.
const LoopVar = "__INNER_SHIM"

const (
	loopWindow = 2000 // milliseconds
	maxTries   = 3
	maxDepth   = 100
)

type guard struct {
	PID   int      // of the process
	At    int64    // when, in milliseconds since boot
	Depth int      // how many shims in a row
	Call  uint64   // a sum of the command and its arguments
	Tries int      // how often this very call came back
	Paths []string // the programs tried for it: each from an element of PATH, which no colon is in
}

// parseGuard reads the variable; anything it does not understand is nothing.
func parseGuard(value string) (g guard) {
	if value == "" {
		return g
	}
	numbers, paths, _ := strings.Cut(value, "\t")
	n, err := fmt.Sscan(numbers, &g.PID, &g.At, &g.Depth, &g.Call, &g.Tries)
	if paths != "" {
		g.Paths = strings.Split(paths, ":")
	}
	if n != 5 || err != nil || g.Depth < 0 || g.Tries < 0 || len(g.Paths) > maxDepth {
		return guard{}
	}
	return g
}

// String is the value of the variable.
func (g guard) String() string {
	return fmt.Sprint(g.PID, " ", g.At, " ", g.Depth, " ", g.Call, " ", g.Tries, "\t", strings.Join(g.Paths, ":"))
}

// enter is the guard as a call finds it: what earlier calls left, judged now.
func (g guard) enter(pid int, now int64, call uint64) guard {
	if g.PID == 0 || now < g.At || now-g.At > loopWindow {
		return guard{PID: pid, At: now, Call: call}
	}
	if g.PID != pid || g.Call != call {
		return guard{PID: pid, At: now, Call: call, Depth: g.Depth + 1}
	}
	g.At = now
	g.Depth++
	g.Tries++
	return g
}

// skip lists the programs that have led back here often enough to be passed over.
func (g guard) skip() []string {
	if g.Tries < maxTries {
		return nil
	}
	return g.Paths
}

// leave is the guard to hand to the program at path.
func (g guard) leave(path string) guard {
	if !slices.Contains(g.Paths, path) {
		g.Paths = append(slices.Clone(g.Paths), path)
	}
	return g
}

// sum identifies a call: the command and its arguments.
func sum(name string, argv []string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q", name, argv[min(1, len(argv)):])
	return h.Sum64()
}

// bootMillis is the time since boot, which no change of the clock disturbs.
func bootMillis() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &t) != nil {
		return 0
	}
	return t.Sec*1000 + t.Nsec/1e6
}
