package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/contrib/profiles"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/remote"
	"github.com/enr/inner/profile/strict"
)

func (a *app) cmdProfileInstall() *cobra.Command {
	var f sharedFlags
	c := &cobra.Command{
		Use: "install NAME|URL", Short: "Keep a sample profile, or one from an https URL or a signed index", Args: cobra.ExactArgs(1), ValidArgsFunction: cli.CompleteFirst(profiles.Names),
		Long: "Keep one of the sample profiles that come with inner, or fetch a profile from an https URL, check it, and\n" +
			"keep it in ~/.inner/profiles under its name, the last part of the URL, or --name. Its digest and what it\n" +
			"grants are printed. Nothing is run; from then on it is a profile of your own, and not hardened as one of\n" +
			"inner run -p URL is.\n\n" +
			"With --from it is a profile that somebody publishes: INDEX is a git repository (a URL that ends in .git, or a\n" +
			"bare one here), an https URL, or a folder, with an index that is signed by the publisher's ssh key, for\n" +
			"which you are asked once. The profile has the digest that the index lists. The same command brings it up\n" +
			"to date, and shows the difference before it asks.\n\nSample profiles: " + strings.Join(profiles.Names(), ", "),
		RunE: a.OnHost(func(cmd *cobra.Command, args []string) error {
			if f.from != "" {
				return a.installShared(args[0], f)
			}
			if cmd.Flags().Changed("from") || f.publisher != "" {
				return cli.Usagef("--from names no index")
			}
			return a.installProfile(args[0], f.name, f.pin, f.force)
		}),
	}
	c.Flags().StringVar(&f.name, "name", "", "keep it under this name")
	c.Flags().StringVar(&f.pin, "sha256", "", "the digest it must have, as `HEX`")
	c.Flags().BoolVar(&f.force, "force", false, "replace a profile of that name")
	c.Flags().StringVar(&f.from, "from", "", "the folder, git repository or https URL of a signed `INDEX`")
	c.Flags().StringVar(&f.publisher, "publisher", "", "the `FINGERPRINT` of the key that signed the index, SHA256:…")
	return c
}

// toInstall is the text of a profile that is to be installed, and what it is called where it
// comes from.
func (a *app) toInstall(from, pin string) (file profile.File, name, source string, err error) {
	if profile.IsURL(from) {
		if file, err = a.download(from, pin); err != nil {
			return file, "", "", err
		}
		name, _ = remote.Name(from) // or --name, which was looked at
		return file, name, cli.BareURL(from), nil
	}
	data := profiles.Read(from)
	if data == nil || strings.Contains(from, "/") {
		return file, "", "", cli.Meant(fmt.Sprintf("%q is neither a URL nor one of the sample profiles %s; inner profile clone takes a file, and inner profile list shows those you have", from, strings.Join(profiles.Names(), ", ")), strict.Nearest(from, profiles.Names()))
	}
	if pin != "" {
		return file, "", "", cli.Usagef("--sha256 is for a URL: the sample profiles are part of inner")
	}
	return profile.FileOf(from+".toml", data), from, "the sample profiles", nil
}

func (a *app) installProfile(from, name, pin string, force bool) error {
	if name != "" {
		if err := checkName(name); err != nil {
			return err
		}
	} else if profile.IsURL(from) { // before anything is fetched
		if _, err := remote.Name(from); err != nil {
			return cli.Usagef("%w: --name gives it one", err)
		}
	}
	pl, err := a.Ready()
	if err != nil {
		return err
	}
	file, called, source, err := a.toInstall(from, pin)
	if err != nil {
		return err
	}
	name = cmp.Or(name, called)
	f := a.ownProfile(pl, name)
	if base := saysExtends(file); profiles.Read(base) != nil && !profile.IsURL(from) &&
		!files.Exists(a.ownProfile(pl, base).path) {
		if err := a.installProfile(base, "", "", false); err != nil {
			return err
		}
	}
	// Loaded as what it is, so that faults name the URL and it builds on no file;
	// looked at as what it will be.
	scope := profile.Remote
	if !profile.IsURL(from) {
		scope = profile.Global
	}
	return a.keep(f, name, file, kept{scope: scope, source: source, force: force})
}

// kept is how a profile is kept.
type kept struct {
	scope  profile.Scope // as what it is read
	source string        // for the audit log
	force  bool          // in the place of another
	first  func() error  // done once the profile was found to be right; nil for nothing
}

