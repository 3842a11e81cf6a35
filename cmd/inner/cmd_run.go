package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/handover"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/visit"
	"github.com/enr/inner/profile"
)

// runFlags are the flags of `inner run`.
type runFlags struct {
	profile, workdir, entrypoint, argsFile, sha256, approved, bundle, timeout string
	who                                                                       cli.WhoFlags
	network, noNetwork, interactive, noInteractive                            bool
	mounts, env, args                                                         []string
	dryRun, json, yes, allowRemote, keep, denials, detach                     bool
	limits                                                                    profile.Limits
}

func (a *app) cmdRun() *cobra.Command {
	var f runFlags
	c := &cobra.Command{
		Use:   "run [-p NAME|./FILE|URL] [flags] [-- args]",
		Short: "Run a profile's program in its sandbox",
		Long: "Run a profile's program in its sandbox and exit with its exit code.\n\n" +
			"The arguments of the program are, in this order: the profile's args, --arg, the content\n" +
			"of --args-file, and the words after --. One command line in a sandbox:\n\n" +
			"    inner run -p shell-oneshot -- 'make test'",
		Args: cobra.ArbitraryArgs,
	}
	fl := c.Flags()
	fl.StringVarP(&f.profile, "profile", "p", "", "profile: a name, ./FILE, an absolute path or an https URL")
	fl.StringVarP(&f.workdir, "workdir", "w", "", "working folder, mounted read-write")
	fl.BoolVar(&f.network, "network", false, "allow the network")
	fl.BoolVar(&f.noNetwork, "no-network", false, "no network")
	fl.BoolVarP(&f.interactive, "interactive", "i", false, "give the program a terminal")
	fl.BoolVar(&f.noInteractive, "no-interactive", false, "give the program no terminal")
	fl.StringArrayVarP(&f.mounts, "mount", "m", nil, "SRC[:DEST][:MODE], MODE ro, rw or safe-rw (repeatable)")
	fl.StringArrayVarP(&f.env, "env", "e", nil,
		"`KEY=VALUE`, or KEY to pass your own without its value on the command line (repeatable)")
	fl.StringVar(&f.entrypoint, "entrypoint", "", "run this program instead, without the profile's args")
	fl.StringArrayVarP(&f.args, "arg", "a", nil, "one argument of the program (repeatable)")
	fl.StringVar(&f.argsFile, "args-file", "", "a file whose content is one argument")
	fl.StringVar(&f.timeout, "timeout", "", "stop after this `duration`: seconds, or 90s, 10m; 0 is no limit")
	fl.BoolVar(&f.keep, "keep", false, "keep the copies of safe-rw mounts, for inner changes")
	fl.BoolVar(&f.denials, "explain-denials", false,
		"list at the end the hidden places that the program asked for; it opens files more slowly")
	fl.BoolVar(&f.detach, "detach", false, "go on without this terminal: inner attach joins the program")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and a command to paste, run nothing")
	fl.BoolVar(&f.json, "json", false, "with --dry-run: the plan as JSON")
	fl.BoolVarP(&f.yes, "yes", "y", false, "do not ask; it never allows a remote profile")
	fl.BoolVar(&f.allowRemote, "allow-remote", false, "run a profile from a URL without asking")
	fl.StringVar(&f.sha256, "sha256", "", "the profile's digest, as `HEX`; anything else is refused")
	fl.StringVar(&f.approved, "approved", "",
		"run exactly the profile with this digest, `sha256:HEX`, from the file that -p names")
	fl.StringVar(&f.bundle, "bundle", "", "leave the commits of the run, and what it did not commit, as a git bundle in this `FILE`")
	fl.StringVar(&f.limits.Memory, "limit-memory", "", "memory limit, e.g. 2G")
	fl.StringVar(&f.limits.CPU, "limit-cpu", "", "CPU limit, e.g. 200%")
	fl.StringVar(&f.limits.Pids, "limit-pids", "", "process limit")
	fl.StringVar(&f.limits.Files, "limit-files", "", "open file limit")
	fl.StringVar(&f.limits.FileSize, "limit-file-size", "", "file size limit, e.g. 1G")
	fl.StringVar(&f.limits.Disk, "limit-disk", "", "limit of each file system in memory, e.g. 512M")
	_ = c.RegisterFlagCompletionFunc("profile", a.CompleteProfiles)
	f.who.Add(a.App, c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if err := a.checkRun(cmd, &f, args); err != nil {
			return err
		}
		return a.runRun(f, args)
	}
	return c
}

