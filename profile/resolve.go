package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/profile/gitignore"
	"github.com/enr/inner/profile/strict"
)

// Overrides are the flags of one run; the zero value changes nothing.
type Overrides struct {
	Network     *bool
	Interactive *bool
	Mounts      []Mount  // see ParseMount
	Env         []KV     // see ParseEnv; taken literally
	Pass        []string // variables of the caller that pass, see ParseEnv
	Entrypoint  string   // replaces cmd and drops the profile's args
	Args        []string
	ArgsFile    *string // a file's content: one argument
	Extra       []string
	Timeout     *time.Duration // zero is no limit
	Limits      Limits         // field by field
	Workdir     string         // may be relative to Cwd
	Keep        bool           // turns on [output] review
}

// Context is what a profile is resolved against: the only way anything of the
// environment gets into a RunConfig.
type Context struct {
	Home           string
	OtherHome      string // the home that the password file names, when it is not Home; else ""
	InnerHome      string
	UID            int
	Lookup         func(string) (string, bool) // the environment; nil is an empty one
	Cwd            string                      // physical
	Project        string                      // root of the project in force, or ""
	WorkspacesPath string                      // workspaces_path of config.toml, as written
	HideEnv        []string                    // [hide] env of all config.toml files: variables that pass into no box, patterns too
	Hide           []string                    // [hide] paths of the user's config.toml: absolute or ~/…, patterns too
	ProjectHide    []string                    // [hide] paths of the projects' config.toml
	LogPath        string                      // log of the user's config.toml, as written
	ProjectLog     string                      // log of the project's config.toml, as written
	DefaultLimits  Limits                      // of the user's config.toml; the other limits go before them
	ProjectLimits  Limits                      // of the projects' config.toml; those of flags and profile go before them
	Overrides      Overrides
	ForShim        bool   // the call is that of a shim: the program starts in the current folder
	Entered        string // Cwd by the path with links by which the person came, or ""

	// Builtin reports whether a file is a built-in profile that nobody changed; nil for none.
	Builtin func(File) bool

	// MCP finds the MCP servers in the user's settings of the agents of a run; nil for none.
	MCP func(RunConfig) []MCPServer

	// Organisation takes from everything else; nil when this computer has none.
	Organisation *Organisation

	// Written reports whether a box has ever been given this folder, a real path, to
	// write; nil when nothing is known of other runs.
	Written func(dir string) bool
}

// Resolve applies the flags, expands every value and finds the working folder.
// It looks at the disk to see that what is mounted exists, and changes nothing.
//
// The error is strict.Problems when the profile is at fault, with every fault
// in it; or *WorkdirError when only the working folder is. In the latter case
// the RunConfig is filled in, to be shown and not to be run.
func (p *Profile) Resolve(c Context) (RunConfig, error) {
	if !filepath.IsAbs(c.Home) {
		return RunConfig{}, fmt.Errorf("the home folder %q is not an absolute path", c.Home)
	}
	r := newResolver(p, c)
	r.workspaces()
	start := r.baseFolder(p.Scope)
	r.sandbox()
	r.mounts()
	err := r.workdir(start)
	r.zones()
	r.checkMounts()
	r.logFolder()
	r.realPaths()
	r.programs()
	r.env()
	r.entrypoint()
	r.hide()
	r.rest()
	r.copies()
	r.sessionBox()
	r.organisation()
	if len(r.problems) > 0 {
		return RunConfig{}, r.problems.Sorted()
	}
	r.warnings()
	return r.rc, err
}

// resolverOf knows the homes that a run is about.
func resolverOf(c Context) *resolver {
	c.Home = filepath.Clean(c.Home)
	r := &resolver{c: c, home: real(c.Home), above: map[string][]os.FileInfo{}}
	if c.OtherHome != "" {
		r.otherHome = real(filepath.Clean(c.OtherHome))
	}
	if c.InnerHome != "" {
		r.c.InnerHome = filepath.Clean(c.InnerHome)
		r.inner = real(r.c.InnerHome)
	}
	return r
}

