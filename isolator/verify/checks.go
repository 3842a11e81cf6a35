package verify

import (
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
	Probe    string   `json:"probe"` // see probes

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
	Mode string    `json:"mode,omitempty"` // ro, rw, tmpfs: a mount of the plan
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
	for _, part := range []func(){
		c.privileges, c.namespaces, c.filesystem, c.planned, c.git, c.hiding, c.environment, c.network, c.rest,
	} {
		part()
	}
	for i := range c.list {
		c.list[i].Places = once(c.list[i].Places)
	}
	return c.list
}

// once returns the places without repetitions.
func once(list []Place) []Place {
	seen := map[Place]bool{}
	return slices.DeleteFunc(list, func(p Place) bool {
		again := seen[p]
		seen[p] = true
		return again
	})
}

type checker struct {
	Subject
	allowed map[string]bool
	table   []sensitive.Place
	list    []Check
}

func (c *checker) add(id string, sev Severity, probe, what string) *Check {
	c.list = append(c.list, Check{ID: id, Severity: sev, Probe: probe, What: what})
	return &c.list[len(c.list)-1]
}

// lift lowers a check to Info when the profile grants what it is about.
func (ch *Check) lift(when bool, why string) {
	if when {
		ch.Allowed, ch.Severity = why, Info
	}
}

func (c *checker) canon(p string) string {
	if info, ok := c.Facts.Paths[p]; ok && info.Real != "" {
		return info.Real
	}
	return p
}

func (c *checker) place(p string) Place {
	info := c.Facts.Paths[p]
	return Place{Path: p, Kind: info.Kind, ID: info.ID}
}

func (c *checker) privileges() {
	ch := c.add("no-root", Critical, "no-root", "the program does not run as root")
	ch.Hint = "run inner as a plain user"
	ch.lift(c.Facts.UID == 0, "you are root, and so is the box")
	ch = c.add("no-capabilities", Critical, "no-capabilities", "the program has no capability")
	ch.lift(c.allowed[nestedKey], "nested-user-ns")
	c.add("no-new-privileges", Critical, "no-new-privileges", "set-user-id programs give nothing")
	ch = c.add("nested-user-ns", High, "nested-user-ns", "no user namespace can be made inside")
	ch.Key = nestedKey
	ch.lift(c.allowed[nestedKey], nestedKey)
	ch = c.add("seccomp", High, "seccomp", "a filter of system calls is in force")
	ch.Want = c.Config.Seccomp
	ch.lift(c.Config.Seccomp == "off", `allow = ["no-seccomp"]`)
	ch = c.add("landlock", Medium, "landlock", "Landlock confines the program, too")
	ch.lift(c.Config.Landlock == "off", `allow = ["no-landlock"]`)
	ch.lift(c.Facts.Landlock < plan.LandlockScopes && c.Config.Landlock != "required", "this kernel cannot")
	ch = c.add("kernel-keys", Medium, "kernel-keys", "your keys in the kernel are not listed")
	ch.lift(c.allowed[nestedKey], nestedKey)
}

func (c *checker) namespaces() {
	ns := func(name string, sev Severity, what string) *Check {
		ch := c.add(name+"-namespace", sev, "namespace", what)
		ch.Want = name
		return ch
	}
	ns("pid", Critical, "processes of the host cannot be seen or signalled").Probe = "processes"
	ns("mnt", Critical, "the box has mounts of its own")
	ns("ipc", High, "no shared memory or message queue of the host")
	ns("uts", Medium, "the box has its own host name")
	ns("cgroup", Medium, "the box has its own view of control groups")
}

// filesystem adds what is judged of all mounts and files at once.
func (c *checker) filesystem() {
	ch := c.add("writes-declared", Critical, "writes-declared", "only what the profile makes writable is writable")
	ch.Places, ch.Want = c.writable(), c.Staged.RunID
	ch = c.add("devices", High, "devices", "only harmless devices are there")
	ch.Names = c.devices()
	ch = c.add("home-isolated", High, "home-isolated", "the home holds only what the profile puts there")
	ch.Want = c.canon(c.Facts.Home)
	ch.lift(!c.Config.HidesHome(), `home = "host": the home can be read, less what is hidden`)
	ch.lift(c.Config.Home == "own", `home = "own": it also holds what earlier runs left there`)
	known := c.Facts.InnerHomes()
	for _, o := range c.Plan.Ops {
		known = append(known, o.Dest)
	}
	if c.allowed[nestedKey] {
		known = append(known, filepath.Join(c.Facts.Home, ".local/share/containers"), filepath.Join(c.Facts.Home, ".cache/containers"))
	}
	for _, p := range append(known, c.Config.Workdir) {
		for _, q := range []string{p, c.canon(p)} {
			if paths.Below(ch.Want, q) {
				ch.Places = append(ch.Places, Place{Path: q})
			}
		}
	}
}

