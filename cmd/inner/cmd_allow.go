package main

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/consent"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

func (a *app) cmdAllow() *cobra.Command {
	var never, forget bool
	var flags grantFlags
	c := &cobra.Command{
		Use: "allow [PATH|NAME... | host:NAME | port:N | file:PATH | folder:PATH | mcp:NAME | credential:NAME]", Short: "Show what a project's profiles grant, ask, and remember the answer", Args: cobra.ArbitraryArgs,
		Long: "Show in words what the profiles of a project grant, and what changed since you last allowed\nthem; then ask, and remember the answer. PATH is a project or one profile file, NAME a profile\nof this project. When more than ten need a decision, name those that you want.\n\n" +
			"What you allow is the path and the content of the profile, of every local file it\nextends and of .inner/config.toml, and the real folders that it names. After any change\ninner asks again, also when a link or a variable leads elsewhere.\n\n" +
			"host:NAME, port:N, file:PATH, folder:PATH, mcp:NAME and credential:NAME add one grant each to a profile:\na host, a port of this computer, a file or folder to be read, with --write to be written, too, an MCP\nserver of your settings of its agent, and a login that it uses and cannot read. The sandboxes of the\nprofile that run get hosts, ports, folders to be read and, where they have some, logins at once; with\n--for-this-run they alone, until they end.",
		Example: "  inner allow                              # asks about the profiles of this project\n  inner allow host:example.com -p claude   # one more host\n  inner allow --never                      # they never run here",
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			list, err := wantedOf(args)
			switch {
			case err != nil:
				return err
			case never && forget:
				return cli.Usagef("--never and --forget contradict each other")
			case never || forget:
				return a.decideOn(args, never)
			case len(list) > 0:
				return a.addGrants(list, flags)
			case flags.write || flags.thisRun || flags.profile != "":
				return cli.Usagef("--profile, --write and --for-this-run go with host:NAME, port:N, file:PATH, folder:PATH, mcp:NAME and credential:NAME")
			}
			return a.allow(args, flags.yes)
		}),
	}
	cli.YesFlag(c, &flags.yes)
	fl := c.Flags()
	fl.BoolVar(&never, "never", false, "refuse the profiles for good, without further notices")
	fl.BoolVar(&forget, "forget", false, "forget what was decided about them")
	fl.BoolVarP(&flags.write, "write", "w", false, "let the file or folder be written, too")
	fl.BoolVar(&flags.thisRun, "for-this-run", false,
		"give it to the sandboxes of the profile that run, and leave the profile as it is")
	a.ProfileFlag(c, &flags.profile)
	return c
}

// decideOn refuses the profiles at a path for good, or forgets what was decided about them.
func (a *app) decideOn(paths []string, never bool) error {
	if len(paths) > 1 {
		return cli.Usagef("one project or profile, and not %d", len(paths))
	}
	t, err := a.target(strings.Join(paths, ""), true)
	if err != nil {
		return err
	}
	event, word := runlog.EventRevoke, "forgotten"
	switch {
	case never:
		event, word = runlog.EventDeny, "denied"
		if len(t.files) == 0 { // what there is to deny of a project without profiles
			t.one, t.files = true, []string{filepath.Join(t.place.Project.Dir, "config.toml")}
		}
		err = a.Trust().Deny(t.place.Root(), t.files...)
	case t.one:
		err = a.Trust().Revoke(t.place.Root(), t.files...)
	default:
		err = a.Trust().Revoke(t.place.Root()) // the whole record, also of what is gone
	}
	if err != nil {
		return err
	}
	about := t.place.Root()
	if t.one {
		about = t.files[0]
	}
	a.auditTrust(event, t.place.Root(), about, "")
	a.Say("%s: %s", a.Short(about), word)
	if of := t.place.Project.Of; of != "" && !never {
		a.Hint("what is the same in %s stays allowed here, too: inner allow --never, or inner allow --forget %s", a.Short(of), cli.Quoted(of))
	}
	return a.Regenerate()
}

// maxUnnamed is how many profiles one answer may allow without their names.
const maxUnnamed = 10

// proposal is what a yes allows.
type proposal struct {
	target
	rec       *trust.ProjectRecord
	cfg       config.Read
	newConfig bool // the config.toml is not allowed yet
	list      []consent.Candidate
}

// has reports whether a profile is in the proposal.
func (p proposal) has(path string) bool {
	return slices.ContainsFunc(p.list, func(c consent.Candidate) bool { return c.Profile.Path == path })
}

