package verify

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

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
	Probe    string   `json:"probe"` // see probeNamed

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
	Mode string    `json:"mode,omitempty"`
	// Covered means that the profile put something else there.
	Covered bool `json:"covered,omitempty"`
}

// Subject is what a box was asked to be.
type Subject struct {
	Config profile.RunConfig
	Facts  host.Facts
	Staged plan.Staged
}

// nestedKey is the allow key for boxes that make containers.
const nestedKey = "nested-user-ns"

// configKey is the allow key for configuration of agents in a project.
const configKey = "project-config"

// Checks returns the built-in checks for a box, in the order they are made. It
// is pure.
func Checks(s Subject) []Check {
	c := &checker{Subject: s, allowed: map[string]bool{}, table: plan.Places(s.Config, s.Facts)}
	for _, k := range s.Config.Allow {
		c.allowed[k] = true
	}
	for _, part := range []func(){
		c.privileges, c.namespaces, c.filesystem, c.grants, c.protection, c.hiding, c.environment, c.network, c.rest,
	} {
		part()
	}
	for i := range c.list {
		c.list[i].Places = once(c.list[i].Places)
	}
	return c.list
}

// once leaves out repeated places.
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
	parts   []string // files that are allowed alone
	list    []Check
}

func (c *checker) add(id string, sev Severity, probe, what string) *Check {
	c.list = append(c.list, Check{ID: id, Severity: sev, Probe: probe, What: what})
	return &c.list[len(c.list)-1]
}

// lift makes a check information when the profile grants what it is about.
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
	ch.lift(c.Config.Seccomp == "off", `seccomp = "off"`)
	ch = c.add("landlock", Medium, "landlock", "Landlock confines the program, too")
	ch.lift(c.Config.Landlock == "off", `landlock = "off"`)
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

func (c *checker) filesystem() {
	ch := c.add("usr-readonly", Critical, "read-only", "the system cannot be changed")
	for _, p := range []string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/opt", "/var", "/sys"} {
		ch.Places = append(ch.Places, Place{Path: p})
	}
	ch = c.add("writes-declared", Critical, "writes-declared", "only what the profile makes writable is writable")
	ch.Places, ch.Want = c.writable(), c.Staged.RunID
	ch = c.add("proc-sys", High, "read-only", "kernel settings cannot be changed")
	ch.Places = []Place{{Path: "/proc/sys"}}
	ch.lift(c.allowed[nestedKey], nestedKey)
	if c.Facts.UID == 0 {
		for _, p := range []string{"/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs"} {
			if c.Facts.Paths[p].Kind != host.Missing && c.Facts.Paths[p].Kind != "" {
				ch.Places = append(ch.Places, Place{Path: p})
			}
		}
	}
	ch = c.add("tmp-private", High, "own", "/tmp, /var/tmp and /run are the box's own")
	for _, p := range []string{"/tmp", "/var/tmp", "/run"} {
		if p != "/var/tmp" || c.Facts.Paths[p].Kind == host.Dir && c.canon(p) == p {
			ch.Places = append(ch.Places, Place{Path: p})
		}
	}
	ch = c.add("devices", High, "devices", "only harmless devices are there")
	if c.allowed[nestedKey] {
		ch.Names = []string{"/dev/net/tun", "/dev/fuse"}
	}
	c.home()
}

func (c *checker) home() {
	ch := c.add("home-isolated", High, "home-isolated", "the home holds only what the profile puts there")
	ch.Want = c.canon(c.Facts.Home)
	ch.lift(c.Config.Home != "isolated", `home = "host": the home can be read, less what is hidden`)
	if c.Config.Home != "isolated" {
		return
	}
	add := func(p string) {
		for _, q := range []string{p, c.canon(p)} {
			if paths.Below(ch.Want, q) {
				ch.Places = append(ch.Places, Place{Path: q})
			}
		}
	}
	for _, p := range c.Config.HomeAllow {
		add(p)
	}
	// The program, by its name and with the package it belongs to.
	add(c.Staged.Program)
	for _, m := range c.Config.Mounts {
		add(m.Dest)
	}
	add(c.Config.Workdir)
	for _, b := range c.Staged.Binds {
		add(b.Box)
	}
	for _, own := range c.Facts.InnerHomes() {
		add(own)
	}
	for _, r := range c.table {
		if c.allowed[r.Key] {
			for _, p := range r.At {
				add(p)
			}
		}
	}
	if c.allowed[nestedKey] {
		add(filepath.Join(c.Facts.Home, ".local/share/containers"))
		add(filepath.Join(c.Facts.Home, ".cache/containers"))
	}
}