// writable returns the box paths that the plan makes writable, or a server of git's.
func (c *checker) writable() []Place {
	var out []Place
	for _, o := range c.Plan.Ops {
		if o.Bind() && o.Writable() {
			out = append(out, Place{Path: c.canon(o.Dest)})
		}
	}
	for _, r := range c.Staged.Repos {
		out = append(out, Place{Path: r.Dir}, Place{Path: filepath.Join(r.Dir, "objects")}) // see git-own, and the box's store
	}
	return out
}

// devices are the box paths at which a run may have a device of this computer, or a folder of them.
func (c *checker) devices() (nodes []string) {
	for _, o := range c.Plan.Ops {
		if o.Kind == plan.OpDevice {
			nodes = append(nodes, o.Dest)
		}
	}
	return nodes
}

func (c *checker) environment() {
	ch := c.add("env-declared", High, "env-declared", "only declared variables are set")
	ch.Names = c.declared()
	ch = c.add("env-secrets", Medium, "env-secrets", "no variable looks like a secret (by its name, so a hint only)")
	ch.Names = c.Config.Env.Inherit
	for _, kv := range c.Config.Env.Set {
		ch.Names = append(ch.Names, kv.Key)
	}
	ch.Names = append(ch.Names, c.Staged.Variables()...)
	c.add("environ-of-init", High, "environ-of-init", "the first process shows no variables of yours")
}

// declared returns the names of all variables that the box may have.
func (c *checker) declared() []string {
	names := []string{"HOME", "USER", "LOGNAME", "TERM", "PATH", "PWD", "INNER_SANDBOX", "INNER_RUN_ID"}
	if c.Config.Network.ByName() {
		names = append(names, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy", "NODE_USE_ENV_PROXY", "JAVA_TOOL_OPTIONS")
	}
	for _, kv := range slices.Concat(c.Plan.CacheEnv, c.Plan.Set) {
		names = append(names, kv.Key)
	}
	for name := range c.Facts.Env {
		if slices.Contains(c.Config.Env.Inherit, name) {
			names = append(names, name)
			continue
		}
		pattern := c.Config.Env.InheritAll || c.Config.Env.Inherits(name)
		if pattern && !profile.LooksSecret(name) && !slices.Contains(waysOut(), name) {
			names = append(names, name)
		}
	}
	for _, kv := range c.Config.Env.Set {
		names = append(names, kv.Key)
	}
	names = append(names, c.Staged.Variables()...)
	if c.allowed[nestedKey] {
		names = append(names, "XDG_RUNTIME_DIR", "container", "CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF_OVERRIDE")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// waysOut returns variables that no pattern passes: they name a socket of the host,
// or make programs run code.
func waysOut() []string {
	return []string{
		"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "TMUX", "STY", "NVIM", "DOCKER_HOST", "DISPLAY", "WAYLAND_DISPLAY",
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV", "PROMPT_COMMAND", "PYTHONSTARTUP", "NODE_OPTIONS", "GIT_CONFIG_GLOBAL",
	}
}

func (c *checker) network() {
	full := c.Config.Network == profile.NetFull
	ch := c.add("network-policy", Medium, "network-policy", "no network but what the profile allows")
	ch.Hint = "set network = false under [sandbox]"
	ch.lift(full, "network = true: everything this machine reaches")
	ch = c.add("host-loopback", High, "host-loopback", "servers of the host on 127.0.0.1 and ::1 cannot be reached")
	ch.lift(full, "network = true: the host's own servers too")
	ch = c.add("abstract-sockets", High, "abstract-sockets", "abstract sockets of the host cannot be reached")
	open := plan.AbstractOpen(c.Config, c.Facts)
	ch.lift(open != "", open)
}

func (c *checker) rest() {
	c.limits()
	c.noop()
	c.add("descriptors", High, "descriptors", "no descriptor but standard input, output and error")
	c.add("terminal", Critical, "terminal", "no terminal of yours can be reached or typed into")
	c.add("keyring", Medium, "keyring", "the session keyring is the box's own")
	ch := c.add("marker", Medium, "marker", "the box says what it is, and the program cannot change that")
	ch.Want = fmt.Sprintf("profile=%s\nrun=%s\n", c.Config.Name, c.Staged.RunID)
}

// limits reads the limits that are in force in the box.
func (c *checker) limits() {
	p, _ := plan.Limits(c.Config, c.Facts)
	if p == nil {
		return
	}
	r := p.Rlimits
	ch := c.add("limits", High, "limits", "limits are in force")
	ch.Want = fmt.Sprintf("%d %d %d %d", r.Files, r.FileSize, r.Pids, p.Disk)
	ch.Places = []Place{{Path: "/dev/shm"}}
	for _, h := range p.Held {
		ch.Names = append(ch.Names, h.Key+"="+string(h.Engine))
	}
	if !slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool { return paths.Below(m.Dest, "/tmp") }) {
		ch.Places = append(ch.Places, Place{Path: "/tmp"})
	}
}

// noop calls what is blocked, by its name.
func (c *checker) noop() {
	if noop := c.Config.Noop; len(noop.Rules) > 0 {
		ch := c.add("shims-active", Medium, "shims-active", "blocked and rewritten commands are found first")
		ch.Want, ch.Names = paths.BoxNoop, noop.Commands()
	}
}
