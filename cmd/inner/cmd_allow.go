package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
	"github.com/spf13/cobra"
)

func (a *app) cmdAllow() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "allow [PATH]", Short: "Show what a project's profiles grant, ask, and remember the answer", Args: cobra.MaximumNArgs(1),
		Long: "Show in words what the profiles of a project grant, and against the last approved\nversion what changed; ask; remember. PATH is a project, one profile file or\nthe name of a profile here.\n\n" +
			"An approval covers the path and the content of the profile, of every local file it\nextends and of .inner/config.toml. Any change asks again.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.outside(cmd); err != nil {
				return err
			}
			return a.allow(strings.Join(args, ""), yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return c
}

func (a *app) cmdDeny() *cobra.Command {
	return a.cmdDecide("deny [PATH]", "Refuse a project's profiles for good, without further notices", runlog.EventDeny, func(t target) error {
		return a.trust().Deny(t.place.root(), t.files...)
	}, "denied")
}

func (a *app) cmdRevoke() *cobra.Command {
	return a.cmdDecide("revoke [PATH]", "Forget what was decided about a project's profiles", runlog.EventRevoke, func(t target) error {
		if !t.one {
			t.files = nil // the whole record, also of what is gone
		}
		return a.trust().Revoke(t.place.root(), t.files...)
	}, "forgotten")
}

func (a *app) cmdDecide(use, short, event string, do func(target) error, word string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.outside(cmd); err != nil {
				return err
			}
			t, err := a.target(strings.Join(args, ""), true)
			if err != nil {
				return err
			}
			if err := do(t); err != nil {
				return err
			}
			about := t.place.root()
			if t.one {
				about = t.files[0]
			}
			a.auditTrust(event, t.place.root(), about, "")
			a.say("%s: %s", a.short(about), word)
			return a.regenerate()
		},
	}
}

// target is what allow, deny and revoke are about.
type target struct {
	place place
	files []string
	one   bool // a single file was named
}

// target finds the project, or the one profile of it, that path names. With
// recorded, what is gone but on record can be named, too.
func (a *app) target(path string, recorded bool) (target, error) {
	var t target
	none := func(where string) error {
		return &isolator.Refusal{Code: 1, Msg: fmt.Sprintf("no project here: %s has no .inner/profiles, nor has any folder above it", where), Hint: "mkdir -p .inner/profiles"}
	}
	if path == "" {
		pl, err := a.here()
		if err != nil {
			return t, err
		}
		t.place = pl
		if pl.project == nil {
			if rec := a.onRecord(pl.cwd); recorded && rec != nil {
				t.place.project = rec
				return t, nil
			}
			return t, none(a.short(pl.cwd))
		}
	} else {
		abs, err := filepath.Abs(path)
		if err != nil {
			return t, err
		}
		fi, err := os.Stat(abs)
		if err != nil && !strings.Contains(path, "/") {
			if named := a.named(path); named != "" {
				abs = named
				fi, err = os.Stat(abs)
			}
		}
		real := realPath(filepath.Dir(abs)) + "/" + filepath.Base(abs)
		switch {
		case err == nil && fi.IsDir():
			real = realPath(abs)
		case err != nil && !recorded:
			return t, usagef("%q does not exist", path)
		}
		dir := real
		if strings.HasSuffix(real, ".toml") && (err != nil || !fi.IsDir()) {
			t.one, t.files, dir = true, []string{real}, filepath.Dir(real)
		} else if err == nil && !fi.IsDir() {
			return t, usagef("%q is neither a project nor a profile", path)
		}
		rec := a.onRecord(dir)
		if err != nil && !t.one {
			// What is gone names a project that is gone with it, never one above it.
			if rec == nil {
				return t, usagef("%q does not exist", path)
			}
			if _, err := os.Lstat(rec.Root); err == nil {
				return t, usagef("%q does not exist", path)
			}
			t.place = place{cwd: dir, project: rec}
			return t, nil
		}
		t.place = place{cwd: dir, project: a.projectOf(dir)}
		if recorded && t.place.project == nil && rec != nil {
			t.place.project = rec
			return t, nil
		}
		if t.place.project == nil {
			return t, none(a.short(dir))
		}
		if of := filepath.Join(t.place.project.Dir, "profiles"); t.one && dir != of && !(recorded && filepath.Base(real) == "config.toml") {
			return t, usagef("%q is not a profile of the project: those are in %q", path, of)
		}
	}
	if p := t.place.project.Problem; p != nil {
		return t, &isolator.Refusal{Code: 126, Msg: fmt.Sprintf("%s is not used: %v", t.place.project.Dir, p), Hint: "make it a folder of yours that nobody else can write (chown, chmod -R go-w)"}
	}
	if !t.one {
		files, err := t.place.project.ProfileFiles()
		if err != nil {
			return t, err
		}
		t.files = files
	}
	return t, nil
}