// writable are the box paths that the profile makes writable.
func (c *checker) writable() []Place {
	var out []Place
	add := func(p string) { out = append(out, Place{Path: c.canon(p)}) }
	if c.Config.WorkdirMode == profile.RW || c.Config.WorkdirMode == profile.SafeRW {
		add(c.Config.Workdir)
	}
	for _, m := range c.Config.Mounts {
		if m.Mode == profile.RW || m.Mode == profile.SafeRW {
			add(m.Dest)
		}
	}
	for _, b := range slices.Concat(c.Staged.Binds, c.Staged.BoxGit) {
		if b.Write {
			add(b.Box)
		}
	}
	return out
}

// grants looks whether what was granted is there, as it was granted: a box that
// lacks it would be safe, and not what was asked for.
func (c *checker) grants() {
	ch := c.add("workdir", High, "mounts", "the working folder is mounted as declared")
	if c.Config.WorkdirMode != profile.None {
		p := c.place(c.Config.Workdir)
		p.Path, p.Mode = c.canon(c.Config.Workdir), string(c.Config.WorkdirMode)
		for _, m := range c.Config.Mounts {
			if c.canon(m.Dest) == p.Path { // a mount of the profile wins
				p.ID, p.Mode = c.Facts.Paths[m.Source].ID, string(m.Mode)
			}
		}
		ch.Places = []Place{p}
	}
	ch = c.add("mounts", High, "mounts", "every mount is there, as declared")
	for i, m := range c.Config.Mounts {
		later := c.Config.Mounts[i+1:]
		if slices.ContainsFunc(later, func(o profile.Mount) bool { return c.canon(o.Dest) == c.canon(m.Dest) }) {
			continue // the later of two wins
		}
		ch.Places = append(ch.Places, Place{Path: c.canon(m.Dest), Kind: c.Facts.Paths[m.Source].Kind, ID: c.Facts.Paths[m.Source].ID, Mode: string(m.Mode)})
	}
	c.dropEmpty()
	if c.Config.Home == "isolated" {
		ch = c.add("home-allow", Medium, "mounts", "what the home shows is there, and cannot be changed")
		for _, p := range c.Config.HomeAllow {
			if place := c.place(p); place.Kind == host.File || place.Kind == host.Dir {
				place.Path, place.Mode = c.canon(p), "ro"
				ch.Places = append(ch.Places, place)
			}
		}
		c.dropEmpty()
	}
	ch = c.add("clones", High, "clones", "the program works on copies of its settings")
	for _, b := range c.Staged.Binds {
		if b.Write {
			p := c.place(b.Box)
			p.Path = c.canon(b.Box)
			ch.Places = append(ch.Places, p)
		}
	}
	c.dropEmpty()
}

// dropEmpty takes back the last check when there is nothing to look at.
func (c *checker) dropEmpty() {
	if len(c.list[len(c.list)-1].Places) == 0 {
		c.list = c.list[:len(c.list)-1]
	}
}

func (c *checker) protection() {
	ch := c.add("inner-protected", Critical, "protected", "profiles of the project cannot be changed")
	roots := []string{c.Config.Project, c.Config.Workdir}
	for _, m := range c.Config.Mounts {
		roots = append(roots, m.Source)
	}
	for _, root := range roots {
		dir := filepath.Join(root, ".inner")
		if root == "" || c.Facts.Paths[dir].Kind != host.Dir {
			continue
		}
		for _, box := range c.shown(dir) {
			ch.Places = append(ch.Places, Place{Path: box, Kind: host.Dir}, Place{Path: filepath.Join(box, "profiles"), Kind: host.Dir}, Place{Path: filepath.Join(box, "config.toml"), Kind: host.File})
		}
	}
	for _, p := range c.Config.Files { // also one that lies elsewhere, and was named by hand
		for _, box := range c.shown(p) {
			ch.Places = append(ch.Places, Place{Path: box, Kind: host.File})
		}
	}
	ch = c.add("inner-home", Critical, "inner-home", "inner's own folder is empty and read-only")
	for _, own := range append(c.Facts.InnerHomes(), c.Facts.StageBase, c.Config.Output.Folder) {
		if own != "" && c.Facts.Paths[own].Kind == host.Dir {
			ch.Places = append(ch.Places, Place{Path: c.canon(own)})
		}
	}
	c.git()
	c.pinned()
	ch = c.add("agent-config", High, "protected", "what editors and agents on the host obey in a project cannot be changed")
	ch.Key = configKey
	ch.lift(c.allowed[configKey], configKey)
	for _, p := range plan.LaterPlaces(c.Config, c.Facts) {
		for _, box := range c.shown(p) {
			ch.Places = append(ch.Places, Place{Path: box, Mode: "exists"})
		}
	}
	ch = c.add("startup-files", High, "protected", "what your shell reads at its start cannot be changed")
	for _, p := range plan.StartupFiles(c.Config, c.Facts) {
		ch.Places = append(ch.Places, Place{Path: c.canon(p), Kind: c.Facts.Paths[p].Kind})
	}
}