func newResolver(p *Profile, c Context) *resolver {
	if c.Lookup == nil {
		c.Lookup = func(string) (string, bool) { return "", false }
	}
	r := resolverOf(c)
	r.s, r.files, c.Home = &p.src, p.Files, r.c.Home
	r.rc = RunConfig{
		Name: p.Name, Path: p.Path, Scope: p.Scope, Description: p.Description, HomeDir: c.Home, Project: c.Project,
	}
	r.rc.Env.Never = c.HideEnv
	if o := c.Organisation; o != nil {
		r.rc.Env.Never = append(slices.Clip(c.HideEnv), o.HideEnv.Texts()...)
		for _, it := range o.HideEnv.Items {
			r.ruled("hide.env", strconv.Quote(it.Text), it.At)
		}
	}
	r.x = expander{home: c.Home, uid: c.UID, lookup: c.Lookup, kept: r.rc.Env.Kept}
	if p.Scope == Remote {
		r.x.lookup = remoteLookup(c.Lookup)
	}
	for _, f := range p.Files {
		if filepath.IsAbs(f.Path) { // not one that was downloaded
			r.rc.Files = append(r.rc.Files, f.Path)
		}
	}
	return r
}

type resolver struct {
	c        Context
	s        *source
	files    []File // of the profile
	x        expander
	rc       RunConfig
	problems strict.Problems

	home, otherHome, inner string // with links resolved

	above map[string][]os.FileInfo // each home and the folders that it lies in, see holds

	toolVariables []string // see toolchains
	named         []named  // host paths that are no mounts
}

func (r *resolver) add(at strict.Pos, key, msg, hint string) {
	r.problems.Add(at, key, msg, hint)
}

// value returns an expanded value, and reports it when its expansion failed.
func (r *resolver) value(at strict.Pos, key string, s string, err error) string {
	if err != nil {
		r.add(at, key, err.Error(), "")
	}
	return s
}

func (r *resolver) workspaces() {
	text, at, key := r.c.WorkspacesPath, strict.Pos{}, "workspaces_path of config.toml"
	if own := r.s.Value("workspaces_path"); own.V != "" {
		text, at, key = own.V, own.At, "workspaces_path"
	}
	if text == "" {
		return
	}
	dir, err := r.x.path(text, tilde)
	r.rc.WorkspacesDir = r.value(at, key, dir, err)
	r.x.workspaces = dir
}

func (r *resolver) sandbox() {
	s, rc := r.s.In("sandbox"), &r.rc
	rc.WorkdirMode = Mode(s("workdir_mode").Or(string(RW)))
	rc.Etc = s("etc").Or("host")
	rc.Home = s("home").Or("host")
	_, system := r.s.Value("mounts").Get(System)
	rc.Base = s("base").Or("host")
	if system {
		rc.System = systemMore()
	}
	if rc.Etc == "minimal" && rc.Base != "minimal" {
		r.add(s("etc").At, "sandbox.etc", `goes with base = "minimal" alone`, "")
	}
	for _, it := range s("network_allow").Items {
		if host, refused := strings.CutPrefix(it.Text, "!"); refused {
			rc.NetworkDeny = append(rc.NetworkDeny, host)
		} else {
			rc.NetworkAllow = append(rc.NetworkAllow, it.Text)
		}
	}
	rc.Backend, rc.Image = s("backend").Or("bwrap"), s("image").V
	r.backend()
	if rc.Base == "minimal" && rc.Home == "host" && (!system || rc.Container()) {
		rc.Home = "isolated" // nothing of it is there but the toolchains and what is mounted
	}

	rc.Network = cmp.Or(networkOf(r.s), NetOff)
	r.networkLists()
	if on := r.c.Overrides.Network; on != nil {
		rc.Network = NetOff
		if *on {
			rc.Network = NetFull
		}
		if *on && len(rc.NetworkDeny) > 0 {
			r.add(s("network_allow").At, "sandbox.network_allow", "the whole network has no exceptions", "")
		}
	}

	rc.Limits = r.limits()
	rc.LimitsLoose = s("limits_required").V == "false" && !r.c.Organisation.limits()

	if slices.Contains(s("home_allow").Texts(), Toolchains) || rc.Base == "minimal" && rc.HidesHome() {
		r.addToolchains()
	}
	r.homeAllow()
}

// limits takes each limit from the flags, else the profile, else a project's
// config.toml, else the user's.
func (r *resolver) limits() Limits {
	flags := r.c.Overrides.Limits
	r.problems = append(r.problems, flags.faults()...)
	asked := flags.Or(LimitsOf(TableOf(&r.s.Doc, "sandbox.limits"))).Or(r.c.ProjectLimits)
	r.rc.AskedLimits = asked
	return r.capped(asked.Or(r.c.DefaultLimits))
}

