package shims

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LoopVar is the environment variable by which a shim recognises that it is being
// called in circles. Another version manager's shim later on PATH may look the
// command up on PATH again, find ours first, and call it back.
//
// Its value is
//
//	PID:MILLISECONDS:DEPTH:CALL:TRIES:PATH[:PATH...]
//
// written before the real program is executed: the process, when (since boot), how
// many shims in a row, a sum of the command and its arguments, how often this very
// call came back, and the programs tried for it, with ':' and '%' as %XX.
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
	pid   int
	at    int64
	depth int
	call  uint64
	tries int
	paths []string
}

// parseGuard reads the variable; anything it does not understand is nothing.
func parseGuard(value string) guard {
	f := strings.Split(value, ":")
	if len(f) < 5 {
		return guard{}
	}
	var g guard
	var errs [5]error
	g.pid, errs[0] = strconv.Atoi(f[0])
	g.at, errs[1] = strconv.ParseInt(f[1], 10, 64)
	g.depth, errs[2] = strconv.Atoi(f[2])
	g.call, errs[3] = strconv.ParseUint(f[3], 16, 64)
	g.tries, errs[4] = strconv.Atoi(f[4])
	for _, err := range errs {
		if err != nil {
			return guard{}
		}
	}
	if g.depth < 0 || g.tries < 0 || len(f)-5 > maxDepth {
		return guard{}
	}
	for _, p := range f[5:] {
		g.paths = append(g.paths, unescape(p))
	}
	return g
}

// enter is the guard as a call finds it: what earlier calls left, judged now.
func (g guard) enter(pid int, now int64, call uint64) guard {
	if g.pid == 0 || now < g.at || now-g.at > loopWindow {
		return guard{pid: pid, at: now, call: call}
	}
	if g.pid != pid || g.call != call {
		return guard{pid: pid, at: now, call: call, depth: g.depth + 1}
	}
	g.at = now
	g.depth++
	g.tries++
	return g
}

// skip lists the programs that have led back here often enough to be passed over.
func (g guard) skip() []string {
	if g.tries < maxTries {
		return nil
	}
	return g.paths
}

// leave is the guard to hand to the program at path.
func (g guard) leave(path string) guard {
	if !slices.Contains(g.paths, path) {
		g.paths = append(slices.Clone(g.paths), path)
	}
	return g
}

// String is the value of the variable.
func (g guard) String() string {
	var b strings.Builder
	b.WriteString(strconv.Itoa(g.pid))
	b.WriteByte(':')
	b.WriteString(strconv.FormatInt(g.at, 10))
	b.WriteByte(':')
	b.WriteString(strconv.Itoa(g.depth))
	b.WriteByte(':')
	b.WriteString(strconv.FormatUint(g.call, 16))
	b.WriteByte(':')
	b.WriteString(strconv.Itoa(g.tries))
	for _, p := range g.paths {
		b.WriteByte(':')
		b.WriteString(escape(p))
	}
	return b.String()
}

// escape keeps a path from ending at its own colon.
func escape(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, "%", "%25"), ":", "%3A")
}

func unescape(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, "%3A", ":"), "%25", "%")
}

// sum identifies a call: the command and its arguments.
func sum(name string, argv []string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	for _, arg := range argv[min(1, len(argv)):] {
		h.Write([]byte{0})
		h.Write([]byte(arg))
	}
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