// checkRun refuses flags and words that do not go together.
func (a *app) checkRun(cmd *cobra.Command, f *runFlags, args []string) error {
	if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
		return fault.Refuse(2, a.runHint(args),
			"unexpected argument %q: -p names a profile, and the program's arguments go after --", args[0])
	}
	if err := cmp.Or(
		cli.Apart(cmd, "network", "no-network"), cli.Apart(cmd, "interactive", "no-interactive"),
		cli.Filled(cmd, "profile", "workdir", "entrypoint", "args-file", "bundle",
			"timeout"), cli.Filled(cmd, limitFlags()...), checkApproved(*f, cmd.Flags().Changed), f.who.Check(cmd),
	); err != nil {
		return err
	}
	if f.json && !f.dryRun {
		return cli.Usagef("--json goes with --dry-run: a run's output is the program's")
	}
	if f.detach && (f.dryRun || f.noInteractive || profile.IsURL(f.profile)) {
		return cli.Usagef("--detach needs a program in a terminal, and a profile that is not a URL; it does not go with --dry-run")
	}
	return nil
}

func (a *app) runRun(f runFlags, extra []string) error {
	launch.QuitPlainly()
	pl, err := a.Here()
	if err != nil {
		return err
	}
	o, err := a.overrides(f, extra)
	if err != nil {
		return err
	}
	if err := errInBox(); err != nil {
		return err
	}
	var word *os.File // to whoever started this process, that the program starts
	if f.detach {
		a.Environ = slices.DeleteFunc(slices.Clone(a.Environ), visit.NamesDetached)
		if word = visit.DetachedBy(); word == nil {
			return a.startDetached()
		}
	}
	call, err := a.callFor(f, pl, o)
	if err != nil {
		return err
	}
	if f.dryRun {
		return a.dryRun(call, f.json)
	}
	if f.detach {
		call.Detached = func(id string) {
			fmt.Fprintln(word, id)
			_ = word.Close()
		}
	}
	if f.denials {
		if err := learn.Supported(); err != nil {
			return fault.Refuse(125, "run it without", "--explain-denials does not work here: %v", err)
		}
		seen := learn.New()
		defer seen.Close()
		call.Observe = &features.Observe{Observer: seen, Done: seen.TellDenied}
	}
	if f.bundle == "" {
		return cli.Exit(shim.Leave(a.Process.Run(call)))
	}
	left, err := handover.Begin(context.Background(), pl.Cwd, f.bundle)
	if err != nil {
		return err
	}
	call.Ready = left.Ready
	out := a.Process.Run(call)
	if out.Started {
		out.Code = a.EndBundle(left, out.Code)
	}
	return cli.Exit(shim.Leave(out))
}

// callFor is the run that the flags ask for. That no profile can be used is noted in the audit
// log, unless nothing was to run.
func (a *app) callFor(f runFlags, pl settings.Place, o profile.Overrides) (run.Call, error) {
	call := run.Call{Word: "run"}
	if !f.dryRun {
		if err := a.FirstUse(); err != nil {
			return call, err
		}
	}
	unusable := func(err error, name string) error {
		if !f.dryRun {
			a.AuditUnusable(name, pl.Cwd, err)
		}
		return a.Unusable(err, name)
	}
	var err error
	if call.By, err = a.RoleFlags(f.who, pl, &f.profile); err != nil {
		return call, unusable(err, "")
	}
	if call.Profile, o, err = a.chooseRun(f, pl, o, call.By.Role); err != nil {
		return call, unusable(err, f.profile)
	}
	if call.Context, err = a.Context(pl, o, false); err != nil {
		return call, a.Unusable(err, "")
	}
	return call, nil
}

