// Package features holds what a profile can grant or take, one file for each thing: what
// it asks of the host, what it makes for a run and how that is taken away again, and what
// follows the end of the program.
//
// A feature of a run is made by a function, so that what it keeps between its steps is
// its own; what others need of it is a field of Run, or stands in the call in All.
//
//	for _, f := range features.All(container.Backend()) {
//		if f.Make != nil {
//			err = f.Make(run)
//		}
//	}
package features

import (
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/repos"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/gitconfig"
)

// Feature is one thing that a profile can grant or take. Every step may be nil.
type Feature struct {
	Name string
	Keys []string // of the profile language, that it reads; none for what inner does by itself

	Ask     func(*Run) error                                                     // completes Spec and Agents, refuses, and makes what must be there before the host is looked at
	Learn   func(*Run) error                                                     // completes Facts and Reach with what a probe cannot tell; each time they are new
	Make    func(*Run) error                                                     // makes what the run needs, and puts it into Assets; in a preview the stage is dry
	Planned func(*Run) error                                                     // follows each plan: says it in other words, and makes on the host what it needs there
	Start   func(*Run, *launch.Options)                                          // says what the launcher is to call; before each try to start
	May     func(before, next *Run) error                                        // says why a box that runs cannot get what the preview next has more; of all before the first Grant
	Grant   func(before, next *Run, to launch.Running) (words string, err error) // gives a box that runs what the preview next has more, and says what is to be known of it
	Between func(*Run, *Outcome) error                                           // follows the end of a call while the box goes on, for others; one at a time
	Finish  func(*Run, *Outcome) error                                           // follows the end of the program, while Assets are still there
}

// All are the features of one run, with the one that finds what makes the box, in the order in which they are
// made and finished. What they made is removed in the opposite order.
//
// Where order matters:
//
//	backend first             what the host can do depends on what makes the box
//	git, leftovers, git.last  the server ends first, then what the run left is looked at before
//	                          any git outside may come to it, and only then what a clone has, or
//	                          a repository that the box made, is brought
//	undo after all of these   what they put back or move aside is in what it looks at
//	observed after network    what was seen includes the answers of the network
func All(backend Feature) []Feature {
	git := new(boxGits)
	home := new(ownHome)
	return []Feature{
		backend, workspaces(), folders(), system(), home.feature(), installed(), dots(), caches(), limited(), proc(), devices(), clipboard(),
		git.feature(), leftovers(git), git.last(),
		credentials(home), agents(home), gitSettings(), environment(), noop(), history(), copies(), keep(), network(), undoable(git), observed(),
		{Name: "the kernel and the record of the run", Keys: []string{"sandbox.landlock", "output"}}, // the plan and the launcher see to them
	}
}

// Run is one run while it is prepared and carried out. Its fields are known in their
// order; each is written by the step, or by the feature, that its comment names.
type Run struct {
	*settings.Settings // who calls, and what is set

	Profile *profile.Profile
	Context profile.Context
	Observe *Observe // nil unless the accesses of the program are looked at
	Mode    Mode
	Done    <-chan struct{} // ends the run, and then no signal does; nil for a run that is all this process does

	Spec     profile.RunConfig       // what the profile comes to here
	Folder   *stage.Run              // of the run; a dry one in a preview
	Agents   []capability.Capability // agents: the capabilities of the Spec
	Facts    host.Facts              // what the host is
	LeftOut  []string                // git settings: those of the user that the box does not have
	Reach    Reach                   // reach: what the box may reach by name
	Assets   plan.Staged             // what is made for the run
	Mirrors  []Mirror                // in a preview: what will have the content of something of the host
	Unserved bool                    // git directories: what is served could not be mounted in the box, and Refresh takes clones
	Plan     plan.Plan

	Has  func(folder string) bool                     // whether the box has a folder of the host
	Give func(to launch.Running, folder string) error // gives the box that runs a folder of the host to be read; nil when nobody may

	Result launch.Result // of the last try to start

	LostLogins map[string]string // credentials: why one has no value

	authority     []byte                // credentials: the certificate that the box takes of inner-proxy; nil without that
	trusted       *trust                // credentials: what it takes besides
	gitLogins     []gitconfig.Entry     // credentials: with which git has the placeholders
	usedLogins    map[string]*usedLogin // credentials: by the capabilities whose logins the box uses and cannot read
	throughLogins func(netproxy.Target) func([]netip.Addr) (net.Conn, error)
	clearLogins   func(netproxy.Target, []byte)

	copied map[string]string // where the box has copies of what the user refers to

	disks *disks // what limits.disk holds for
	undo  []func()
}

// Mode is what a run is prepared for.
type Mode int

// What a run is prepared for.
const (
	Program Mode = iota // a program runs
	Checks              // checks take its place: nobody is asked, and no end is told
	Preview             // nothing is made and nothing runs
	Pasted              // the same, for a command to paste, which has nothing that is made for a run only
)

// Made reports whether something is made on the host.
func (m Mode) Made() bool { return m == Program || m == Checks }

// ID is the run's.
func (run *Run) ID() string { return run.Folder.ID }

// Say tells the person something about a run that is made, and so do Warn and Hint. A preview shows it.
func (run *Run) Say(format string, args ...any) { run.tell(run.Settings.Say, format, args) }

// Warn is Say for a warning.
func (run *Run) Warn(format string, args ...any) { run.tell(run.Settings.Warn, format, args) }

// Hint is Say for what to type.
func (run *Run) Hint(format string, args ...any) { run.tell(run.Settings.Hint, format, args) }

func (run *Run) tell(by func(string, ...any), format string, args []any) {
	if run.Mode.Made() {
		by(format, args...)
	}
}

// Undo registers what takes away again what was just made.
func (run *Run) Undo(f func()) { run.undo = append(run.undo, f) }

// Close takes away what was made, the last first.
func (run *Run) Close() {
	for _, f := range slices.Backward(run.undo) {
		f()
	}
	run.undo = nil
}

// Outcome is what a run came to.
type Outcome struct {
	launch.Result

	ID      string // of the run
	Backend string // what made the box

	Begun time.Time
	Clock time.Time // Begun, as files know it

	Limits  []string       // that were reached, in words
	Aside   []string       // what was moved aside
	Left    repos.Found    `json:"-"` // what the look at the end found
	Rewound []runlog.Ref   // refs of git that were deleted or forced
	Blocked map[string]int // noop: calls per command
	Hosts   []runlog.Host  // what became of them
	Granted []string       // what the box got while it ran
	Events  []runlog.Event // what the audit log gets with the end
}