// pinned wants every folder between something writable and something protected
// in it to be a mount point: moved away, it would leave its protection behind.
func (c *checker) pinned() {
	var targets []string
	for _, r := range c.table {
		if !c.allowed[r.Key] && !r.Part {
			for _, p := range r.At {
				if k := c.Facts.Paths[p].Kind; k != host.Missing && k != host.Denied && k != "" {
					targets = append(targets, p)
				}
			}
		}
	}
	targets = append(append(targets, plan.StartupFiles(c.Config, c.Facts)...), plan.LaterPlaces(c.Config, c.Facts)...)
	for _, m := range c.Config.Mounts {
		if dir := filepath.Join(m.Source, ".inner"); c.Facts.Paths[dir].Kind == host.Dir {
			targets = append(targets, dir)
		}
	}
	targets = append(targets, c.Staged.GitStays...)
	for _, b := range c.Staged.BoxGit {
		if b.Write {
			targets = append(targets, b.Box)
		}
	}
	ch := c.add("pinned", High, "mount-points", "what is protected cannot be moved out of its protection")
	for _, area := range c.areas() {
		if area.mode != profile.RW {
			continue
		}
		for _, t := range targets {
			rest, ok := strings.CutPrefix(c.canon(t), area.source+"/")
			if !ok {
				continue
			}
			for dir := path.Dir(rest); dir != "."; dir = path.Dir(dir) {
				ch.Places = append(ch.Places, Place{Path: filepath.Join(area.dest, dir)})
			}
		}
	}
	c.dropEmpty()
}

// area is a part of the host that is mounted.
type area struct {
	source, dest string // canonical
	mode         profile.Mode
}

func (c *checker) areas() []area {
	out := []area{{c.canon(c.Config.Workdir), c.canon(c.Config.Workdir), c.Config.WorkdirMode}}
	for _, m := range c.Config.Mounts {
		a := area{c.canon(m.Source), c.canon(m.Dest), m.Mode}
		out = slices.DeleteFunc(out, func(o area) bool { return o.dest == a.dest }) // the later of two wins
		out = append(out, a)
	}
	return out
}

// git wants the git directories that the box writes to be others than those git outside
// obeys, and everything of the latter that the box sees unwritable.
func (c *checker) git() {
	own := Check{ID: "git-own", Severity: Critical, Probe: "not-the-hosts", What: "git in the box works on git directories of the box's own"}
	host := Check{ID: "git-host", Severity: Critical, Probe: "protected", What: "what git outside obeys or reads cannot be changed"}
	pinned := Check{ID: "git-pinned", Severity: High, Probe: "mount-points", What: "git directories cannot be moved away"}
	for _, b := range c.Staged.BoxGit {
		if b.Write {
			own.Places = append(own.Places, Place{Path: b.Box, ID: c.Facts.Paths[b.Box].ID})
			pinned.Places = append(pinned.Places, Place{Path: b.Box})
		} else {
			host.Places = append(host.Places, Place{Path: b.Box})
		}
	}
	for _, p := range c.Staged.GitStays {
		for _, box := range c.shown(p) {
			host.Places = append(host.Places, Place{Path: box})
		}
	}
	for _, ch := range []Check{own, host, pinned} {
		ch.lift(c.Config.GitDir == "rw", `git_dir = "rw"`)
		c.list = append(c.list, ch)
	}
}

// shown returns the box paths at which the mounts of the profile show a host
// path itself; a copy does not.
func (c *checker) shown(p string) []string { return c.shownIn(p, profile.RW, profile.RO) }

