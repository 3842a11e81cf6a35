package profile

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/profile/strict"
)

// Scope says where a profile came from, and so who vouches for it.
type Scope string

// The scopes of a profile.
const (
	Global Scope = "global" // INNER_HOME/profiles: the user's own, needs no approval
	Local  Scope = "local"  // PROJECT/.inner/profiles: needs approval
	Remote Scope = "remote" // downloaded for one run: a stranger's word, hardened, shown and asked for
	Direct Scope = "file"   // named as ./FILE or an absolute path on the command line: the person's own word
)

// Mode is how a mount behaves inside the box.
type Mode string

// The mount modes. Keep and None are only valid for workdir_mode.
const (
	RO     Mode = "ro"
	RW     Mode = "rw"
	SafeRW Mode = "safe-rw"
	Tmpfs  Mode = "tmpfs"
	None   Mode = "none"
	Keep   Mode = "keep" // of the working folder: see RunConfig.Keep
)

// Network is the network_mode of a run.
type Network string

// The network modes.
const (
	NetOff       Network = "off"
	NetFull      Network = "full"
	NetAllowlist Network = "allowlist"
	NetAsk       Network = "ask" // as allowlist, and a person is asked about other hosts
)

// ByName reports whether the box has no network but inner's proxy, which
// decides by the names of hosts.
func (n Network) ByName() bool { return n == NetAllowlist || n == NetAsk }

// RunConfig is a profile after extends, overrides and expansion: intent only,
// no bwrap flag in it. Every path is absolute and clean; nothing in it refers
// to the environment any more.
type RunConfig struct {
	Name        string   // the profile's name
	Path        string   // the file it was read from
	Files       []string // that one, and those it extends
	Scope       Scope
	Description string

	HomeDir string // the user's home folder; for people, who read ~ faster
	Project string // root of the project in force, or ""
	Workdir string // the working folder: a host path, mounted at the same path
	Cwd     string // where the program starts, a box path; Workdir or a folder below it
	Entered string // the same by the path with links by which the person came, or ""

	WorkdirMode   Mode     // RW, RO, Keep or None
	Zones         []string // of the working folder, as the profile has them; each that fits is one of Mounts
	Keep          []string // names in the working folder that outlive a run with mode Keep, as the profile has them
	Dropped       []string // why one of Zones or Keep does not fit, one line each
	Base          string
	Etc           string // "host" or "minimal"
	Home          string // "host", "own" or "isolated"
	HomeAllow     []string
	Hide          []string // patterns for absolute paths, see package gitignore
	Network       Network
	NetworkAllow  []string
	NetworkDeny   []string
	Publish       []Port // of the box, within reach of this computer
	HostPorts     []Port // of this computer, within reach of the box
	Clipboard     bool
	Devices       []string // names of DeviceSets
	Allow         []string // allow keys, validated against AllowKeys
	GitDir        string   // "checked", "ro", "rw"
	Undo          bool     // what the run changes of its working folder can be taken back
	Proc          string   // "auto", "fresh", "bind", "empty"
	Seccomp       string   // "default", "off"
	Landlock      string   // "auto", "required", "off"
	SessionBox    bool     // session = "box": the calls of a session share one box
	Backend       string   // "auto", "bwrap", "podman", "docker"
	Image         string   // of the containers of the last two, by digest; "" for none
	Limits        Limits
	LimitsLoose   bool    // limits_required = false: a limit this host cannot hold is told, and the run starts
	Mounts        []Mount // file order
	Env           Env
	Git           *Git // nil when the profile has no [git]
	Entrypoint    Entrypoint
	Output        Output
	Noop          Noop
	Checks        []Check
	Capabilities  []string
	MCP           []string    // names of the user's MCP servers, as the profile has them; "*" is all
	Servers       []MCPServer // those that they stand for
	Credentials   []Credential
	SyncLogin     bool   // sync_credentials: a token refreshed inside is written back
	WorkspacesDir string // expanded workspaces_path, or ""

	WorkspaceWorkdir bool // entrypoint.workdir uses ${workspaces_path}

	Real         map[string]string // where each host path above led when this was resolved
	Toolchains   []string          // what @toolchains stands for in HomeAllow
	System       []string          // folders of the system that System stands for; nil without it
	Programs     []string          // real paths of what System stands for of the caller's PATH
	AskedHide    int               // how many of Hide the profile and its project ask for; the rest is the user's own
	WrittenHide  int               // how many of Hide are written; a run adds more
	Organisation []Origin          // lines of OrganisationFile that hold here, by the keys they decide about
	AskedLimits  Limits            // those of Limits that they and the flags ask for, as they do
	AskedTimeout time.Duration     // the same of Output.Timeout

	warnings   []strict.Problem
	boxFolders []string // see resolver.boxFolders
}