// named is the file of the profile of this project that is called so, as inner status
// calls it; "" when there is none.
func (a *app) named(name string) string {
	pl, err := a.here()
	if err != nil || pl.project == nil {
		return ""
	}
	file := filepath.Join(pl.project.Dir, "profiles", name+".toml")
	if _, err := os.Lstat(file); err != nil {
		return ""
	}
	return file
}

// onRecord is the project that was at dir, or above it, when something was
// decided about it; its .inner may be gone.
func (a *app) onRecord(dir string) *profile.Project {
	for ; ; dir = filepath.Dir(dir) {
		rec, err := a.trust().Project(dir)
		if err != nil || rec != nil && (len(rec.Profiles) > 0 || rec.Config != nil) {
			return &profile.Project{Root: dir, Dir: filepath.Join(dir, ".inner")}
		}
		if dir == "/" {
			return nil
		}
	}
}

// candidate is one profile that may be approved.
type candidate struct {
	profile *profile.Profile
	grants  []profile.Grant
	verdict trust.Verdict
}

func (a *app) allow(path string, yes bool) error {
	if err := a.firstUse(); err != nil {
		return err
	}
	t, err := a.target(path, false)
	if err != nil {
		return err
	}
	cfg, err := a.projectConfigFile(t.place)
	if err != nil {
		return &isolator.Refusal{Code: 125, Msg: err.Error(), Hint: "mend it, then inner allow"}
	}
	var list []candidate
	failed := 0
	l := a.loader(t.place)
	for _, f := range t.files {
		p, err := l.Load(f, profile.Local)
		if err != nil {
			failed++
			a.fail(err)
			continue
		}
		grants, err := a.grantsOf(p, t.place)
		if err != nil {
			failed++
			a.fail(err)
			continue
		}
		list = append(list, candidate{p, grants, a.trust().Check(t.place.root(), p, cfg)})
	}
	if failed > 0 {
		a.hint("mend the profile, then inner allow")
		if len(list) == 0 {
			return exit(125)
		}
	}
	if len(list) == 0 && cfg == nil {
		return &isolator.Refusal{Code: 1, Msg: fmt.Sprintf("%s holds no profiles", a.short(filepath.Join(t.place.project.Dir, "profiles"))), Hint: "inner profile list"}
	}
	todo := false
	for _, c := range list {
		todo = a.showCandidate(t.place, c) || todo
	}
	if cfg != nil {
		a.showConfig(t.place)
		_, allowed := a.trustedProjectConfig(t.place)
		todo = todo || !allowed
	}
	if todo {
		if err := a.ask("Allow this?", yes); err != nil {
			return err
		}
	}
	for _, c := range list {
		ok := trust.Approval{Profile: c.profile, Grants: c.grants, Config: cfg, ConfigCommands: shimWords(t.place)}
		if err := a.trust().Allow(t.place.root(), ok); err != nil {
			return err
		}
		if c.verdict.State != trust.Allowed {
			a.auditTrust(runlog.EventAllow, t.place.root(), c.profile.Path, c.profile.Files[0].Digest)
		}
	}
	if cfg != nil && todo {
		a.auditTrust(runlog.EventAllow, t.place.root(), cfg.Path, cfg.Digest)
	}
	if !t.one && failed == 0 {
		if err := a.forgetGone(t); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		if err := a.trust().Allow(t.place.root(), trust.Approval{Config: cfg, ConfigCommands: shimWords(t.place)}); err != nil {
			return err
		}
		a.say("allowed %s", a.short(cfg.Path))
	}
	if err := a.regenerate(); err != nil {
		return err
	}
	for _, c := range list {
		if c.verdict.State == trust.Allowed {
			continue
		}
		if cmds := c.profile.Commands(); len(cmds) > 0 {
			a.say("allowed %s: %s runs in the sandbox from now on", c.profile.Name, strings.Join(cmds, ", "))
		} else {
			a.say("allowed %s: inner run -p %s", c.profile.Name, c.profile.Name)
		}
	}
	if failed > 0 {
		return exit(125)
	}
	return nil
}

// forgetGone drops what was approved and is not in the project any more: a
// renamed profile would keep its command refused. The user has just looked at
// all there is.
func (a *app) forgetGone(t target) error {
	rec, err := a.trust().Project(t.place.root())
	if err != nil || rec == nil {
		return err
	}
	for _, p := range rec.Profiles {
		if !slices.Contains(t.files, p.Path) {
			a.say("%s is gone; its approval is forgotten", a.short(p.Path))
			if err := a.trust().Revoke(t.place.root(), p.Path); err != nil {
				return err
			}
			a.auditTrust(runlog.EventRevoke, t.place.root(), p.Path, "")
		}
	}
	return nil
}

