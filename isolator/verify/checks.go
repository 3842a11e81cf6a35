package verify

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/profile"
)

// Check is one thing to be looked at from inside.
type Check struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Probe    string   `json:"probe"` // see probes; "" is the ID

	// Allowed says why the profile lifts the check: it is still carried out,
	// and what was found is information.
	Allowed string `json:"allowed,omitempty"`
	Key     string `json:"key,omitempty"`
	Hint    string `json:"hint,omitempty"`

	Places []Place  `json:"places,omitempty"`
	Names  []string `json:"names,omitempty"`
	Want   string   `json:"want,omitempty"`
}

// Place is a box path, and what is known about it.
type Place struct {
	Path string    `json:"path"`
	Kind host.Kind `json:"kind,omitempty"` // on the host
	ID   host.ID   `json:"id,omitzero"`    // of what the host has there
	Mode string    `json:"mode,omitempty"` // as the plan mounts it: ro, rw, tmpfs, empty; "own" is not the ID, "kept" cannot be written
}

// Subject is what a box was asked to be.
type Subject struct {
	Config profile.RunConfig
	Facts  host.Facts
	Staged plan.Staged
	Plan   plan.Plan // what came of them, and is in force in the box
}

// nestedKey is the allow key for boxes that make containers.
const nestedKey = "nested-user-ns"

// configKey is the allow key for configuration of agents in a project.
const configKey = "project-config"

// Checks returns the built-in checks for a box, in the order they are made.
func Checks(s Subject) []Check {
	c := &checker{Subject: s, allowed: map[string]bool{}, table: plan.Places(s.Config, s.Facts)}
	for _, k := range s.Config.Allow {
		c.allowed[k] = true
	}
	list := slices.Concat(c.privileges(), c.filesystem(), c.planned(), c.git(), c.hiding(),
		c.environment(), c.network(), c.rest())
	for i := range list {
		ch := &list[i]
		ch.Probe = cmp.Or(ch.Probe, ch.ID)
		if ch.Allowed != "" { // then it is information
			ch.Severity = Info
		}
		seen := map[Place]bool{}
		ch.Places = slices.DeleteFunc(ch.Places, func(p Place) bool {
			again := seen[p]
			seen[p] = true
			return again
		})
	}
	return list
}

type checker struct {
	Subject
	allowed map[string]bool
	table   []sensitive.Place
}

// lifted is why the profile lifts a check, where it does.
func lifted(when bool, why string) string {
	if when {
		return why
	}
	return ""
}

func (c *checker) canon(p string) string {
	if info := c.Facts.Look(p); info.Real != "" {
		return info.Real
	}
	return p
}

func (c *checker) place(p string) Place {
	info := c.Facts.Look(p)
	return Place{Path: p, Kind: info.Kind, ID: info.ID}
}

func (c *checker) privileges() []Check {
	nested := lifted(c.allowed[nestedKey], nestedKey)
	landlock := lifted(c.Facts.Landlock < plan.LandlockScopes && c.Config.Landlock != "required", "this kernel cannot")
	list := []Check{
		{
			ID: "no-root", Severity: Critical, What: "the program does not run as root",
			Hint: "run inner as a plain user", Allowed: lifted(c.Facts.UID == 0, "you are root, and so is the box"),
		},
		{
			ID: "no-capabilities", Severity: Critical, Probe: "status",
			What: "the program has no capability", Allowed: nested, Names: []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"},
		},
		{
			ID: "no-new-privileges", Severity: Critical, Probe: "status",
			What: "set-user-id programs give nothing", Names: []string{"NoNewPrivs"}, Want: "1",
		},
		{
			ID: "nested-user-ns", Severity: High, What: "no user namespace can be made inside",
			Key: nestedKey, Allowed: nested,
		},
		{
			ID: "seccomp", Severity: High, Probe: "status",
			What: "a filter of system calls is in force", Names: []string{"Seccomp"}, Want: "2", Allowed: lifted(c.Config.Seccomp == "off", `allow = ["no-seccomp"]`),
		},
		{
			ID: "landlock", Severity: Medium, What: "Landlock confines the program, too",
			Allowed: cmp.Or(landlock, lifted(c.Config.Landlock == "off", `allow = ["no-landlock"]`)),
		},
		{ID: "kernel-keys", Severity: Medium, What: "your keys in the kernel are not listed", Allowed: nested},
		{
			ID: "pid-namespace", Severity: Critical, Probe: "processes",
			What: "processes of the host cannot be seen or signalled", Want: "pid",
		},
		{ID: "mnt-namespace", Severity: Critical, What: "the box has mounts of its own", Want: "mnt"},
		{ID: "ipc-namespace", Severity: High, What: "no shared memory or message queue of the host", Want: "ipc"},
		{ID: "uts-namespace", Severity: Medium, What: "the box has its own host name", Want: "uts"},
		{ID: "cgroup-namespace", Severity: Medium, What: "the box has its own view of control groups", Want: "cgroup"},
	}
	for i := range list {
		if list[i].Want+"-namespace" == list[i].ID && list[i].Probe == "" {
			list[i].Probe = "namespace"
		}
	}
	return list
}