func (a *app) allow(args []string, yes bool) error {
	if err := a.FirstUse(); err != nil {
		return err
	}
	t, err := a.targets(args)
	if err != nil {
		return err
	}
	if _, _, err := a.AllowPrefixed(t.place); err != nil {
		return err
	}
	p, wrong, err := a.propose(t)
	if err != nil {
		return err
	}
	waiting := consent.Unsettled(p.list)
	if len(waiting) > maxUnnamed && !t.one {
		return fault.Refuse(2, "inner allow NAME… for those that you want",
			"%d profiles need a decision, too many to read at once: %s …", len(waiting), strings.Join(waiting[:maxUnnamed], ", "))
	}
	a.showConsent(consent.Page{
		Place: t.place, List: p.list, Config: p.cfg, NewConfig: p.newConfig, OldConfig: p.rec.ConfigRecord(), Words: a.givenUp(p),
	})
	for _, c := range p.list {
		for _, line := range c.Profile.Former() {
			a.Warn("%s", line.Error())
		}
	}
	if len(waiting) > 0 || p.newConfig {
		if err := a.confirm(question{text: "Allow this?", yes: yes, hint: "read it above, then inner allow --yes", no: "nothing was allowed"}); err != nil {
			a.LeaveOpen(t.place)
			return err
		}
	}
	if err := a.carryOut(p, !t.one && len(wrong) == 0); err != nil {
		return err
	}
	a.sayAllowed(t.place.Root(), p.list)
	if len(wrong) > 0 {
		return cli.Exit(125)
	}
	return nil
}

// carryOut does what the answer means: it is recorded, and the shims are made. Of a whole project
// what is gone is forgotten.
func (a *app) carryOut(p proposal, whole bool) error {
	if err := a.record(p); err != nil {
		return err
	}
	if whole {
		if err := a.forgetGone(p.target); err != nil {
			return err
		}
	}
	return a.Regenerate()
}

// propose reads what there is to allow. What is wrong with profiles that cannot be used is
// said; when there are no others, that is all.
func (a *app) propose(t target) (p proposal, wrong []error, err error) {
	p = proposal{target: t, cfg: a.ProjectConfig(t.place)}
	if p.cfg.Err != nil {
		return p, nil, a.Unusable(p.cfg.Err, "")
	}
	if p.rec, err = a.RecordOf(t.place.Root(), t.place.Project); err != nil {
		return p, nil, fault.Refuse(125, "inner allow --forget, then inner allow", "%v", err)
	}
	p.newConfig = p.cfg.File != nil && p.rec.CheckConfig(p.cfg.File).State != trust.Allowed
	p.list, wrong = consent.Read(a.Settings, t.place, t.files, p.rec, p.cfg)
	if len(wrong) > 0 {
		tell.Teller{To: a.Err}.FailAll(wrong)
		a.Hint("%s, then inner allow", cmp.Or(a.Cure(wrong[0], "", nil), "fix it"))
	}
	switch {
	case len(p.list) > 0:
		return p, wrong, nil
	case len(wrong) > 0:
		return p, wrong, cli.Exit(125)
	}
	return p, nil, a.nothingToAllow(t.place, p.cfg.File == nil)
}

// nothingToAllow refuses to allow a project without profiles: one of them is gone, or there is
// no config.toml either.
func (a *app) nothingToAllow(place settings.Place, noConfig bool) error {
	for _, p := range a.Look(place).Profiles {
		if p.State == trust.Deleted {
			return fault.Refuse(1, trust.PutBack(place.Root(), p.Path), "profile %q was allowed and its file is gone", p.Name)
		}
	}
	if noConfig {
		return fault.Refuse(1, "inner init", "%s holds no profiles",
			a.Short(filepath.Join(place.Project.Dir, "profiles")))
	}
	return nil
}

// record writes down the answer, of what was shown and nothing that was read since.
func (a *app) record(p proposal) error {
	root, cfg := p.place.Root(), p.cfg
	for _, c := range p.list {
		if c.Of != "" && c.Settled() {
			continue // by the main worktree's record, and not for longer than that
		}
		if err := a.Allow(root, trust.Approval{Profile: c.Profile, Grants: c.Grants}, cfg); err != nil {
			return err
		}
		if err := a.Trust().MarkWritten(c.Spec.WritableFolders()...); err != nil {
			return err
		}
		if !c.Settled() {
			a.auditTrust(runlog.EventAllow, root, c.Profile.Path, c.Profile.Files[0].Digest)
		}
	}
	if len(p.list) == 0 {
		if err := a.Allow(root, trust.Approval{}, cfg); err != nil {
			return err
		}
		a.Say("allowed %s", a.Short(cfg.File.Path))
	}
	if p.newConfig {
		a.auditTrust(runlog.EventAllow, root, cfg.File.Path, cfg.File.Digest)
	}
	return nil
}

