// Package limits enforces [sandbox.limits] on a run, with what this host has for it:
//
//	systemd-run  a scope of the user's own service manager, where one answers
//	cgroup       a control group (version 2) that inner makes for the run
//	rlimit       limits of the box's own processes, set before the program starts
//	tmpfs        the size of the file systems in memory that the box can write
//
// Memory and processor time need one of the first two. The number of processes needs one
// of them too, or RLIMIT_NPROC where the kernel counts that for each user namespace
// (Linux 5.14; it never limits root, measured on 6.18). Open files and the size of a file
// are rlimits, and the size of all files in memory is that of the tmpfs.
//
// An engine is chosen by what the host shows ([Probe] reads files and connects to sockets, and
// changes nothing). A limit without an engine is [Missing], and the caller refuses the run. Before
// the program starts, the limits of a control group are read back and compared ([Open]).
//
// The disk below a writable mount is not limited, and neither is the network. The kernel does not
// count what RLIMIT_NPROC refuses, so a run does not report at its end that such a limit was
// reached.
package limits

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/visible"
)

// Values are limits as numbers; zero is no limit.
type Values struct {
	Memory   uint64 // bytes, of all processes of the box, swap included
	CPU      uint64 // thousandths of a processor
	Pids     uint64 // processes and threads
	Files    uint64 // open descriptors of a process
	FileSize uint64 // bytes
	Disk     uint64 // bytes, of each tmpfs
}

// Engine names what enforces a limit.
type Engine string

// The engines, in the order they are preferred.
const (
	Systemd Engine = "systemd-run"
	Cgroup  Engine = "cgroup"
	Rlimit  Engine = "rlimit"
	Tmpfs   Engine = "tmpfs"
)

// Own is added to a limit of processes in a control group: so many processes and threads beside
// the program's may be inner's own, the two of bwrap and the threads of what inner runs in the box.
const Own = 24

// Plan says how the limits of one run are enforced. It is data; launch carries it out.
type Plan struct {
	Held []Held `json:"held"` // each limit, in the order of the manual

	Group Values `json:"group"` // what a control group enforces, zero for the rest
	// Scope is how bwrap's command line begins when systemd makes the group, and ScopeEnv
	// the environment for that. Scope ends with env(1), which empties the environment again.
	Scope    []string `json:"scope"`
	ScopeEnv []string `json:"scope_env"`
	// Parent is where inner makes the group, and Enable the controllers that
	// must be switched on there. Folder is the group, once it is made.
	Parent string   `json:"parent"`
	Enable []string `json:"enable"`
	Folder string   `json:"-"`

	Rlimits Values `json:"rlimits"` // Files, FileSize and Pids, set in the box
	Disk    uint64 `json:"disk"`    // of each tmpfs
}

// DiskKey is the key of the limit for files: of those in memory (Values.Disk), and of those that
// a box keeps on the disk, which package features measures.
const DiskKey = "disk"

// Held is one limit and its engine.
type Held struct {
	Key    string `json:"limit"`
	Text   string `json:"value"`
	Engine Engine `json:"engine"`
}

// Missing is a limit that nothing on this host enforces, and why.
type Missing struct{ Key, Text, Why string }

// Choose finds an engine for each limit. The plan is nil when there is no limit.
func Choose(v Values, h Host) (*Plan, []Missing) {
	if v == (Values{}) {
		return nil, nil
	}
	p := &Plan{}
	var missing []Missing
	held := func(key, text string, e Engine) { p.Held = append(p.Held, Held{key, text, e}) }

	engine, holds := h.group(controllers(v))
	for _, k := range kinds() {
		n := *k.of(&v)
		switch {
		case n == 0:
		case slices.Contains(holds, k.key):
			*k.of(&p.Group) = n
			held(k.key, k.text(n), engine)
		case k.key == "pids" && h.NprocWhy == "":
			p.Rlimits.Pids = n
			held(k.key, k.text(n), Rlimit)
		case k.key == "pids":
			missing = append(missing, Missing{k.key, k.text(n), h.why() + "; " + h.NprocWhy})
		default:
			missing = append(missing, Missing{k.key, k.text(n), h.why()})
		}
	}
	switch used := controllers(p.Group); {
	case len(used) == 0:
	case engine == Systemd:
		p.Scope, p.ScopeEnv = h.Systemd.words(p.Group), h.Systemd.env()
	default:
		p.Parent, p.Enable = h.Group.Parent, both(used, h.Group.Enable)
	}
	if p.Rlimits.Files = v.Files; v.Files > 0 {
		held("files", number(v.Files), Rlimit)
	}
	if p.Rlimits.FileSize = v.FileSize; v.FileSize > 0 {
		held("file_size", visible.Size(v.FileSize), Rlimit)
	}
	if p.Disk = v.Disk; v.Disk > 0 {
		held(DiskKey, visible.Size(v.Disk), Tmpfs)
	}
	return p, missing
}

