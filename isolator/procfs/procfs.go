// Package procfs finds out how a box can have a /proc on this host.
//
// A fresh procfs shows the processes of the box alone, and works nearly
// everywhere. Where the kernel does not let a user namespace mount one (inside
// some containers, where parts of /proc are covered), the host's can be bound
// read-only, if nothing private of other processes can be read through it. That
// is probed: a process with a secret in its environment and memory is started beside the
// box, and the box tries to read it. If it reads anything, the host's /proc is not bound,
// and /proc stays empty. Command lines alone are no secret, because every process may read
// them: a profile can ask for the bind in spite of them. A probe without a result is repeated,
// and does not count as an answer.
//
// A finding holds until the next boot: it is kept in a file, with the boot
// and the bwrap it was found with.
package procfs

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
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

// Finding says which kind of /proc a box can have on this host, and why.
type Finding struct {
	Mode string `json:"mode"` // "fresh", "bind" or "empty"
	Bind Answer `json:"bind"` // of the probe; "" when it was not needed
	Why  string `json:"why"`
}

// kept is a finding as it is saved in the file.
type kept struct {
	Probe int    `json:"probe"` // which questions were asked, see questions
	Boot  string `json:"boot"`
	Bwrap string `json:"bwrap"` // path, device, inode and time of change
	Finding
}

// questions is incremented when the probe checks more than before, so that a host that an older
// inner found safe is probed again.
const questions = 2

// Known returns what an earlier probe wrote into file, if it is of this boot and this bwrap.
func Known(file, bwrap string) (Finding, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Finding{}, false
	}
	var k kept
	if json.Unmarshal(data, &k) != nil || k.Probe != questions || k.Boot != boot() || k.Bwrap != identity(bwrap) || k.Boot == "" {
		return Finding{}, false
	}
	return k.Finding, true
}

// retries and pause give a machine under load three more chances to answer.
const (
	retries = 3
	pause   = 200 * time.Millisecond
)

// Find probes the host and saves the result in file, unless a probe was inconclusive. exe is the
// inner binary, "" when it is this program. The error says why nothing is known.
func Find(file, bwrap, exe string) (Finding, error) {
	if err := fresh(bwrap, exe); err == nil {
		f := Finding{Mode: "fresh", Why: "a fresh one can be mounted"}
		return f, keep(file, bwrap, f)
	} else if !FailedAtProc(err.Error()) {
		return Finding{}, err
	}
	answer, why := Unknown, ""
	for i := range retries + 1 {
		if i > 0 {
			time.Sleep(time.Duration(i) * pause)
		}
		if answer, why = Bind(bwrap, exe); answer != Unknown {
			break
		}
	}
	f := Finding{Mode: "empty", Bind: answer, Why: "a fresh one cannot be mounted here, and the host's gives away " + why}
	switch answer {
	case Unknown:
		return Finding{}, fmt.Errorf("whether the host's /proc is safe to show could not be found out: %s", why)
	case Safe:
		f.Mode, f.Why = "bind", "a fresh one cannot be mounted here; the host's gives nothing private away"
	case Listed:
		f.Why += `; proc = "bind" under [sandbox] shows it anyway`
	}
	return f, keep(file, bwrap, f)
}

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

// fresh returns nil when a box can mount a fresh /proc, or why it did not start.
func fresh(bwrap, exe string) error {
	p := leastBox(bwrap, plan.Op{Kind: plan.OpProc, Dest: "/proc"})
	p.Argv = []string{selfExe, probeWord, "0"}
	res := launch.Run(p, launch.Options{Supervisor: exe, Timeout: probeTime})
	if !res.Started {
		return errors.New(res.Reason)
	}
	return nil
}

// probeTime is how long a probe may take.
const probeTime = 5 * time.Second

// Bind probes what the host's /proc, bound read-only, gives away of another process of the user.
// why completes "the host's gives away", or says why the answer is Unknown. exe is as for Find.
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
	return len(args) >= 2 && args[0] == selfExe && (args[1] == sentinelWord || args[1] == probeWord)
}

// Part is the main function of such a process: the sentinel, or what runs in the box of the
// probe. It returns the exit code.
func Part(args []string) int {
	if args[1] == sentinelWord {
		var one [1]byte
		_, _ = os.Stdin.Read(one[:]) // until the probe is over
		return 0
	}
	if len(args) < 4 {
		return 0 // only to see that it starts
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
	for _, name := range []string{"root", "cwd", "exe"} {
		if _, err := os.Readlink(at(name)); err == nil {
			return Unsafe, "the " + name + " of other processes"
		}
	}
	for _, name := range []string{"fd/0", "fd/1", "fd/2", "root/etc", "cwd/."} {
		if _, err := os.Readlink(at(name)); err == nil {
			return Unsafe, "the descriptors of other processes"
		}
		if _, err := os.Stat(at(name)); err == nil {
			return Unsafe, "the files of other processes"
		}
	}
	return Safe, ""
}

// keep writes a finding into file, for Known.
func keep(file, bwrap string, f Finding) error {
	data, err := json.Marshal(kept{questions, boot(), identity(bwrap), f})
	if err != nil {
		return err
	}
	return files.Write(file, append(data, '\n'), 0o600)
}

// boot names the running system (random(4): boot_id is new at each boot).
func boot() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// identity changes whenever another bwrap is at the path; "" when there is none.
func identity(bwrap string) string {
	var st unix.Stat_t
	if err := unix.Stat(bwrap, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d:%d %d.%d", bwrap, st.Dev, st.Ino, st.Ctim.Sec, st.Ctim.Nsec)
}