func (c *checker) shownIn(p string, modes ...profile.Mode) []string {
	var out []string
	for _, a := range c.areas() {
		if !slices.Contains(modes, a.mode) {
			continue
		}
		if rest, err := filepath.Rel(a.source, c.canon(p)); err == nil && filepath.IsLocal(rest) {
			out = append(out, filepath.Join(a.dest, rest))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (c *checker) hiding() {
	at := map[string]int{}
	for _, r := range c.table {
		i, seen := at[r.Key]
		if !seen {
			i = len(c.list)
			at[r.Key] = i
			ch := c.add(r.Key, resourceSeverity(r.Key), "hidden", "hidden: "+r.What)
			ch.Hint = "check the mounts of the profile: inner run --dry-run"
			if slices.Contains(profile.AllowKeys(), r.Key) {
				ch.Key = r.Key
			}
			ch.lift(c.allowed[r.Key], "allow")
		}
		ch := &c.list[i]
		for _, p := range r.At {
			if c.lifted(p) || c.Config.Home == "host" && slices.Contains(c.Facts.Homes(), p) {
				continue // the second is the user's own
			}
			place := c.place(p)
			place.Covered = c.covered(p)
			ch.Places = append(ch.Places, place)
			if real := c.canon(p); real != p {
				place.Path = real
				ch.Places = append(ch.Places, place)
			}
		}
		if r.Part && c.allowed[r.Key] { // shown alone, in a folder that stays hidden
			c.parts = append(c.parts, r.At...)
		}
	}
	for i := range c.list {
		for _, p := range c.parts {
			if c.list[i].Probe == "hidden" && slices.ContainsFunc(c.list[i].Places, func(q Place) bool { return q.Path == filepath.Dir(p) }) {
				c.list[i].Names = append(c.list[i].Names, filepath.Base(p))
			}
		}
	}
	c.waysThrough()
	ch := c.add("hidden-paths", High, "hidden", "hidden: sandbox.hide")
	if h := c.Facts.Hide; h != nil {
		for _, p := range h.Paths {
			ch.Places = append(ch.Places, c.place(p))
		}
	}
	c.dropEmpty()
	ch = c.add("listening-sockets", High, "sockets", "nothing that listens on the host in the file system can be reached")
	for _, s := range c.Facts.Sockets {
		if !c.grantedSocket(s) {
			ch.Places = append(ch.Places, Place{Path: s, Kind: host.Socket})
		}
	}
}

// waysThrough lets a hidden folder show the one entry that leads to a declared
// place: the folder that holds all homes is empty but for this one.
func (c *checker) waysThrough() {
	declared := append(plan.ToolPlaces(), c.Config.Workdir, c.Staged.Program)
	declared = append(append(declared, c.Facts.Homes()...), c.Config.HomeAllow...)
	for _, m := range c.Config.Mounts {
		declared = append(declared, m.Dest)
	}
	for _, b := range c.Staged.Binds {
		declared = append(declared, b.Box)
	}
	for _, r := range c.table {
		if c.allowed[r.Key] {
			declared = append(declared, r.At...)
		}
	}
	for i := range c.list {
		ch := &c.list[i]
		if ch.Probe != "hidden" {
			continue
		}
		for _, place := range ch.Places {
			for _, d := range declared {
				for _, p := range []string{d, c.canon(d)} {
					if rest, ok := strings.CutPrefix(p, place.Path+"/"); ok {
						first, _, _ := strings.Cut(rest, "/")
						ch.Names = append(ch.Names, first)
					}
				}
			}
		}
		slices.Sort(ch.Names)
		ch.Names = slices.Compact(ch.Names)
	}
}

// lifted reports whether a place of the table lies in one that the profile
// allows under another key.
func (c *checker) lifted(p string) bool {
	return slices.ContainsFunc(c.table, func(r sensitive.Place) bool {
		return c.allowed[r.Key] && slices.ContainsFunc(r.At, func(q string) bool { return q != p && paths.Below(q, p) })
	})
}

// covered reports whether the profile itself put something at a host path that
// is hidden: a clone, or a mount from elsewhere.
func (c *checker) covered(p string) bool {
	p = c.canon(p)
	for _, b := range c.Staged.Binds {
		if box := c.canon(b.Box); paths.Below(p, box) || paths.Below(box, p) {
			return true
		}
	}
	return slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool {
		return m.Mode != profile.Tmpfs && paths.Below(c.canon(m.Dest), p) && c.canon(m.Source) != c.canon(m.Dest)
	})
}

func (c *checker) grantedSocket(s string) bool {
	for _, r := range c.table {
		if c.allowed[r.Key] && slices.ContainsFunc(r.At, func(p string) bool { return paths.Below(c.canon(p), s) }) {
			return true
		}
	}
	return slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool { return c.canon(m.Source) == s })
}

// resourceSeverity is what a visible resource of the table means.
func resourceSeverity(key string) Severity {
	switch key {
	case "git-credentials":
		return Critical
	case "docker-socket", "netrc", "bash-history", "zsh-history", "fish-history", "repl-history":
		return Medium
	}
	return High
}

func (c *checker) environment() {
	ch := c.add("env-declared", High, "env-declared", "only declared variables are set")
	ch.Names = c.declared()
	ch = c.add("env-secrets", Medium, "env-secrets", "no variable looks like a secret (by its name, so a hint only)")
	ch.Names = c.Config.Env.Inherit
	for _, kv := range c.Config.Env.Set {
		ch.Names = append(ch.Names, kv.Key)
	}
	for _, kv := range c.Staged.Env {
		ch.Names = append(ch.Names, kv.Key)
	}
	c.add("environ-of-init", High, "environ-of-init", "the first process shows no variables of yours")
}

// declared are the names of all variables the box may have.
func (c *checker) declared() []string {
	names := append(plan.ProxyVariables(c.Config), "HOME", "USER", "LOGNAME", "TERM", "PATH", "PWD", "INNER_SANDBOX", "INNER_RUN_ID")
	for name := range c.Facts.Env {
		if slices.Contains(c.Config.Env.Inherit, name) {
			names = append(names, name)
			continue
		}
		pattern := c.Config.Env.InheritAll || slices.ContainsFunc(c.Config.Env.Inherit, func(p string) bool {
			ok, err := path.Match(p, name)
			return ok && err == nil
		})
		if pattern && !profile.LooksSecret(name) && !slices.Contains(waysOut(), name) {
			names = append(names, name)
		}
	}
	for _, kv := range c.Config.Env.Set {
		names = append(names, kv.Key)
	}
	for _, kv := range c.Staged.Env {
		names = append(names, kv.Key)
	}
	if c.allowed[nestedKey] {
		names = append(names, "XDG_RUNTIME_DIR", "container", "CONTAINERS_STORAGE_CONF", "CONTAINERS_CONF_OVERRIDE")
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// waysOut are variables that no pattern passes: they name a socket of the host,
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
	if len(c.Config.Noop.Rules) > 0 {
		ch := c.add("shims-active", Medium, "shims-active", "blocked and rewritten commands are found first")
		ch.Want = paths.BoxNoop
		ch.Names = c.Config.Noop.Commands()
	}
	if c.Config.Noop.Mode == "hard" {
		ch := c.add("programs-covered", Medium, "programs-covered", "blocked programs are covered, by any path")
		ch.Want = paths.BoxNoop
		for _, p := range c.Facts.Programs {
			if slices.Contains(c.Config.Noop.Commands(), p.Name) {
				for _, f := range p.Files {
					ch.Places = append(ch.Places, Place{Path: f, Mode: p.Name, ID: c.Facts.Paths[f].ID})
				}
			}
		}
	}
	c.add("descriptors", High, "descriptors", "no descriptor but standard input, output and error")
	c.add("terminal", Critical, "terminal", "no terminal of yours can be reached or typed into")
	c.add("keyring", Medium, "keyring", "the session keyring is the box's own")
	ch := c.add("marker", Medium, "marker", "the box says what it is, and the program cannot change that")
	ch.Want = fmt.Sprintf("profile=%s\nrun=%s\n", c.Config.Name, c.Staged.RunID)
	if plan, _ := plan.Limits(c.Config, c.Facts); plan != nil {
		ch = c.add("limits", High, "limits", "limits are in force")
		for _, h := range plan.Held {
			ch.Names = append(ch.Names, h.Key+"="+string(h.Engine))
		}
		r := plan.Rlimits
		ch.Want = fmt.Sprintf("%d %d %d %d", r.Files, r.FileSize, r.Pids, plan.Disk)
		ch.Places = []Place{{Path: "/dev/shm"}}
		if !slices.ContainsFunc(c.Config.Mounts, func(m profile.Mount) bool { return paths.Below(m.Dest, "/tmp") }) {
			ch.Places = append(ch.Places, Place{Path: "/tmp"})
		}
	}
}
