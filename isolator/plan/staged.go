package plan

import (
	"fmt"
	"path/filepath"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Repo is a repository that the box shares.
type Repo struct {
	Dir    string // its git directory
	Served bool   // something is mounted over it before the program starts
	Binds  []Bind // what it is made of; places outside of paths.BoxDir are those of the host
}

// Bind is something staged on the host that appears in the box.
type Bind struct {
	Host   string
	Box    string
	Write  bool
	Reason string
}

// Staged is what was prepared on disk for one run.
type Staged struct {
	RunID   string
	Empty   string // host path of an empty read-only file, for masks
	Self    string // host path of the inner binary; only a box without /proc needs it
	Noop    string // host folder of the noop shims, "" when there are none
	Startup string // host folder of NoopStartup, "" without noop shims
	Binds   []Bind
	Parts   []Part            // operations that features add
	Copies  []Copy            // of the safe-rw mounts
	Env     []profile.KV      // of capabilities and history; [env] set wins over it
	Path    map[string]string // folders of PATH that have another name in the box
	Program string            // path of the program, the same on the host and in the box
	Argv    []string          // argv[0] and the arguments

	Tmp    string // host folder that is the box's /tmp, of a session; "" for an empty one
	Start  string // box folder to start in, "" for the one of the RunConfig
	OrElse bool   // that one when the box has no Start

	Group string // the control group made for the run, "" without one

	// Kept is what stands for the working folder of a run with workdir_mode = "keep": a
	// folder with a mount point for each entry, and copies of the files KeptFiles.
	Kept      string
	KeptFiles []string

	// OwnFiles are files of folders that are protected, of which the box has a copy of its own.
	OwnFiles []Bind

	// Heads are files with what the last commit has of a hidden file of a repository, by its path.
	Heads map[string]string
	// Repos are the repositories that the box shares, see package git/server.
	Repos []Repo
	// GitStays are the paths of repositories that the box does not share, which git outside obeys, and GitLinks
	// the links on the way to any repository.
	GitStays []string
	GitLinks []host.Hop

	Caches *Caches // of the box's own; nil when the profile asks for none

	GitOwn    []string // files of a home of the host that the user's settings of git are in, or name
	GitConfig []byte   // the cleaned git configuration; nil without [git]
	GitFiles  []string // what it was made from: covered wherever the box would see it
}

func (b *builder) staged() error {
	for _, bind := range b.s.Binds {
		b.bind(bind.Reason, bind.Host, b.stagedPlace(bind.Box), bind.Write) // what the box writes there goes with the run
	}
	if b.s.Noop != "" {
		b.bind("blocked and rewritten commands", b.s.Noop, paths.BoxNoop, false)
	}
	if b.s.GitConfig != nil {
		b.dataFile("your git settings, cleaned ([git])", b.s.GitConfig, paths.BoxGitConfig)
	}
	if ProcMode(b.rc.Proc, b.f.Proc) == "empty" || b.f.Engine != nil { // where /proc cannot show it
		b.bind("the supervisor", b.s.Self, paths.BoxSelf, false)
		b.plan.Self = paths.BoxSelf
	}
	data := fmt.Sprintf("profile=%s\nrun=%s\n", b.rc.Name, b.s.RunID)
	// A file of the tmpfs, which is sealed at the end: a mount of its own would have bwrap
	// read its table of mounts again.
	b.file("the marker of a box", []byte(data), paths.BoxMarker)
	return nil
}

// stagedPlace is where a staged thing goes: where the path leads on the host, but
// in an empty home by its own name, since the links on the way are not there.
func (b *builder) stagedPlace(p string) string {
	if paths.Below(paths.BoxDir, p) || paths.Below("/tmp", p) {
		return p
	}
	if rest, ok := paths.Rest(b.f.Home, p); ok && b.rc.HidesHome() {
		at := filepath.Join(b.home, rest)
		if l, _ := b.at(at); !l.bound() {
			return at
		}
	}
	return b.canon(p)
}

func (b *builder) dataFile(reason string, data []byte, dest string) {
	b.op(Op{Kind: OpData, Perms: 0o444, Data: b.data(data), Dest: dest, Reason: reason})
}

// file makes a file in a folder in memory. Unlike one of dataFile it can be mounted over.
func (b *builder) file(reason string, data []byte, dest string) {
	b.op(Op{Kind: OpFile, Perms: 0o444, Data: b.data(data), Dest: dest, Reason: reason})
}

func (b *builder) sealed(reason, dest string) {
	b.op(Op{Kind: OpSeal, Dest: dest, Reason: reason})
}

// seal makes folders in memory read-only after the last mount point was made in them, and /dev, which has no limit.
func (b *builder) seal() error {
	b.sealed("nothing is added to /run", "/run")
	if b.disk > 0 {
		b.sealed("nothing is kept in /dev (sandbox.limits.disk)", "/dev")
	}
	if b.rc.Etc == "minimal" && b.f.Engine == nil {
		b.sealed("nothing is added to /etc", "/etc")
	}
	if b.rc.Base == "minimal" {
		b.sealed("nothing is added to /", "/")
	}
	return nil
}
