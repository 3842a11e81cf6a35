package verify

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// CustomTime is how long one check of [verify.custom] may take.
const CustomTime = 10 * time.Second

// builtinTime is how long everything else may take.
const builtinTime = 30 * time.Second

// maxAnswers limits the answers of the inner half, in bytes.
const maxAnswers = 4 << 20

// ask is the list that the inner half gets.
type ask struct {
	Checks []Check         `json:"checks"`
	Custom []profile.Check `json:"custom"`
	Host   Host            `json:"host"`
}

// answer is one line of the inner half.
type answer struct {
	ID     string `json:"id"`
	Result Result `json:"result"`
	Detail string `json:"detail"`
}

// Host identifies things of the host, so that the inner half can recognise them.
type Host struct {
	Namespaces map[string]string `json:"namespaces"` // name to identity
	Devices    []string          `json:"devices"`    // major:minor of every mounted file system
	Terminals  uint64            `json:"terminals"`  // device of /dev/pts
	Keyring    int               `json:"keyring"`    // of the session, 0 when it cannot be told
	TCP        []string          `json:"tcp"`        // addresses of servers on the loopback
	Abstract   string            `json:"abstract"`   // name of an abstract socket that listens
	UID        int               `json:"uid"`
}

// Exam is the outer half of one verification.
type Exam struct {
	profile string
	ask     ask

	ours, theirs *os.File // the two ends of the line to the inside
	stdio        [2]*os.File
	master       *os.File // of the terminal that stands for the person's
	listeners    []net.Listener
	answers      chan []byte
}

// Open prepares a verification: it starts the servers that the box must not reach,
// and makes the socket for the answers. The caller closes the exam. With terminal set,
// the box gets a terminal that is made for the purpose, as an interactive run gets the
// user's.
func Open(name string, checks []Check, custom []profile.Check, terminal bool) (*Exam, error) {
	e := &Exam{profile: name, ask: ask{Checks: checks, Custom: custom, Host: look()}, answers: make(chan []byte, 1)}
	if err := e.open(terminal); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Exam) open(terminal bool) error {
	if err := e.listen(); err != nil {
		return err
	}
	// The inner half gets its end as standard error, which every way of starting a box passes on unchanged.
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	e.ours, e.theirs = os.NewFile(uintptr(pair[0]), "verify"), os.NewFile(uintptr(pair[1]), "verify")
	if e.master, e.stdio, err = ends(terminal); err != nil {
		return err
	}
	data, err := json.Marshal(e.ask)
	if err != nil {
		return err
	}
	go func() { _, _ = e.ours.Write(append(data, '\n')) }() // a lost question is a missing answer
	go func() {
		data, _ := io.ReadAll(io.LimitReader(e.ours, maxAnswers)) // what came counts
		e.answers <- data
	}()
	return nil
}

// listen opens the servers that the box must not reach.
func (e *Exam) listen() error {
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue // no such protocol here
		}
		e.listeners = append(e.listeners, l)
		e.ask.Host.TCP = append(e.ask.Host.TCP, l.Addr().String())
	}
	e.ask.Host.Abstract = "@inner-verify-" + rand.Text()
	l, err := net.Listen("unix", e.ask.Host.Abstract)
	if err != nil {
		return fmt.Errorf("abstract socket: %w", err)
	}
	e.listeners = append(e.listeners, l)
	return nil
}

// ends returns standard input and output for the box: /dev/null, or a terminal in
// place of the user's, with its master, which shows what was typed into it.
func ends(terminal bool) (master *os.File, stdio [2]*os.File, err error) {
	if !terminal {
		null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
		return nil, [2]*os.File{null, null}, err
	}
	m, slave, err := box.OpenPty(true)
	if err != nil {
		return nil, stdio, err
	}
	f := os.NewFile(uintptr(slave), "terminal")
	return os.NewFile(uintptr(m), "/dev/ptmx"), [2]*os.File{f, f}, nil
}