// grantsOf says what a profile grants to a shim at the project's root.
func (a *app) grantsOf(p *profile.Profile, pl place) ([]profile.Grant, error) {
	rc, _, err := a.atRoot(p, pl)
	if err != nil {
		return nil, err
	}
	return profile.Grants(rc), nil
}

// atRoot resolves a profile as a shim at the project's root would.
func (a *app) atRoot(p *profile.Profile, pl place) (profile.RunConfig, profile.Context, error) {
	pl.cwd = pl.root()
	c, err := a.context(pl, profile.Overrides{}, true)
	if err != nil {
		return profile.RunConfig{}, c, err
	}
	if pl.project != nil { // its config.toml is approved together with the profile
		if cfg, _, err := config.LoadProject(filepath.Join(pl.project.Dir, "config.toml")); err == nil {
			nearer(&c, cfg)
		}
	}
	rc, err := p.Resolve(c)
	return rc, c, err
}

// showCandidate prints one profile and reports whether there is something to
// approve.
func (a *app) showCandidate(pl place, c candidate) bool {
	name := fmt.Sprintf("profile %s (%s)", c.profile.Name, a.short(c.profile.Path))
	if c.verdict.State == trust.Allowed {
		fmt.Fprintf(a.stderr, "%s: allowed already, unchanged\n", printable(name))
		return false
	}
	old, known := a.lastGrants(pl, c.profile)
	if !known {
		fmt.Fprintf(a.stderr, "%s grants:\n", printable(name))
		for _, g := range c.grants {
			fmt.Fprintf(a.stderr, "  %s\n", printable(g.Text))
		}
		if rc, at, err := a.atRoot(c.profile, pl); err == nil {
			for _, line := range a.reachLines(c.profile, at, rc, true) {
				fmt.Fprintf(a.stderr, "    %s\n", printable(line))
			}
		}
		return true
	}
	wider, narrower := profile.DiffGrants(old, c.grants)
	fmt.Fprintf(a.stderr, "%s changed since it was allowed:\n", printable(name))
	a.printChange(wider, narrower)
	return true
}

// printChange prints what became wider or narrower, or that nothing did.
func (a *app) printChange(wider, narrower []profile.Grant) {
	for _, g := range wider {
		fmt.Fprintf(a.stderr, "  %s %s\n", paint(a.stderr, "31", "wider:   "), printable(changeText(g, true)))
	}
	for _, g := range narrower {
		fmt.Fprintf(a.stderr, "  %s %s\n", paint(a.stderr, "32", "narrower:"), printable(changeText(g, false)))
	}
	if len(wider)+len(narrower) == 0 {
		fmt.Fprintln(a.stderr, "  nothing in what it grants")
	}
}

func (a *app) lastGrants(pl place, p *profile.Profile) ([]profile.Grant, bool) {
	rec, err := a.trust().Project(pl.root())
	if err != nil || rec == nil {
		return nil, false
	}
	r := rec.Profile(p.Path)
	if r == nil || !r.WasApproved() {
		return nil, false
	}
	return r.Grants, true
}

func (a *app) explainCapabilities(rc profile.RunConfig) {
	list, err := a.capabilities(&rc)
	if err != nil {
		a.fail(err)
		return
	}
	for _, c := range list {
		fmt.Fprintf(a.stdout, "\n# ── capability: %s ───\n", c.Name)
		for _, line := range c.Explain(a.home) {
			fmt.Fprintf(a.stdout, "#   %s\n", printable(line))
		}
	}
}

// ask puts a question on the terminal; without one, --yes is wanted.
func (a *app) ask(question string, yes bool) error {
	if yes {
		return nil
	}
	if !isTerminal(a.stdin) {
		return &isolator.Refusal{Code: 2, Msg: "nobody can be asked: standard input is not a terminal", Hint: "read it above, then inner allow --yes"}
	}
	if a.agreed(question) {
		return nil
	}
	a.say("nothing was allowed")
	return exit(1)
}

// agreed puts a question on the terminal.
func (a *app) agreed(question string) bool {
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, err := bufio.NewReader(a.stdin).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(a.stderr)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}

// short writes the home as ~.
func (a *app) short(p string) string {
	if rest, ok := strings.CutPrefix(p, a.home+"/"); ok {
		return "~/" + rest
	}
	return p
}
