package main

// Profiles from a URL: fetched, checked, hardened, shown, asked for. Nothing of
// one is written to disk unless it is installed.

import (
	"fmt"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/remote"
)

// download reads a profile from a URL and holds it against the digest it must
// have, when there is one.
func (a *app) download(url, pin string) (profile.File, error) {
	if err := remote.Check(url); err != nil {
		return profile.File{}, fault.Refuse(126, "use an https URL, or download it, read it, and use -p ./FILE", "profile %v", err)
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
		return fault.Refuse(126, "somebody changed it: read it before you trust it", "profile %q has the sha256 %s, expected %s", file.Path, file.Digest, want)
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
