package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// status is everything inner knows about the current folder.
type status struct {
	Inside   bool            `json:"inside_sandbox"`
	Hook     string          `json:"hook"` // "live", "not first", "not live"
	Project  string          `json:"project,omitempty"`
	Of       string          `json:"worktree_of,omitempty"` // the same folder in the main worktree
	Problem  string          `json:"problem,omitempty"`
	Config   string          `json:"config,omitempty"` // trust of .inner/config.toml
	Profiles []profileStatus `json:"profiles"`
	Commands []whichAnswer   `json:"commands"`
	NotTaken []string        `json:"not_guarded,omitempty"` // claims on everyday tools that are not allowed
	Running  []box           `json:"running,omitempty"`
	Bare     []string        `json:"not_claimed,omitempty"` // agents that are installed, and that nothing claims here
	Unread   []string        `json:"unreadable,omitempty"`  // what could not be read anywhere
}

type profileStatus struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	Trust  string   `json:"trust"`
	Why    string   `json:"why,omitempty"`
	Claims []string `json:"claims"`
	more   bool     // Why says more than Trust
}

func (a *app) cmdStatus() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use: "status [COMMAND]", Aliases: []string{"which"}, Short: "Show the project, its profiles, their trust, and what is sandboxed here", Args: cobra.MaximumNArgs(1),
		Long:              "Show the project, its profiles, their trust, and what is sandboxed here; of one COMMAND what it\nwould do when it is typed here, and why.",
		ValidArgsFunction: a.completeCommands,
	}, func(_ *cobra.Command, args []string) (cli.Answer, error) {
		if len(args) > 0 {
			return a.whichHere(args[0])
		}
		s, err := a.status()
		return cli.Answer{Value: s, Words: func() { a.printStatus(s) }}, err
	})
}

func (a *app) status() (status, error) {
	s := status{Inside: cli.InBox(), Hook: a.hookLive(), Profiles: []profileStatus{}, Commands: []whichAnswer{}}
	pl, err := a.Here()
	if err != nil {
		return s, err
	}
	var words []string
	if pl.Project != nil && !s.Inside {
		words = a.projectStatus(&s, pl)
	}
	words = append(words, a.guardedWords()...)
	if !s.Inside {
		s.Running, _ = a.boxes() // what cannot be read is doctor's
	}
	for _, p := range shims.Wanted(a.Site()).Problems {
		s.Unread = append(s.Unread, p.Error())
	}
	slices.Sort(s.NotTaken)
	s.NotTaken = slices.Compact(s.NotTaken)
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		c := a.which(w)
		s.Commands = append(s.Commands, c)
		if c.Does == shims.PassThrough.String() && c.Real != "" && slices.Contains(shims.Agents(), w) {
			s.Bare = append(s.Bare, w)
		}
	}
	return s, nil
}

// guardedWords are the commands that inner is about, whatever the project.
func (a *app) guardedWords() (words []string) {
	if cfg, err := a.GlobalConfig(); err == nil {
		for _, kv := range cfg.Shims {
			words = append(words, kv.Key)
		}
	}
	names, _ := a.Folder().List()          // none yet
	for _, agent := range shims.Agents() { // one may have been installed since the shims were made
		if _, err := a.FindReal(agent, os.Getenv("PATH")); err == nil {
			words = append(words, agent)
		}
	}
	return append(words, names...)
}

// projectStatus fills in what there is of a project, and returns the commands that have a
// shim because of it.
func (a *app) projectStatus(s *status, pl settings.Place) (words []string) {
	a.Visit(pl)
	v := a.Look(pl)
	s.Project, s.Of = v.Root, v.Project.Of
	if err := cmp.Or(v.RecordErr, v.Project.Problem, v.Conf.Err); err != nil {
		s.Problem = err.Error()
	}
	if v.Config.File != nil {
		s.Config = string(v.Conf.State)
	}
	for _, p := range v.Profiles {
		row := a.profileStatus(pl, v, p)
		for _, c := range p.Claims {
			if slices.Contains(row.Claims, c.Command) {
				continue
			}
			row.Claims = append(row.Claims, c.Command)
			switch {
			case p.Unread: // its claims are not known, and it may be one of thousands
			case c.Guarded:
				words = append(words, c.Command)
			default:
				s.NotTaken = append(s.NotTaken, c.Command)
			}
		}
		s.Profiles = append(s.Profiles, row)
	}
	for _, c := range v.Conf.Claims {
		words = append(words, c.Command)
	}
	return words
}

// profileStatus says what is the matter with a profile of the project.
func (a *app) profileStatus(pl settings.Place, v *shims.View, p shims.ProfileView) profileStatus {
	row := profileStatus{Name: p.Name, Path: p.Path, Trust: string(p.State), Why: p.Detail, Claims: []string{}}
	if p.State == trust.Allowed {
		if why := a.widened(pl, p.Profile); why != "" {
			row.Trust, row.Why = string(trust.Changed), why
		}
	}
	if p.Of != "" && row.Why == "" {
		row.Why = "allowed as a worktree of " + a.Short(p.Of)
	}
	if text := a.prefixWords(pl, v, p); text != "" {
		row.Why, row.more = text, true
	}
	if p.Err != nil {
		row.Why, _, _ = strings.Cut(p.Err.Error(), "\n")
	}
	row.more = row.more || row.Trust != string(trust.Untrusted) &&
		row.Trust != string(trust.Deleted) && (row.Trust != string(trust.Denied) || p.File != p.Path)
	if v.ByConfig(&p) {
		row.Why = "config.toml is not valid"
	}
	return row
}

