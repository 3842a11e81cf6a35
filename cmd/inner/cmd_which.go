package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/shims"
)

// whichAnswer is what happens to a command typed here.
type whichAnswer struct {
	Command  string `json:"command"`
	Does     string `json:"does"`                // "run", "pass through", "refuse"; "outside" when it does not come to its shim
	ShimDoes string `json:"shim_does,omitempty"` // what the shim would do, when it does not come to it
	Profile  string `json:"profile,omitempty"`
	Path     string `json:"profile_path,omitempty"`
	Project  string `json:"project,omitempty"`
	Trust    string `json:"trust,omitempty"`
	Prefix   string `json:"trust_prefix,omitempty"` // of trust.prefixes, which allowed it without a question
	Real     string `json:"real,omitempty"`
	Shim     string `json:"shim,omitempty"`
	Reason   string `json:"reason"`
	Hint     string `json:"hint,omitempty"`
	Instead  string `json:"path_finds,omitempty"` // what this PATH finds and is not the shim, when that would run instead
	Shadow   string `json:"shell_has,omitempty"`  // an alias or a function of the shell that runs instead
	Cure     string `json:"cure,omitempty"`       // what to type against either
}

// whichHere answers for one command.
func (a *app) whichHere(name string) (cli.Answer, error) {
	if err := profile.CheckCommand(name); err != nil {
		return cli.Answer{}, cli.Misuse(err)
	}
	if pl, err := a.Here(); err == nil && pl.Project != nil {
		a.Visit(pl)
	}
	w := a.which(name)
	return cli.Answer{Value: w, Words: func() { a.printWhich(w) }}, nil
}

// decide is what the shim of that name would decide here.
func (a *app) decide(name string) shims.Decision {
	env := shims.HostEnv(shims.Call{Name: name, InnerHome: a.InnerHome})
	return shims.Decide(env)
}

func (a *app) which(name string) whichAnswer {
	d := a.decide(name)
	w := whichAnswer{Command: name, Does: d.Kind.String(), Trust: string(d.State), Reason: d.Why, Hint: d.Hint}
	if d.Kind == shims.Run {
		if err := a.wouldStart(d, name); err != nil {
			d.Kind, d.Reason, d.Hint = shims.Refuse, fault.First(err), ""
			if r := fault.AsRefusal(err); r != nil {
				d.Hint = r.Hint
			}
			w.Does, w.Hint = d.Kind.String(), d.Hint
		}
	}
	if d.Kind == shims.Refuse {
		w.Reason = d.Reason
	}
	if d.Profile != nil {
		w.Profile, w.Path = d.Profile.Name, d.Profile.Path
	}
	if d.Project != nil {
		w.Project = d.Project.Root
	}
	w.Prefix = prefixOf(d)
	if real, err := a.FindReal(name, os.Getenv("PATH")); err == nil {
		w.Real = real
	}
	at := filepath.Join(a.ShimDir(), name)
	if _, err := os.Readlink(at); err == nil {
		w.Shim = at
	} else if d.Kind == shims.Refuse {
		// Nothing stands in front of it: a claim beyond what one unapproved
		// project may guard.
		w.Does, w.Reason = shims.PassThrough.String(), "claimed, but not guarded until it is allowed: "+d.Reason
	}
	if w.Does != shims.PassThrough.String() {
		a.around(&w)
	}
	return w
}

// around fills in what runs in the place of the shim, if anything does.
func (a *app) around(w *whichAnswer) {
	w.Instead = a.instead(w.Command)
	if w.Instead != "" {
		w.Cure = "inner doctor"
	}
	if s := usershell.ShadowOf(w.Command); s != nil {
		w.Shadow, w.Cure = s.What(), s.Cure(usershell.Starting())
	}
	if w.Cure != "" {
		w.ShimDoes, w.Does = w.Does, "outside"
	}
}

// wouldStart is what a start of the decision would be refused for before anything is
// made for it: the grants are wider than what was allowed, a config.toml that was allowed
// is not in force, or no box can be planned for it here.
func (a *app) wouldStart(d shims.Decision, name string) error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	pl.Project = d.Project
	for _, v := range d.Views {
		a.Know(v)
	}
	var o profile.Overrides
	if filepath.Base(d.Profile.Program()) != name {
		o.Entrypoint = name
	}
	rc, c, err := a.Spec(d.Profile, pl, o, true)
	if err != nil {
		return err
	}
	if err := a.AsAllowed(d.Profile, c, rc); err != nil {
		return err
	}
	_, _, err = preview.Look(a.Settings, d.Profile, c) // a program that is not installed yet is no reason
	return err
}

// instead is what PATH finds for a name that should be met by its shim, or
// nothing when it does find that, or nothing at all. Shells pass over a shim
// whose binary is gone or cannot be run.
func (a *app) instead(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		p := filepath.Join(dir, name) // of an empty one: from here
		fi, err := os.Stat(p)
		if err != nil || !fi.Mode().IsRegular() || unix.Access(p, unix.X_OK) != nil {
			continue
		}
		if sameFile(p, a.Folder().Binary()) {
			return ""
		}
		return p
	}
	return ""
}

func (a *app) printWhich(w whichAnswer) {
	row := a.statusLine
	does := map[string]string{"run": "runs in the sandbox", "pass through": "runs as it is", "refuse": "refuses to run"}
	what := does[w.Does]
	switch {
	case w.Shadow != "":
		what = "runs outside the sandbox: it is " + w.Shadow + " in this shell"
	case w.Instead != "":
		what = "runs outside the sandbox: this shell's PATH finds " + w.Instead + " first"
	}
	row(w.Command, what)
	row("type", w.Cure)
	if w.Cure != "" {
		row("else", "it "+does[w.ShimDoes])
	}
	row("profile", w.Profile)
	row("from", w.Path)
	row("project", w.Project)
	if w.Prefix != "" {
		w.Trust += ", without a question: below " + a.Short(w.Prefix) + " (trust.prefixes)"
	}
	row("trust", w.Trust)
	row("reason", w.Reason)
	row("type", w.Hint)
	if w.Real == "" {
		w.Real = "not found on PATH"
	}
	row("real", w.Real)
	if w.Shim == "" {
		w.Shim = "none: inner shim regenerate"
		if w.Does == "pass through" {
			w.Shim = "none needed"
		}
	}
	row("shim", w.Shim)
}