// sayAllowed says what runs in the sandbox from now on, and which commands their shim refuses
// all the same, as those that two profiles claim.
func (a *app) sayAllowed(root string, list []consent.Candidate) {
	said := map[string]bool{}
	for _, c := range list {
		if c.Settled() {
			continue
		}
		cmds := slices.DeleteFunc(slices.Clone(c.Profile.Commands()), func(word string) bool {
			d, refused := a.refusedIn(root, word)
			if refused && !said[word] {
				said[word] = true
				a.Warn("%s", d.Reason)
				if d.Hint != "" {
					a.Hint("%s", d.Hint)
				}
			}
			return refused
		})
		if len(cmds) > 0 {
			runs := visible.Plural(len(cmds), "runs", "run") + " in the sandbox from now on"
			if c.Stops != nil {
				runs = visible.Plural(len(cmds), "is", "are") + " refused until that is fixed"
			}
			a.Say("allowed %s: %s %s", c.Profile.Name, strings.Join(cmds, ", "), runs)
		} else {
			a.Say("allowed %s: inner run -p %s", c.Profile.Name, c.Profile.Name)
		}
	}
}

// refusedIn reports whether the shim of a command refuses in a folder, at a terminal or elsewhere.
func (a *app) refusedIn(dir, word string) (d shims.Decision, refused bool) {
	env := shims.HostEnv(shims.Call{Name: word, InnerHome: a.InnerHome})
	env.Cwd = dir
	for _, env.StdinTTY = range []bool{true, false} {
		if d = shims.Decide(env); d.Kind == shims.Refuse {
			return d, true
		}
	}
	return d, false
}

// forgetGone drops what was allowed and is not in the project any more: a
// renamed profile would keep its command refused. The user has just looked at
// all there is.
func (a *app) forgetGone(t target) error {
	rec, err := a.Trust().Project(t.place.Root())
	if err != nil || rec == nil {
		return err
	}
	for _, p := range rec.Profiles {
		if !slices.Contains(t.files, p.Path) {
			a.Say("%s is gone; inner has forgotten what you decided about it", a.Short(p.Path))
			if err := a.revoke(t.place.Root(), p.Path); err != nil {
				return err
			}
		}
	}
	return nil
}

// printChange prints what became wider or narrower, or that nothing did.
func (a *app) printChange(indent string, wider, narrower []profile.Grant) {
	for _, line := range changeLines(a.Err, wider, narrower) {
		fmt.Fprintln(a.Err, indent+line)
	}
	if len(wider)+len(narrower) == 0 {
		fmt.Fprintln(a.Err, indent+"it grants the same as before")
	}
}

// changeLines are a line for each grant that became wider or narrower, in colour where w may
// get it.
func changeLines(w io.Writer, wider, narrower []profile.Grant) (lines []string) {
	return consent.ChangeLines(func(code, text string) string { return cli.Paint(w, code, text) }, wider, narrower)
}

// showConsent prints what the profiles and the config.toml grant. A text that is longer than
// the terminal goes through a pager first, and the dangerous part stands once more below it.
func (a *app) showConsent(p consent.Page) {
	p.Settings, p.Paint = a.Settings, func(code, text string) string { return cli.Paint(a.Err, code, text) }
	p.Width = a.columns()
	detail, danger := p.Text()
	fmt.Fprint(a.Err, detail, danger) // what is dangerous next to the question
	for _, c := range p.List {
		for _, w := range c.Spec.Warnings() {
			a.Warn("%s", w)
		}
		if c.Stops != nil {
			why := strings.TrimPrefix(fault.First(c.Stops), fmt.Sprintf("profile %q: ", c.Profile.Name))
			a.Warn("profile %s does not start here: %s", c.Profile.Name, why)
			if r := fault.AsRefusal(c.Stops); r != nil && r.Hint != "" {
				a.Hint("%s", r.Hint)
			}
		}
	}
}

// givenUp are the words that a yes would no longer guard: what was allowed claimed them, and
// nothing that stays or comes does, nor your own config.toml.
func (a *app) givenUp(p proposal) (words []string) {
	var kept []string
	shims := p.cfg.Config.Shims
	if own, err := a.GlobalConfig(); err == nil {
		shims = slices.Concat(shims, own.Shims)
	}
	for _, kv := range shims {
		kept = append(kept, kv.Key)
	}
	for _, c := range p.list {
		kept = append(kept, c.Profile.Commands()...)
	}
	if old := p.rec.ConfigRecord(); old != nil && old.Decision == trust.Allowed {
		words = append(words, old.Commands...)
	}
	for _, old := range p.rec.All() {
		switch {
		case !p.has(old.Path) && (p.one || slices.Contains(p.files, old.Path)): // not asked about, or broken: it stays as it is
			kept = append(kept, old.Commands...)
		case old.Decision == trust.Allowed:
			words = append(words, old.Commands...)
		}
	}
	slices.Sort(words)
	return slices.DeleteFunc(slices.Compact(words), func(w string) bool { return slices.Contains(kept, w) })
}