// widened says why an allowed profile would be refused for what it grants now; ""
// when it would not.
func (a *app) widened(pl settings.Place, p *profile.Profile) string {
	pl.Cwd = pl.Root()
	rc, c, err := a.resolveHere(found{place: pl, scope: profile.Local}, p)
	if err == nil {
		err = a.AsAllowed(p, c, rc)
	}
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(fault.First(err), fmt.Sprintf("profile %q ", p.Name))
}

// hookLive looks at PATH: that is all a child of a shell can see of it.
func (a *app) hookLive() string {
	switch at, _ := a.shimPlace(); {
	case at == 0:
		return "live"
	case at > 0:
		return "not first"
	}
	return "not live"
}

func (a *app) printStatus(s status) {
	if s.Inside {
		fmt.Fprintln(a.Out, "this is inside a sandbox: profile", cli.Printable(os.Getenv("INNER_SANDBOX")))
		return
	}
	a.printHookStatus(s.Hook)
	project := "none"
	if s.Project != "" {
		project = a.Short(s.Project)
	}
	if s.Of != "" {
		project += ", a worktree of " + a.Short(s.Of)
	}
	a.statusLine("project", project)
	a.statusProblem(s.Problem)
	a.statusLine("config", s.Config)
	for _, p := range s.Profiles {
		a.statusLine("profile", p.text())
	}
	for _, c := range s.Commands {
		if c.Does != shims.PassThrough.String() {
			a.statusLine("command", commandStatus(c))
		}
	}
	for _, b := range s.Running {
		a.statusLine("running", runningText(b))
	}
	for _, p := range s.Unread {
		a.statusProblem(p)
	}
	a.printBare(s.Bare)
	if len(s.NotTaken) > 0 {
		a.statusLine("note", "claimed by a profile that is not allowed; not guarded, because they are everyday tools: "+strings.Join(s.NotTaken, ", "))
	}
}

// statusLine prints one line, unless there is nothing to say.
func (a *app) statusLine(name, text string) {
	if text != "" {
		fmt.Fprintf(a.Out, "%-8s %s\n", name, cli.Printable(text))
	}
}

// statusProblem prints a problem, which may have several lines, one for each fault of a file.
func (a *app) statusProblem(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		a.statusLine("problem", line)
	}
}

func (a *app) printHookStatus(hook string) {
	switch hook {
	case "live":
		a.statusLine("hook", "live: the shim folder is first on PATH")
	case "not first":
		a.statusLine("hook", "not first on PATH; type: inner doctor")
	default:
		a.statusLine("hook", "not live in this shell; type: "+a.startup().Typed(usershell.TypedIn()))
	}
}

// printBare names the agents that run outside the sandbox here, and what claims them.
func (a *app) printBare(bare []string) {
	var offered, own []string
	for _, name := range bare {
		if capability.IsProgram(name) {
			offered = append(offered, name)
		} else {
			own = append(own, name)
		}
	}
	if len(offered) > 0 {
		a.statusLine("note", "runs outside the sandbox, claimed by no profile here: "+strings.Join(offered, ", ")+"; type: inner init "+strings.Join(offered, " "))
	}
	for _, name := range own {
		a.statusLine("note", "runs outside the sandbox, claimed by no profile here: "+name+"; type: inner profile new --local "+name)
	}
}

func (p profileStatus) text() string {
	line := fmt.Sprintf("%s: %s", p.Name, p.Trust)
	if p.Why != "" && p.more {
		line += " (" + p.Why + ")"
	}
	if len(p.Claims) > 0 {
		line += ", claims " + strings.Join(p.Claims, ", ")
	}
	return line
}

func runningText(b box) string {
	if b.Profile == "" { // with record = "audit", or of another INNER_HOME
		return b.Run + ", which has no record here"
	}
	line := fmt.Sprintf("%s for %s: %s in profile %s", b.Run, since(b), cmp.Or(b.Command, "?"), b.Profile)
	if b.Terminal == launch.Detached || b.Terminal == launch.Asks {
		line += ", " + terminalWords(b)
	}
	return line
}

// commandStatus is the line of a command that has a shim.
func commandStatus(c whichAnswer) string {
	line := c.Command + ": "
	if c.Does == shims.Run.String() || c.ShimDoes == shims.Run.String() {
		line += "sandboxed by " + c.Profile
	} else {
		line += "refused, " + c.Reason
	}
	switch {
	case c.Shadow != "":
		line += "; but it is " + c.Shadow + " in this shell, and runs outside the sandbox: type `" + c.Cure + "`"
	case c.Instead != "":
		line += "; but this shell's PATH finds " + c.Instead + " first, outside the sandbox: type `inner doctor`"
	}
	return line
}