// look collects what distinguishes the host from a box.
func look() Host {
	h := Host{Namespaces: map[string]string{}, UID: os.Getuid()}
	for _, name := range []string{"pid", "mnt", "ipc", "uts", "cgroup", "net", "user"} {
		if id, err := os.Readlink("/proc/self/ns/" + name); err == nil {
			h.Namespaces[name] = id
		}
	}
	for _, m := range mountinfo() {
		h.Devices = append(h.Devices, m.Device)
	}
	slices.Sort(h.Devices)
	h.Devices = slices.Compact(h.Devices)
	var st unix.Stat_t
	if unix.Stat("/dev/pts", &st) == nil {
		h.Terminals = uint64(st.Dev)
	}
	if id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); err == nil {
		h.Keyring = id
	}
	return h
}

// Plan returns a plan with the inner half in place of the program. Nothing else is
// changed: no mount is needed, because the supervisor is inner and executes itself, in a
// box without /proc by the path that it has there.
func (e *Exam) Plan(p plan.Plan) plan.Plan {
	p.Program, p.Argv = cmp.Or(p.Self, selfExe), []string{insideName, insideWord}
	return p
}

// Options returns the options for launching the changed plan.
func (e *Exam) Options() launch.Options {
	return launch.Options{
		Stdin: e.stdio[0], Stdout: e.stdio[1], Stderr: e.theirs,
		Interactive: e.master != nil, Made: true,
		Timeout: builtinTime + time.Duration(len(e.ask.Custom))*CustomTime,
	}
}

// Report waits for the answers, after the run, and judges them.
func (e *Exam) Report() Report {
	e.theirs.Close()
	e.theirs = nil
	var data []byte
	select {
	case data = <-e.answers:
	case <-time.After(5 * time.Second): // everything in the box is dead
	}
	return newReport(e.profile, judge(e.ask, data))
}

// judge matches answers to checks: one for each, in the same order.
func judge(q ask, data []byte) []Verdict {
	var list []Verdict
	for _, c := range q.Checks {
		list = append(list, Verdict{ID: c.ID, Severity: c.Severity, What: c.What, Hint: c.Hint, Key: c.Key})
	}
	for _, c := range q.Custom {
		list = append(list, Verdict{ID: c.Name, Severity: Severity(c.Severity), What: "[verify.custom] " + c.Cmd})
	}
	answers := json.NewDecoder(bytes.NewReader(data))
	answers.DisallowUnknownFields()
	for i := range list {
		v := &list[i]
		a, err := next(answers, v.ID)
		if err != nil {
			// What follows is out of step, too.
			for j := i; j < len(list); j++ {
				list[j].Result, list[j].Detail = Unknown, "no answer from inside: "+err.Error()
			}
			break
		}
		v.Result, v.Detail = a.Result, a.Detail
		if i < len(q.Checks) && q.Checks[i].Allowed != "" {
			v.Result, v.Detail = Skip, strings.TrimSuffix("allowed ("+q.Checks[i].Allowed+"): "+a.Detail, ": ")
		}
	}
	for i := range list {
		if !list[i].Bad() {
			list[i].Hint = ""
		}
	}
	return list
}

// next reads one answer, which is to be that of a check.
func next(answers *json.Decoder, id string) (a answer, err error) {
	switch err := answers.Decode(&a); {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return a, errors.New("it ended early")
	case err != nil:
		return a, errors.New("not understood")
	case a.ID != id:
		return a, fmt.Errorf("an answer for %q", a.ID)
	case !slices.Contains([]Result{Pass, Fail, Unknown, Skip}, a.Result):
		return a, fmt.Errorf("result %q", a.Result)
	}
	return a, nil
}

// Close closes everything that Open opened.
func (e *Exam) Close() {
	for _, l := range e.listeners {
		l.Close()
	}
	for _, f := range []*os.File{e.ours, e.theirs, e.stdio[0], e.master} {
		if f != nil {
			f.Close()
		}
	}
}