// filesystem is what is judged of all mounts and files at once.
func (c *checker) filesystem() []Check {
	writes := Check{
		ID: "writes-declared", Severity: Critical,
		What: "only what the profile makes writable is writable", Want: c.Staged.RunID,
	}
	devices := Check{ID: "devices", Severity: High, What: "only harmless devices are there"}
	for _, o := range c.Plan.Ops {
		if o.Bind() && o.Writable() {
			writes.Places = append(writes.Places, Place{Path: c.canon(o.Dest)})
		}
		if o.Kind == plan.OpDevice {
			devices.Names = append(devices.Names, o.Dest)
		}
	}
	for _, r := range c.Staged.Repos { // served: see git-own, and the box's store
		writes.Places = append(writes.Places, Place{Path: r.Dir}, Place{Path: filepath.Join(r.Dir, "objects")})
	}
	return []Check{writes, devices}
}

func (c *checker) environment() []Check {
	declared := Check{
		ID: "env-declared", Severity: High,
		What: "only declared variables are set, and the first process shows no others", Names: []string{"PWD"},
	}
	for _, kv := range c.Plan.Env {
		declared.Names = append(declared.Names, envName(kv))
	}
	return []Check{declared}
}

func (c *checker) network() []Check {
	full := c.Config.Network == profile.NetFull
	return []Check{
		{
			ID: "network-policy", Severity: Medium, What: "no network but what the profile allows",
			Hint: "set network = false under [sandbox]", Allowed: lifted(full, "network = true: everything this machine reaches"),
		},
		{ID: "host-loopback", Severity: High, What: "servers of the host on 127.0.0.1 and ::1 cannot be reached", Allowed: lifted(full, "network = true: the host's own servers too")},
		{
			ID: "abstract-sockets", Severity: High,
			What: "abstract sockets of the host cannot be reached", Allowed: plan.AbstractOpen(c.Config, c.Facts),
		},
	}
}

func (c *checker) rest() (list []Check) {
	if p := c.Plan.Limits; p != nil {
		r := p.Rlimits
		ch := Check{
			ID: "limits", Severity: High, What: "limits are in force",
			Want: fmt.Sprintf("%d %d %d %d", r.Files, r.FileSize, r.Pids, p.Disk), Places: []Place{{Path: "/dev/shm"}},
		}
		for _, h := range p.Held {
			ch.Names = append(ch.Names, h.Key+"="+string(h.Engine))
		}
		if !slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool { return paths.Below(m.Dest, "/tmp") }) {
			ch.Places = append(ch.Places, Place{Path: "/tmp"})
		}
		list = append(list, ch)
	}
	if noop := c.Config.Noop; len(noop.Rules) > 0 {
		list = append(list, Check{
			ID: "shims-active", Severity: Medium,
			What: "blocked and rewritten commands are found first", Want: paths.BoxNoop, Names: noop.Commands(),
		})
	}
	return append(list,
		Check{ID: "descriptors", Severity: High, What: "no descriptor but standard input, output and error"},
		Check{ID: "terminal", Severity: Critical, What: "no terminal of yours can be reached or typed into"},
		Check{ID: "keyring", Severity: Medium, What: "the session keyring is the box's own"},
		Check{ID: "marker", Severity: Medium, What: "the box says what it is, and the program cannot change that", Want: fmt.Sprintf("profile=%s\nrun=%s\n", c.Config.Name, c.Staged.RunID)},
	)
}