// dryRun prints what the run would be.
func (a *app) dryRun(call run.Call, asJSON bool) error {
	b, err := run.Show(a.Settings, call, !asJSON)
	if err != nil {
		return err
	}
	if asJSON {
		shown, err := preview.JSON(b)
		if err != nil {
			return err
		}
		return a.PrintJSON(shown)
	}
	rc := b.Spec
	fmt.Fprintf(a.Out, "# profile %s (%s)\n", rc.Name, cli.Printable(rc.Path))
	for _, g := range profile.Grants(rc) {
		fmt.Fprintf(a.Out, "#   %s\n", cli.Printable(g.Text))
	}
	for _, line := range picture.ReachLines(b.Reach) {
		fmt.Fprintf(a.Out, "#     %s\n", cli.Printable(line))
	}
	if left := b.LeftOut; len(left) > 0 {
		fmt.Fprintf(a.Out, "#   of your git settings it does not have: %s\n", cli.Printable(strings.Join(left, ", ")))
	}
	for _, line := range append(picture.LimitLines(b.Plan), picture.PortLines(b.Plan)...) {
		fmt.Fprintf(a.Out, "#   %s\n", cli.Printable(line))
	}
	_, err = tell.Raw(a.Out).Write(preview.Command(b))
	return err
}

// chooseRun finds the profile of a run, and what [commands] of config.toml makes of it.
func (a *app) chooseRun(f runFlags, pl settings.Place, o profile.Overrides, role string) (p *profile.Profile, _ profile.Overrides, err error) {
	switch {
	case f.approved != "":
		p, err = a.ChooseApproved(f.profile, f.approved, pl)
	case profile.IsURL(f.profile):
		p, err = a.chooseRemote(f, pl, o)
	default:
		if p, err = a.Choose(f.profile, pl); err == nil {
			err = checkPin(p.Files[0], f.sha256)
		}
	}
	if err != nil {
		return nil, o, err
	}
	chosen := p
	p, o, err = a.Commanded(pl, p, o, false, nil, role)
	if err == nil && f.approved != "" && p != chosen {
		err = fault.Refuse(125, "inner config edit",
			"[commands] of config.toml has profile %q for this command, but %q is approved", p.Path, chosen.Path)
	}
	return p, o, err
}

// specHere is what a profile comes to here; one that would not run is an error.
func (a *app) specHere(name string) (profile.RunConfig, error) {
	call, _, err := a.CallHere(name, cli.WhoFlags{}, profile.Overrides{}, false)
	if err != nil {
		return profile.RunConfig{}, err
	}
	return settings.Resolve(call.Profile, call.Context)
}

// errInBox refuses a run inside a box: it could only be another box, with other rules. It is nil outside.
func errInBox() error {
	if !cli.InBox() {
		return nil
	}
	return fault.Refuse(126, "type the program's name",
		"this is inside a sandbox already; programs started here stay in it")
}

// overrides turns flags into what the profile language knows.
func (a *app) overrides(f runFlags, extra []string) (profile.Overrides, error) {
	o := profile.Overrides{Entrypoint: f.entrypoint, Args: f.args, Extra: extra, Limits: f.limits, Workdir: f.workdir, Keep: f.keep}
	set := func(on, off bool) *bool {
		if !on && !off {
			return nil
		}
		return &on
	}
	if err := f.limits.CheckFlags(); err != nil {
		return o, cli.Misuse(err)
	}
	o.Network = set(f.network, f.noNetwork)
	o.Interactive = set(f.interactive, f.noInteractive)
	for _, m := range f.mounts {
		mount, err := parseMount(m)
		if err != nil {
			return o, cli.Misuse(err)
		}
		o.Mounts = append(o.Mounts, mount)
	}
	for _, e := range f.env {
		if err := addVariable(&o, e); err != nil {
			return o, err
		}
	}
	if f.timeout != "" {
		d, err := seconds(f.timeout)
		if err != nil {
			return o, err
		}
		o.Timeout = &d
	}
	if f.argsFile != "" {
		text, err := cli.ReadArgsFile(f.argsFile)
		if err != nil {
			return o, err
		}
		o.ArgsFile = &text
	}
	return o, nil
}

// limitFlags are the flags of limits. An empty one is a script whose variable is not set, and would be no limit.
func limitFlags() []string {
	return []string{"limit-memory", "limit-cpu", "limit-pids", "limit-files", "limit-file-size", "limit-disk"}
}