// Mount is one entry of [mounts], expanded.
type Mount struct {
	Source string // host path
	Dest   string // box path
	Mode   Mode
	File   string // where it was written, for messages
	Line   int

	Key       string // what messages call it: mounts."~/src", --mount "…", or the key of the profile that it comes from
	Zone      bool   // it is a place of the working folder, at itself; one that is covered there is dropped
	Create    bool   // Source is made when it is not there
	Workspace bool   // Dest uses ${workspaces_path} and is made for the run
	Written   string // its key in [mounts], or the flag's value
	Allow     string // the key of the table of resources that hides Source, one file, which the box sees after all
}

// Alone reports whether a mount shows a file, by its real path, that a key of the table of resources hides.
func (rc RunConfig) Alone(key, real string) bool {
	return slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Allow == key && rc.Real[m.Source] == real })
}

// Env is [env], expanded. Order is file order.
type Env struct {
	InheritAll  bool
	Inherit     []string // names and patterns (LC_*)
	Set         []KV
	SetFrom     []KV // a key of Set, and a secret of the caller's that its value is made of
	PathPrepend []string
	Never       []string // patterns of the config.toml files: what passes into no box
	Written     []KV     // Set as the profile has it
}

// Hidden reports whether the value of a variable must not be printed: its name, or
// what it was made of, looks like a secret, or it has a login in it.
func (e Env) Hidden(key, value string) bool {
	return LooksSecret(key) || HasLogin(value) || slices.ContainsFunc(e.SetFrom, func(kv KV) bool { return kv.Key == key })
}

// Kept reports whether a variable is one that passes into no box.
func (e Env) Kept(name string) bool {
	return slices.ContainsFunc(e.Never, func(pattern string) bool { return VariableLike(pattern, name) })
}

// Inherits reports whether inherit names a variable, as it is or by pattern.
func (e Env) Inherits(name string) bool {
	return slices.ContainsFunc(e.Inherit, func(pattern string) bool { return VariableLike(pattern, name) })
}

// VariableLike reports whether a pattern such as LC_* stands for the name of a variable. A
// slash, which the name of a variable may hold, is a character like others.
func VariableLike(pattern, name string) bool {
	if pattern != "" && name != "" && pattern[0] != name[0] && strings.IndexByte(`*?[\`, pattern[0]) < 0 {
		return false // as nearly always
	}
	ok, err := path.Match(pattern, strings.ReplaceAll(name, "/", "\x00"))
	return pattern == name || err == nil && ok
}

// KV is one entry of a table whose order is kept.
type KV struct{ Key, Value string }

// Pairs are the entries of a table of texts, in file order.
func Pairs(t strict.Value) []KV {
	var out []KV
	for _, e := range t.Items {
		out = append(out, KV{e.Key, e.Text})
	}
	return out
}

// Git is [git].
type Git struct {
	StripSections []string
	Overrides     []KV
}

// Entrypoint is what runs. Cmd is as written (a bare name or a path); Args
// already holds the arguments of the command line in their final order.
type Entrypoint struct {
	Cmd         string
	Args        []string
	Written     []string // Cmd and Args as the profile has them
	Interactive bool
	TUI         bool
	CursorFix   string // "", "newlines", "shell"
	History     []string
}

// Output is [output]. Timeout is the longest a run may last; zero is no limit.
type Output struct {
	Summary bool
	Log     string // the folder of records that the profile or its project names, or ""
	Folder  string // the folder of records: Log, or the user's own
	LogAll  bool   // the profile itself names Log: output is kept wherever it goes
	Timeout time.Duration
	Record  bool // an interactive run is recorded as asciicast v2
	Audit   bool // a run leaves one line in the audit log, and no record
	Review  bool // end with a list of what changed in safe-rw copies

	MaxOutput int64 // bytes of each of the two outputs of a call that are kept; 0 is DefaultMaxOutput
}

// Sizes of what a call prints, in bytes, for each of the two outputs.
const (
	DefaultMaxOutput = 1 << 20  // kept when the profile does not say
	MostOutput       = 64 << 20 // that a profile may ask for
)

// Noop is [noop], read into words when the profile was resolved.
type Noop struct {
	Rules []NoopRule // each once; those that block come first
}

// NoopRule is one entry of block or rewrite.
type NoopRule struct {
	Words   []string // the command, and the arguments a call must begin with
	Target  []string // the words that a rewritten call begins with instead; nil: it is blocked
	Message string
}

// String is the one spelling of a rule.
func (r NoopRule) String() string { return strings.Join(r.Words, " ") }

// Check is one entry of [verify.custom] checks.
type Check struct{ Name, Cmd, Severity string }
