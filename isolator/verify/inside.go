package verify

import (
	"bufio"
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

// Marker is the file that tells a box.
const marker = paths.BoxMarker

// IsInside reports whether this process was started as the inner half. main
// asks it first: standard descriptors are counted before anything else opens
// one.
func IsInside(args []string) bool { return isWord(args, insideWord) }

func isWord(args []string, word string) bool {
	return len(args) == 2 && args[0] == insideName && args[1] == word
}

// Inside is the inner half. It answers the questions that come in and returns
// the exit code. Outside of a box, or without a line to an outer half, it
// refuses.
func Inside() int {
	open := openDescriptors()
	if !onLine() || !isFile(marker) {
		return refuseWord(insideWord)
	}
	line := os.NewFile(lineFD, "line")
	in := bufio.NewReaderSize(line, 64<<10)
	data, err := in.ReadBytes('\n')
	if err != nil {
		return 125
	}
	var q ask
	if json.Unmarshal(data, &q) != nil {
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

// refuseWord answers somebody who typed a word that is for inner itself.
func refuseWord(word string) int {
	_, _ = os.Stderr.WriteString("inner: " + word + " is for inner itself, inside a box\n")
	return 2
}

func onLine() bool {
	t, err := unix.GetsockoptInt(lineFD, unix.SOL_SOCKET, unix.SO_TYPE)
	return err == nil && t == unix.SOCK_STREAM
}

func isFile(p string) bool {
	fi, err := os.Lstat(p)
	return err == nil && fi.Mode().IsRegular()
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
	switch c.Probe {
	case "no-root":
		return i.noRoot()
	case "no-capabilities":
		return statusZero("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
	case "no-new-privileges":
		return statusIs("NoNewPrivs", "1")
	case "nested-user-ns":
		return nestedUserNS()
	case "namespace":
		return i.namespace(c.Want)
	case "processes":
		return i.processes()
	case "read-only":
		return i.readOnly(c.Places)
	case "writes-declared":
		return i.writesDeclared(c.Places, c.Want)
	case "own":
		return i.own(c.Places)
	case "devices":
		return i.devices(c.Names)
	case "home-isolated":
		return i.homeIsolated(c.Want, c.Places)
	case "mounts":
		return i.mountsAsDeclared(c.Places)
	case "clones":
		return clones(c.Places)
	case "protected":
		return protected(c.Places)
	case "not-the-hosts":
		return notTheHosts(c.Places)
	case "mount-points":
		return i.mountPoints(c.Places)
	case "inner-home":
		return innerHome(c.Places)
	case "hidden":
		return hidden(c.Places, c.Names)
	case "sockets":
		return sockets(c.Places)
	case "env-declared":
		return envDeclared(c.Names)
	case "env-secrets":
		return envSecrets(c.Names)
	case "environ-of-init":
		return environOfInit()
	case "network-policy":
		return i.networkPolicy()
	case "host-loopback":
		return i.hostLoopback()
	case "abstract-sockets":
		return i.abstractSocket()
	case "shims-active":
		return shimsActive(c.Want, c.Names)
	case "programs-covered":
		return programsCovered(c.Want, c.Places)
	case "kernel-keys":
		return kernelKeys()
	case "descriptors":
		return i.descriptors()
	case "terminal":
		return i.terminal()
	case "keyring":
		return i.keyring()
	case "marker":
		return markerIs(c.Want)
	case "seccomp":
		return seccomp(c.Want)
	case "landlock":
		return landlock()
	case "limits":
		return limitsHold(c)
	}
	return Unknown, "no such check in this version"
}
