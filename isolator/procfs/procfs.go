// Package procfs finds out how a box can have a /proc on this host.
//
// A fresh procfs shows the processes of the box alone, and works nearly
// everywhere. Where the kernel does not let a user namespace mount one (inside
// some containers, where parts of /proc are covered), the host's can be bound
// read-only for a profile that asks for that, if nothing private of other processes can be read
// through it. That is probed at each start, since what holds for the namespaces of one process holds
// for no other: a process with a secret in its environment and memory is started beside the box,
// and the box tries to read it. If it reads anything but command lines, which every process may
// read, nothing starts, and neither does it where the probe has no result.
package procfs

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
)

// The words that make the inner binary a part of the probe.
const (
	sentinelWord = "__sentinel"
	probeWord    = "__procprobe"
	selfExe      = "/proc/self/exe"
)

// Answer says how much of other processes the host's /proc shows to a box.
type Answer string

// The answers of a probe.
const (
	Safe    Answer = "safe"         // nothing private
	Listed  Answer = "listed"       // command lines, which every process may read, and nothing else
	Unsafe  Answer = "unsafe"       // more than that; or the box cannot use it
	Unknown Answer = "inconclusive" // the probe has no result
)

// FailedAtProc reports whether the reason why a box did not start is that a fresh /proc could not
// be mounted. bwrap says "Can't mount proc on /newroot/proc" (bubblewrap.c).
func FailedAtProc(reason string) bool {
	return strings.Contains(reason, "mount proc") || strings.Contains(reason, "/newroot/proc")
}

// leastBox returns the least box around a program: its own namespaces, the host
// read-only.
func leastBox(bwrap string, proc plan.Op) plan.Plan {
	return plan.Plan{Bwrap: bwrap, Program: selfExe, Dir: "/", Ops: []plan.Op{
		{Kind: plan.OpSwitch, Flags: []plan.Flag{plan.UnsharePID, plan.DieWithParent, plan.UnshareIPC, plan.UnshareNet}},
		{Kind: plan.OpSwitch, Flags: plan.DropCaps()},
		{Kind: plan.OpReadOnly, Source: "/", Dest: "/"},
		{Kind: plan.OpDev, Dest: "/dev"},
		proc,
	}}
}

// probeTime is how long a probe may take.
const probeTime = 5 * time.Second

// Bind probes what the host's /proc, bound read-only, gives away of another process of the user.
// why completes "the host's gives away", or says why the answer is Unknown. exe is
// the inner binary, "" when it is this program.
func Bind(bwrap, exe string) (answer Answer, why string) {
	secret := rand.Text()
	pid, stop, err := startSentinel(exe, secret)
	if err != nil {
		return Unknown, err.Error()
	}
	defer stop()
	r, w, err := os.Pipe()
	if err != nil {
		return Unknown, err.Error()
	}
	defer r.Close()
	p := leastBox(bwrap, plan.Op{Kind: plan.OpReadOnly, Source: "/proc", Dest: "/proc"})
	p.Argv = []string{selfExe, probeWord, strconv.Itoa(pid), secret}
	res := launch.Run(p, launch.Options{Supervisor: exe, Stdout: w, Timeout: probeTime})
	w.Close()
	if !res.Started || res.TimedOut {
		return Unknown, "the probe did not run: " + res.Reason
	}
	line, _ := bufio.NewReader(r).ReadString('\n')
	word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch Answer(word) {
	case Safe, Unsafe, Listed:
		return Answer(word), why
	}
	return Unknown, fmt.Sprintf("the probe ended with code %d and said %q", res.Code, why)
}

// startSentinel starts a sibling of the box with the secret in its command line, its environment
// and its memory. stop ends it.
func startSentinel(exe, secret string) (pid int, stop func(), err error) {
	sentinel := exec.Command(cmp.Or(exe, selfExe), sentinelWord, secret)
	sentinel.Args[0] = selfExe // see IsPart
	sentinel.Env = []string{"INNER_SENTINEL=" + secret}
	sentinel.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	input, err := sentinel.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := sentinel.Start(); err != nil {
		return 0, nil, err
	}
	return sentinel.Process.Pid, func() {
		input.Close()
		_ = sentinel.Wait() // it ends with its input
	}, nil
}

// IsPart reports whether this process was started as a part of the probe. The
// name it is started by cannot be typed by accident.
func IsPart(args []string) bool {
	return len(args) >= 2 && args[0] == selfExe && (args[1] == sentinelWord || args[1] == probeWord && len(args) >= 4)
}

// Part is the main function of such a process: the sentinel, or what runs in the box of the
// probe. It returns the exit code.
func Part(args []string) int {
	if args[1] == sentinelWord {
		var one [1]byte
		_, _ = os.Stdin.Read(one[:]) // until the probe is over
		return 0
	}
	answer, why := look(args[2], args[3])
	fmt.Fprintln(os.Stdout, answer, why) // allowed: the probe's answer
	return 0
}

// look runs in the box of the probe: it tries to reach the process pid, and the secret in it,
// through /proc. why is as for Bind.
func look(pid, secret string) (answer Answer, why string) {
	at := func(name string) string { return filepath.Join("/proc", pid, name) }
	if _, err := os.Stat(at("")); err != nil {
		return Unknown, "the other process cannot be seen"
	}
	if _, err := os.ReadFile("/proc/self/maps"); err != nil {
		return Unsafe, "nothing, not even one's own memory map: " + err.Error()
	}
	if a, what := lookInFiles(at, secret); a != Safe {
		return a, what
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		return Unknown, "no process number"
	}
	if unix.Access("/proc/self/comm", unix.W_OK) == nil {
		return Unsafe, "a writable /proc"
	}
	// kill(2) takes numbers of the box's own PID namespace, in which the other process has none.
	if unix.Kill(n, 0) == nil && n != os.Getpid() {
		return Unsafe, "the processes themselves, to signals"
	}
	switch line, err := os.ReadFile(at("cmdline")); {
	case err == nil && bytes.Contains(line, []byte(secret)):
		return Listed, "the command lines of other processes"
	case err == nil && len(line) == 0:
		return Unknown, "the other process had no command line yet"
	}
	return Safe, ""
}

// lookInFiles tries what /proc shows of the other process as files, links and descriptors.
func lookInFiles(at func(string) string, secret string) (Answer, string) {
	for _, name := range []string{"environ", "maps", "auxv", "stack", "syscall", "io"} {
		data, err := os.ReadFile(at(name))
		switch {
		case err != nil:
		case name == "environ" && len(data) == 0:
			return Unknown, "the other process had no environment yet"
		case bytes.Contains(data, []byte(secret)):
			return Unsafe, "the secrets in the " + name + " of other processes"
		case len(data) > 0:
			return Unsafe, "the " + name + " of other processes"
		}
	}
	if f, err := os.Open(at("mem")); err == nil {
		f.Close()
		return Unsafe, "the memory of other processes"
	}
	for _, name := range []string{"root", "cwd", "exe", "fd/0", "fd/1", "fd/2", "root/etc", "cwd/."} {
		_, errLink := os.Readlink(at(name))
		if _, err := os.Stat(at(name)); err == nil || errLink == nil {
			return Unsafe, "the " + name + " of other processes"
		}
	}
	return Safe, ""
}