// keep judges a profile and stores it as one of the user's own, and says what it grants.
func (a *app) keep(f found, name string, file profile.File, k kept) error {
	p, err := f.loader.LoadBytes(file, k.scope)
	if err != nil {
		a.Fail(err)
		return cli.Exit(125)
	}
	// Under its name it may be its own base.
	if err := f.judge(profile.File{Path: f.path, Digest: file.Digest, Data: file.Data}); err != nil {
		a.Fail(err)
		a.Hint("--name OTHER")
		return cli.Exit(125)
	}
	p.Name, p.Scope = name, profile.Global
	if k.first != nil {
		if err := k.first(); err != nil {
			return err
		}
	}
	if err := a.store(f.path, file.Data, k.force); err != nil {
		return err
	}
	a.Audit(runlog.Event{Type: runlog.EventInstall, Profile: name, Path: f.path, Digest: file.Digest, Reason: "from " + k.source})
	a.Say("sha256 %s", file.Digest)
	if grants, err := a.grantsOf(f, p); err == nil {
		a.Say("it grants:")
		a.printGrants(grants)
	}
	v := a.validateLoaded(validated{Name: name, Path: f.path}, f, p)
	for _, e := range v.Errors {
		a.Warn("it does not run here yet: %s", e)
	}
	for _, w := range v.Warnings {
		a.Warn("%s", w)
	}
	if v.OK {
		a.Hint("inner profile show %s --explain, then inner run -p %s", name, name)
	} else {
		a.Hint("inner profile show %s --explain", name)
	}
	return a.saved(f)
}

// store writes a profile that is installed.
func (a *app) store(path string, data []byte, force bool) error {
	err := cli.CreateFile(path, data, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	if force {
		return files.Rewrite(path, data)
	}
	return fault.Refuse(1, "--name OTHER, or --force to replace it", "profile %q already exists", path)
}

// Profiles from a URL: fetched, checked, hardened, shown, asked for. Nothing of
// one is written to disk unless it is installed.

// download reads a profile from a URL and holds it against the digest it must
// have, when there is one.
func (a *app) download(url, pin string) (profile.File, error) {
	if err := remote.Check(url); err != nil {
		return profile.File{}, fault.Refuse(126,
			"use an https URL, or download it, read it, and use -p ./FILE", "profile %v", err)
	}
	if err := a.Permitted(profile.ForbidRemote, "a profile from a URL"); err != nil {
		return profile.File{}, err
	}
	if pin != "" { // before anything is fetched
		if _, err := remote.ParseDigest(pin); err != nil {
			return profile.File{}, cli.Usagef("--sha256: %w", err)
		}
	}
	page, err := a.fetch(url)
	if r := fault.AsRefusal(err); r != nil {
		return profile.File{}, r
	}
	if err != nil {
		return profile.File{}, fault.Refuse(125, "", "profile %v", err)
	}
	for _, host := range page.Hops {
		a.Say("%s redirects to %s", url, host)
	}
	file := profile.FileOf(url, page.Data)
	return file, checkPin(file, pin)
}

// fetch reads what is at a URL.
func (a *app) fetch(url string) (remote.Page, error) {
	path, err := a.FindBeside(cli.Fetch)
	if err != nil {
		return remote.Page{}, err
	}
	return remote.Get(a.Command(path, cli.FetchWord, url), url)
}

// checkPin holds the file of a profile against --sha256.
func checkPin(file profile.File, pin string) error {
	if pin == "" {
		return nil
	}
	want, err := remote.ParseDigest(pin)
	if err != nil {
		return cli.Usagef("--sha256: %w", err)
	}
	if file.Digest != want {
		return fault.Refuse(126, "somebody changed it: read it before you trust it",
			"profile %q has the sha256 %s, expected %s", file.Path, file.Digest, want)
	}
	return nil
}

// chooseRemote fetches the profile of a URL for one run, hardens it, shows it
// and asks. Nobody is asked about what could not run anyway.
func (a *app) chooseRemote(f runFlags, pl settings.Place, o profile.Overrides) (*profile.Profile, error) {
	file, err := a.download(f.profile, f.sha256)
	if err != nil {
		return nil, err
	}
	p, err := a.Loader(pl).LoadBytes(file, profile.Remote)
	if err != nil {
		return nil, err
	}
	if p.Name, err = remote.Name(f.profile); err != nil {
		p.Name = "remote"
	}
	p, changes := p.Harden()
	rc, _, err := a.Spec(p, pl, o, false)
	if err != nil {
		return nil, err
	}
	if p.Experimental {
		return nil, fault.Refuse(125, "", "profile %q is marked experimental", f.profile)
	}
	a.showRemote(p, changes, profile.Grants(rc))
	return p, a.confirm(question{text: "Run this once?", yes: f.dryRun || f.allowRemote, no: "nothing was run", noTerminal: &fault.Refusal{
		Code: 126, Msg: "a remote profile needs confirmation, and standard input is not a terminal",
		Hint: "read it above, then: inner run --allow-remote --sha256 " + file.Digest + " -p " + f.profile,
	}})
}

func (a *app) showRemote(p *profile.Profile, changes []string, grants []profile.Grant) {
	fmt.Fprintf(a.Err, "remote profile %s\n  sha256 %s\n", cli.Printable(p.Path), p.Files[0].Digest)
	if p.Description != "" {
		fmt.Fprintf(a.Err, "  description: %s\n", cli.Printable(p.Description))
	}
	for _, path := range p.Extends() {
		fmt.Fprintf(a.Err, "  extends your %s\n", cli.Printable(a.Short(path)))
	}
	if len(changes) > 0 {
		fmt.Fprintln(a.Err, "hardened:")
	}
	for _, line := range changes {
		fmt.Fprintf(a.Err, "  %s\n", cli.Printable(line))
	}
	fmt.Fprintln(a.Err, "grants:")
	a.printGrants(grants)
}