// By records that the container engine of this name makes the group of the plan.
func (p *Plan) By(engine string) {
	for i, h := range p.Held {
		if h.Engine == Cgroup {
			p.Held[i].Engine = Engine(engine)
		}
	}
}

// kind is a limit that a control group can hold: its key is also the kernel's name of its controller.
type kind struct {
	key   string
	of    func(*Values) *uint64
	text  func(uint64) string
	files func(uint64) []setting // of the group
	props func(uint64) []string  // of a scope of systemd
}

func kinds() []kind {
	return []kind{
		{
			"memory", func(v *Values) *uint64 { return &v.Memory }, visible.Size[uint64],
			func(n uint64) []setting { return []setting{{"memory.max", n, 1}, {swapFile, 0, 1}} },
			func(n uint64) []string { return []string{"-p", "MemoryMax=" + number(n), "-p", "MemorySwapMax=0"} },
		},
		{
			"cpu", func(v *Values) *uint64 { return &v.CPU }, CPU,
			func(n uint64) []setting { return []setting{{"cpu.max", n * period / 1000, period}} },
			func(n uint64) []string { return []string{"-p", fmt.Sprintf("CPUQuota=%d.%d%%", n/10, n%10)} },
		},
		{
			"pids", func(v *Values) *uint64 { return &v.Pids }, number,
			func(n uint64) []setting { return []setting{{"pids.max", n + Own, 1}} },
			func(n uint64) []string { return []string{"-p", "TasksMax=" + number(n+Own)} },
		},
	}
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// each are those of a list that is made for each limit of a group.
func each[T any](v Values, list func(k kind, n uint64) []T) (out []T) {
	for _, k := range kinds() {
		if n := *k.of(&v); n > 0 {
			out = append(out, list(k, n)...)
		}
	}
	return out
}

// controllers are those that a group needs for these limits.
func controllers(v Values) []string {
	return each(v, func(k kind, _ uint64) []string { return []string{k.key} })
}

// Useful are those of a list of controllers that a limit can need.
func Useful(list []string) []string {
	return both(controllers(Values{Memory: 1, CPU: 1, Pids: 1}), list)
}

// both are the controllers that are in two lists.
func both(a, b []string) (out []string) {
	for _, c := range a {
		if slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}

// group returns the engine that can enforce most of the wanted limits, and all the controllers
// it has. A run has only one group.
func (h Host) group(wanted []string) (Engine, []string) {
	if len(both(wanted, h.Systemd.Holds)) >= len(both(wanted, h.Group.Holds)) {
		return Systemd, h.Systemd.Holds
	}
	return Cgroup, h.Group.Holds
}

// why returns why no group can enforce the limits.
func (h Host) why() string {
	systemd, group := h.Systemd.Why, h.Group.Why
	if systemd == "" {
		systemd = "the service manager holds only " + list(h.Systemd.Holds)
	}
	if group == "" {
		group = fmt.Sprintf("a control group in %s only %s", h.Group.Parent, list(h.Group.Holds))
	}
	return systemd + "; " + group
}

func list(controllers []string) string {
	if len(controllers) == 0 {
		return "nothing"
	}
	return strings.Join(controllers, ", ")
}

// CPU returns thousandths of a processor as text for people: "1.5 processors".
func CPU(thousandths uint64) string {
	if thousandths == 1000 {
		return "1 processor"
	}
	return strconv.FormatFloat(float64(thousandths)/1000, 'f', -1, 64) + " processors"
}
