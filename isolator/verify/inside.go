package verify

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/proc"
)

// How the inner half is started: inner executes itself, under a name of its
// own, with its line to the outside as standard error.
const (
	selfExe    = "/proc/self/exe"
	insideName = "inner"
	insideWord = "__verify"
	lineFD     = 2
)

// marker is the file by which a program can tell that it is in a box.
const marker = paths.BoxMarker

// IsInside reports whether this process was started as the inner half. main
// asks it first: standard descriptors are counted before anything else opens
// one.
func IsInside(args []string) bool {
	return len(args) == 2 && args[0] == insideName && args[1] == insideWord
}

// Inside runs the inner half: it makes the checks that it is sent, answers them, and
// returns the exit code. Outside of a box, or without a socket to an outer half, it
// refuses.
func Inside() int {
	open := openDescriptors()
	kind, err := unix.GetsockoptInt(lineFD, unix.SOL_SOCKET, unix.SO_TYPE)
	if fi, absent := os.Lstat(marker); err != nil || kind != unix.SOCK_STREAM || absent != nil || !fi.Mode().IsRegular() {
		_, _ = os.Stderr.WriteString("inner: " + insideWord + " is for inner itself, inside a box\n") // typed by somebody
		return 2
	}
	line := os.NewFile(lineFD, "line")
	var q ask
	if json.NewDecoder(line).Decode(&q) != nil {
		return 125
	}
	i := &inside{ask: q, mounts: mountinfo(), open: open}
	out := json.NewEncoder(line)
	for _, c := range q.Checks {
		r, detail := i.check(c)
		if out.Encode(answer{c.ID, r, short(detail)}) != nil {
			return 125
		}
	}
	if len(q.Custom) > 0 {
		// What a check of the profile runs reaches no descriptor of ours.
		_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
		unix.CloseOnExec(lineFD)
	}
	for _, c := range q.Custom {
		r, detail := custom(c, q.Host.UID)
		if out.Encode(answer{c.Name, r, short(detail)}) != nil {
			return 125
		}
	}
	return 0
}

// short keeps a detail to one line of a sensible length.
func short(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	const limit = 300
	if len(s) > limit {
		s = strings.ToValidUTF8(s[:limit], "") + "…"
	}
	return s
}

// inside is the state of the inner half.
type inside struct {
	ask
	mounts []proc.Mount
	open   []int // descriptors at the start
}

// check carries out one check. A probe that fails in an unforeseen way does not
// take the others with it.
func (i *inside) check(c Check) (r Result, detail string) {
	defer func() {
		if p := recover(); p != nil {
			r, detail = Unknown, fmt.Sprint("the check broke: ", p)
		}
	}()
	if probe := probes()[c.Probe]; probe != nil {
		return probe(i, c)
	}
	return Unknown, "no such check in this version"
}

// probes returns the functions that carry out checks, by Check.Probe.
func probes() map[string]func(*inside, Check) (Result, string) {
	return map[string]func(*inside, Check) (Result, string){
		"no-root":          func(i *inside, _ Check) (Result, string) { return i.noRoot() },
		"status":           func(_ *inside, c Check) (Result, string) { return statusIs(c.Names, c.Want) },
		"nested-user-ns":   func(_ *inside, _ Check) (Result, string) { return nestedUserNS() },
		"namespace":        func(i *inside, c Check) (Result, string) { return i.namespace(c.Want) },
		"processes":        func(i *inside, _ Check) (Result, string) { return i.processes() },
		"writes-declared":  func(i *inside, c Check) (Result, string) { return i.writesDeclared(c.Places, c.Want) },
		"devices":          func(i *inside, c Check) (Result, string) { return i.devices(c.Names) },
		"mounts":           func(i *inside, c Check) (Result, string) { return i.mountsAsPlanned(c.Places) },
		"hidden":           func(_ *inside, c Check) (Result, string) { return hidden(c.Places) },
		"sockets":          func(_ *inside, c Check) (Result, string) { return sockets(c.Places) },
		"env-declared":     func(_ *inside, c Check) (Result, string) { return envDeclared(c.Names) },
		"network-policy":   func(i *inside, _ Check) (Result, string) { return i.networkPolicy() },
		"host-loopback":    func(i *inside, _ Check) (Result, string) { return i.hostLoopback() },
		"abstract-sockets": func(i *inside, _ Check) (Result, string) { return i.abstractSocket() },
		"shims-active":     func(_ *inside, c Check) (Result, string) { return shimsActive(c.Want, c.Names) },
		"kernel-keys":      func(_ *inside, _ Check) (Result, string) { return kernelKeys() },
		"descriptors":      func(i *inside, _ Check) (Result, string) { return i.descriptors() },
		"terminal":         func(i *inside, _ Check) (Result, string) { return i.terminal() },
		"keyring":          func(i *inside, _ Check) (Result, string) { return i.keyring() },
		"marker":           func(_ *inside, c Check) (Result, string) { return markerIs(c.Want) },
		"landlock":         func(_ *inside, _ Check) (Result, string) { return landlock() },
		"limits":           func(_ *inside, c Check) (Result, string) { return limitsHold(c) },
	}
}