// seconds is a duration that may be a bare number of seconds, as [output] timeout_seconds is.
func seconds(text string) (time.Duration, error) {
	if strings.Trim(text, "0123456789") == "" {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, cli.Usagef("--timeout %q is not a number of seconds, nor a duration such as 10m", text)
	}
	return d, nil
}

// addVariable adds a variable as --env has it. Of two of a name the last one counts.
func addVariable(o *profile.Overrides, text string) error {
	kv, pass, err := profile.ParseEnv(text)
	if err != nil {
		return cli.Misuse(err)
	}
	if !pass {
		o.Env = append(o.Env, kv)
		o.Pass = slices.DeleteFunc(o.Pass, func(name string) bool { return name == kv.Key })
		return nil
	}
	if _, set := os.LookupEnv(kv.Key); !set {
		return cli.Usagef("--env %s: there is no such variable to pass; %s=VALUE gives it a value", kv.Key, kv.Key)
	}
	o.Pass = append(o.Pass, kv.Key)
	o.Env = slices.DeleteFunc(o.Env, func(it profile.KV) bool { return it.Key == kv.Key })
	return nil
}

// runHint is what somebody meant who typed words without -p and --.
func (a *app) runHint(words []string) string {
	if pl, err := a.Here(); err == nil {
		if _, err := a.Load(words[0], pl); err == nil {
			return "inner run -p " + words[0]
		}
	}
	return "inner run -p shell-oneshot -- " + quote.POSIX(strings.Join(words, " "))
}

// --approved sha256:HEX says that who starts inner has decided about a profile already, as
// the pod that inner export writes does. The digest takes the place of the trust store and
// of every question:
//
//  1. The profile is a file, named by its path, and its bytes have that digest; else 125.
//  2. It extends nothing: what it builds on would be other bytes.
//  3. No flag gives the box more than those bytes do.
//
// This opens nothing. A file named by its path is the caller's own word and needs no
// approval without the flag; the flag only refuses more. No shim and no config.toml can give
// it: a shim takes the words after the name of the program, and aliases of projects take
// profiles by name.

// approvedFlags are the flags of inner run that would give the box something that the
// approved bytes do not.
func approvedFlags() []string {
	return append(limitFlags(), "network", "workdir", "mount", "env", "entrypoint", "timeout", "sha256", "allow-remote")
}

// checkApproved says what is wrong with a command line that has --approved.
func checkApproved(f runFlags, changed func(flag string) bool) error {
	if !changed("approved") {
		return nil
	}
	if _, err := cli.ApprovedDigest(f.approved); err != nil {
		return err
	}
	if !strings.Contains(f.profile, "/") || strings.Contains(f.profile, "://") {
		return cli.Usagef("--approved goes with -p and the path of a file")
	}
	for _, flag := range approvedFlags() {
		if changed(flag) {
			return cli.Usagef("--%s and --approved contradict each other: exactly the approved profile runs", flag)
		}
	}
	return nil
}

// parseMount parses the value of --mount, SRC[:DEST][:MODE]. Source and Dest may
// still be relative or begin with "~/", and Dest is empty for the place that the source
// has itself; Resolve makes them absolute.
func parseMount(arg string) (profile.Mount, error) {
	parts := strings.Split(arg, ":")
	m := profile.Mount{Mode: profile.RO, File: "--mount"}
	if last := len(parts) - 1; last > 0 && !strings.ContainsAny(parts[last], "/~") {
		m.Mode, parts = profile.Mode(parts[last]), parts[:last]
	}
	if len(parts) > 2 || slices.Contains(parts, "") {
		return profile.Mount{}, fmt.Errorf("mount %q is not SRC[:DEST][:MODE]", arg)
	}
	if m.Source = parts[0]; len(parts) == 2 {
		m.Dest = parts[1]
	}
	switch m.Mode {
	case profile.RO, profile.RW, profile.SafeRW:
		return m, nil
	case profile.Tmpfs:
		return profile.Mount{}, fmt.Errorf("mount %q: a tmpfs has no source, write it under [mounts] of a profile", arg)
	}
	return profile.Mount{}, fmt.Errorf("mount %q: mode %q is not one of ro, rw, safe-rw", arg, m.Mode)
}