// hide makes the patterns of [sandbox] hide absolute. They are gitignore's, and
// relative ones those of the working folder.
func (r *resolver) hide() {
	root := r.rc.Workdir
	if m := r.mountOver(root); m != nil && r.rc.WorkdirMode == None && m.Mode != Tmpfs { // a path of the box
		root = filepath.Join(real(m.Source), strings.TrimPrefix(root, m.Dest))
	}
	item := func(p string) strict.Item { return strict.Item{Text: p} }
	more := eachOf(r.c.Hide, item)
	if o := r.c.Organisation; o != nil {
		more = append(more, o.Hide.Items...) // last: nothing shows again what they hide
		for _, it := range o.Hide.Items {
			r.ruled("sandbox.hide", strconv.Quote(it.Text), it.At)
		}
	}
	r.hidePatterns(root, r.s.Value("sandbox.hide").Items, tilde|vars|pattern)
	r.hidePatterns(root, eachOf(r.c.ProjectHide, item), tilde|pattern)
	r.rc.AskedHide = len(r.rc.Hide)
	r.hidePatterns(root, more, tilde|pattern) // what no profile takes out
	r.rc.WrittenHide = len(r.rc.Hide)
}

func (r *resolver) hidePatterns(root string, items []strict.Item, what expands) {
	for _, it := range items {
		written, negated := strings.CutPrefix(it.Text, "!")
		text, err := r.x.expand(written, what)
		switch {
		case negated:
			text = "!" + text
		case strings.HasPrefix(text, "!"): // the value of a variable
			text = `\` + text
		}
		if err == nil {
			text, err = gitignore.Absolute(root, text)
		}
		if err != nil {
			r.add(it.At, "sandbox.hide", err.Error(), "")
			continue
		}
		r.rc.Hide = append(r.rc.Hide, text)
	}
}

func (r *resolver) env() {
	e := r.s.In("env")
	r.rc.Env.InheritAll = e("clearenv").V == "false"
	r.inherit(slices.Concat(e("inherit").Texts(), r.toolVariables)...)
	for _, s := range e("set").Items {
		x := r.x
		x.lookup = func(name string) (string, bool) {
			value, ok := r.x.lookup(name)
			if ok && (LooksSecret(name) || HasLogin(value)) {
				r.rc.Env.SetFrom = append(r.rc.Env.SetFrom, KV{s.Key, name})
			}
			return value, ok
		}
		value, err := x.expand(s.Text, tilde|vars)
		r.rc.Env.Written = append(r.rc.Env.Written, KV{s.Key, s.Text})
		r.rc.Env.Set = append(r.rc.Env.Set, KV{s.Key, r.value(s.At, strict.Join("env", "set", s.Key), value, err)})
		r.settable(s.Key, strict.Join("env", "set", s.Key), s.At)
	}
	r.envFlags()
	for _, it := range e("path_prepend").Items {
		p, err := r.x.path(it.Text, tilde|vars)
		r.rc.Env.PathPrepend = append(r.rc.Env.PathPrepend, r.value(it.At, "env.path_prepend", p, err))
	}
}

// settable reports a variable that is set though the organisation or the user keeps it out of every box.
func (r *resolver) settable(name, key string, at strict.Pos) {
	if r.rc.Env.Kept(name) {
		r.add(at, key, hiddenVariable, "")
	}
}

// envFlags applies --env.
func (r *resolver) envFlags() {
	for _, kv := range r.c.Overrides.Env {
		r.settable(kv.Key, "--env "+kv.Key, strict.Pos{})
		r.rc.Env.Set = put(r.rc.Env.Set, kv)
		r.rc.Env.SetFrom = slices.DeleteFunc(r.rc.Env.SetFrom, func(from KV) bool { return from.Key == kv.Key })
	}
	for _, name := range r.c.Overrides.Pass {
		r.settable(name, "--env "+name, strict.Pos{})
		same := func(kv KV) bool { return kv.Key == name }
		r.rc.Env.Set = slices.DeleteFunc(r.rc.Env.Set, same)
		r.rc.Env.SetFrom = slices.DeleteFunc(r.rc.Env.SetFrom, same)
		r.inherit(name)
	}
}

// inherit lets variables pass, each once.
func (r *resolver) inherit(names ...string) {
	for _, name := range names {
		if !slices.Contains(r.rc.Env.Inherit, name) {
			r.rc.Env.Inherit = append(r.rc.Env.Inherit, name)
		}
	}
}

// put sets a key, in its old place when there is one.
func put(list []KV, kv KV) []KV {
	for i := range list {
		if list[i].Key == kv.Key {
			list[i] = kv
			return list
		}
	}
	return append(list, kv)
}

func (r *resolver) entrypoint() {
	e, o, out := r.s.In("entrypoint"), &r.c.Overrides, &r.rc.Entrypoint
	out.Cmd, out.Args = e("cmd").V, e("args").Texts()
	out.Written = append([]string{out.Cmd}, out.Args...)
	out.Interactive, out.TUI = e("interactive").V != "false", e("tui").On()
	out.CursorFix = e("cursor_fix").V
	if o.Interactive != nil {
		out.Interactive = *o.Interactive
	}
	if o.Entrypoint != "" {
		out.Cmd, out.Args, out.TUI = o.Entrypoint, nil, false // which is said of the profile's own program
		if strings.Contains(out.Cmd, "/") && !filepath.IsAbs(out.Cmd) {
			out.Cmd = filepath.Join(r.c.Cwd, out.Cmd)
		}
		if why := badProgram(out.Cmd); why != "" {
			r.add(strict.Pos{}, "--entrypoint", why, "")
		}
	}
	if out.Cmd == "" {
		out.Cmd = r.shell()
	}
	out.Args = append(out.Args, o.Args...)
	if o.ArgsFile != nil {
		out.Args = append(out.Args, *o.ArgsFile)
	}
	out.Args = append(out.Args, o.Extra...)
}

// shell is $SHELL, or /bin/sh when that is no program.
func (r *resolver) shell() string {
	if sh, ok := r.c.Lookup("SHELL"); ok && filepath.IsAbs(sh) && badProgram(sh) == "" {
		return filepath.Clean(sh)
	}
	return "/bin/sh"
}

// rest takes what depends on nothing else. What does has a step of its own in Resolve.
func (r *resolver) rest() {
	for _, rule := range keyRules() {
		if rule.take != nil {
			rule.take(r)
		}
	}
}

// allow takes the words of [sandbox] allow; those that switch a layer off are not among RunConfig.Allow.
func (r *resolver) allow() {
	s, rc := r.s.In("sandbox"), &r.rc
	rc.Seccomp, rc.Landlock, rc.Proc = "default", s("landlock").Or("auto"), s("proc").Or("auto")
	for _, it := range s("allow").Items {
		switch it.Text {
		case "no-seccomp":
			rc.Seccomp = "off"
		case "no-landlock":
			r.instead(it, "sandbox.landlock", "required")
			rc.Landlock = "off"
		case "host-proc":
			r.instead(it, "sandbox.proc", "fresh", "empty")
			rc.Proc = "bind"
		default:
			rc.Allow = append(rc.Allow, it.Text)
		}
	}
}

// instead reports a layer that one line asks for and another switches off.
func (r *resolver) instead(it strict.Item, key string, asks ...string) {
	if field := r.s.Value(key); slices.Contains(asks, field.V) {
		r.add(it.At, "sandbox.allow", fmt.Sprintf("%q contradicts %s = %q (line %d)", it.Text, key, field.V, field.At.Line), "keep one of them")
	}
}

func (r *resolver) git() {
	if strip, set := r.s.Value("git.strip_sections"), r.s.Value("git.overrides"); strip.Set || set.Set {
		r.rc.Git = &Git{StripSections: strip.Texts(), Overrides: Pairs(*set)}
	}
}

// logFolder is the profile's, else the project's, else the user's, else logs in
// INNER_HOME.
func (r *resolver) logFolder() {
	out, own := &r.rc.Output, r.s.Value("output.log")
	folder := func(text string, at strict.Pos, key string) string {
		dir, err := r.x.path(text, tilde)
		return r.value(at, key, dir, err)
	}
	switch {
	case own.V != "":
		out.Log, out.LogAll = folder(own.V, own.At, "output.log"), true
	case r.c.ProjectLog != "":
		out.Log = folder(r.c.ProjectLog, strict.Pos{}, "log of the project's config.toml")
	case r.c.LogPath != "":
		out.Folder = folder(r.c.LogPath, strict.Pos{}, "log of config.toml")
	case r.c.InnerHome != "":
		out.Folder = filepath.Join(r.c.InnerHome, "logs")
	}
	out.Folder = cmp.Or(out.Log, out.Folder)
}

// hiddenVariable is said of a variable that [hide] env of a config.toml names.
const hiddenVariable = "[hide] env of config.toml keeps this variable out of every box"

// ParseEnv parses the value of --env: KEY=VALUE, the value taken literally, or the
// name of a variable of the caller (pass).
func ParseEnv(arg string) (kv KV, pass bool, err error) {
	key, value, ok := strings.Cut(arg, "=")
	if why := badVariable(key); why != "" {
		return KV{}, false, fmt.Errorf("env %q: %s", key, why)
	}
	return KV{key, value}, !ok, nil
}

// stat looks at a path and follows links; kind is "" when nothing is there.
func stat(path string) (kind string, err error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case st.IsDir():
		return "a folder", nil
	}
	return "a file", nil
}
