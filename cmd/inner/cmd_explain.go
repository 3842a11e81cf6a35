package main

// A picture for people: what the box of a profile can see and do here.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

type explainFlags struct {
	profile, html string
	json          bool
}

func (a *app) cmdExplain() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{
		Use: "explain [NAME|./FILE]", Short: "Show what a profile's sandbox can see and do here", Args: cli.OneProfile(&f.profile),
		Long: "Show what the sandbox of a profile can see and do on this machine: its files, what is\n" +
			"hidden from it, network, variables and limits. Nothing is run and nothing is made.\n" +
			"Without a name: the profile of this project, else the default one.\n\n" +
			"A profile that is not allowed is shown, too. For one that would not start here the exit\n" +
			"code is that of inner run.",
		ValidArgsFunction: a.CompleteOneProfile,
		RunE: a.OnHost(func(cmd *cobra.Command, _ []string) error {
			if err := cmp.Or(cli.Apart(cmd, "json", "html"), cli.Filled(cmd, "html")); err != nil {
				return err
			}
			return a.explain(f)
		}),
	}
	a.ProfileFlag(c, &f.profile)
	c.Flags().StringVar(&f.html, "html", "", "write a page to `FILE`; - is standard output")
	cli.JSONFlag(c, &f.json)
	_ = c.MarkFlagFilename("html", "html")
	return c
}

func (a *app) explain(f explainFlags) error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	name, chosen := f.profile, ""
	if name == "" {
		if name, chosen, err = a.nameHere(pl); err != nil {
			return a.Unusable(err, "")
		}
	}
	p, err := a.Load(name, pl)
	if err != nil {
		return a.Unusable(err, name)
	}
	c, err := a.Context(pl, profile.Overrides{}, false)
	if err != nil {
		return a.Unusable(err, "")
	}
	pic, refused := a.pictureOf(p, c)
	pic.Profile.Chosen = chosen
	pic.Profile.Approved, pic.Profile.Trust = a.standing(pl, p)
	if err := a.showPicture(pic, f); err != nil {
		return err
	}
	if refused != nil {
		return a.Unusable(refused, "")
	}
	if !f.json && f.html == "" {
		a.Hint("%s", p.Question("PATH"))
	}
	return nil
}

// nameHere is the profile of a look without -p, and why: the one of the project,
// allowed or not, else the default.
func (a *app) nameHere(pl settings.Place) (name, chosen string, err error) {
	if pl.Project != nil && pl.Project.Problem == nil {
		if own, _, err := a.InForce(pl); err == nil && own.DefaultProfile != "" {
			return own.DefaultProfile, "default_profile of " + a.Short(filepath.Join(pl.Project.Dir, "config.toml")), nil
		}
		if name, chosen = claimed(a.Look(pl)); name != "" {
			return name, chosen, nil
		}
	}
	cfg, err := a.GlobalConfig()
	if err != nil || cfg.DefaultProfile == "" {
		return "default", "no default_profile is set", err
	}
	return cfg.DefaultProfile, "default_profile of " + a.Short(a.ConfigFile()), nil
}

// claimed is the first profile of a project that claims a command, else the first, or
// else the first that its allowed config.toml maps a command to.
func claimed(v *shims.View) (name, chosen string) {
	var names []string
	for _, p := range v.Profiles {
		if p.State == trust.Deleted {
			continue
		}
		names = append(names, p.Name)
		if len(p.Claims) > 0 && p.Err == nil && chosen == "" {
			name, chosen = p.Name, "this project's, claims "+p.Claims[0].Command
		}
	}
	switch {
	case name == "" && len(names) > 0:
		name, chosen = names[0], "this project's"
	case name == "" && v.Conf.State == trust.Allowed && len(v.Conf.Claims) > 0 && v.Conf.Claims[0].Target != "":
		return v.Conf.Claims[0].Target, "this project's config.toml gives it " + v.Conf.Claims[0].Command
	}
	if others := slices.DeleteFunc(names, func(n string) bool { return n == name }); len(others) > 0 {
		chosen += "; here, too: " + strings.Join(others, ", ") + " (-p)"
	}
	return name, chosen
}

// standing says whether a profile may be used, in words.
func (a *app) standing(pl settings.Place, p *profile.Profile) (approved bool, text string) {
	switch p.Scope {
	case profile.Global:
		return true, "your own, need not be allowed"
	case profile.Direct:
		return true, "a file you name need not be allowed"
	}
	v := a.Verdict(pl, p)
	switch v.State {
	case trust.Allowed:
		if why := a.widened(pl, p); why != "" {
			return false, "NOT ALLOWED as it is: " + why
		}
		return true, "allowed, as it is now"
	case trust.Untrusted:
		return false, "NOT ALLOWED: read this, then inner allow"
	case trust.Denied:
		return false, "DENIED: it does not run"
	}
	return false, fmt.Sprintf("NOT ALLOWED as it is (%s): read this, then inner allow",
		cmp.Or(v.Detail, string(v.State)))
}

// pictureOf shows as much of a profile's box as there is, and returns why a run would
// be refused, other than because it is not allowed.
func (a *app) pictureOf(p *profile.Profile, c profile.Context) (picture.Picture, error) {
	pic := picture.Picture{Profile: picture.Profile{
		Name: p.Name, Description: p.Description, File: a.Short(p.Path), Scope: string(p.Scope),
	}}
	for _, e := range p.Extends() {
		pic.Profile.Extends = append(pic.Profile.Extends, a.Short(e))
	}
	rc, _ := settings.Resolve(p, c) // Look says why not
	meant := run.Named(a.Caller, rc)
	b, refused, stops := preview.Look(a.Settings, p, c)
	if pic.Program.Missing = refused != nil; !pic.Program.Missing {
		refused = stops
		pic.Program.Path = a.Short(b.Program)
		if len(b.Argv) > 0 {
			meant.Entrypoint.Args = b.Argv[1:]
		}
	}
	if refused == nil {
		refused = run.Experimental(p)
	}
	pic.Program.Folder = a.Short(meant.Cwd)
	pic.Program.Command, pic.Program.Chosen = a.programOf(p, meant)
	if b.Spec.Name != "" { // else nothing is known of it
		pic.Groups = picture.Groups(p, b)
	}
	if rows := a.gotMeanwhile(p.Name); len(rows) > 0 {
		pic.Groups = append(pic.Groups, picture.Group{Key: "running", Title: "Sandboxes that run", Rows: rows})
	}
	if refused != nil {
		pic.Refused = &picture.Refused{Why: refused.Error(), Code: fault.Code(refused)}
		if why := fault.AsRefusal(refused); why != nil {
			pic.Refused.Hint = why.Hint
		}
	}
	return pic, refused
}

// gotMeanwhile says what the boxes of a profile got since they run.
func (a *app) gotMeanwhile(name string) (rows []picture.Row) {
	boxes, _ := a.runningOf(name, false)
	for _, b := range boxes {
		if len(b.Granted) > 0 {
			rows = append(rows, picture.Row{Way: picture.Seen, Text: "run " + b.Run + " got meanwhile: " + strings.Join(b.Granted, ", ")})
		}
	}
	return rows
}

// programOf is what runs as it is typed, and where that is written.
func (a *app) programOf(p *profile.Profile, rc profile.RunConfig) (command, chosen string) {
	command = profile.Grants(rc)[0].Items[0].Text
	if rc.Name == "" && p.Program() != "" {
		command = p.Program()
	}
	for _, o := range p.OriginsOf(profile.Grant{Key: "runs"}) {
		if o.Key == "entrypoint.cmd" && p.Program() != "" {
			return command, fmt.Sprintf("entrypoint.cmd, %s:%d", a.Short(o.File), o.Line)
		}
	}
	if os.Getenv("SHELL") != "" {
		return command, "$SHELL: the profile names no program"
	}
	return command, "neither the profile nor $SHELL names one"
}

// showPicture prints a picture, or writes it to a file.
func (a *app) showPicture(pic picture.Picture, f explainFlags) error {
	switch {
	case f.json:
		return a.PrintJSON(pic)
	case f.html == "-":
		_, err := a.Out.Write(picture.HTML(pic, cli.Printable))
		return err
	case f.html != "":
		return a.writePage(f.html, picture.HTML(pic, cli.Printable))
	}
	style := picture.Style{Clean: cli.Printable, Paint: func(code, text string) string { return cli.Paint(a.Out, code, text) }}
	if out, ok := tell.FileOf(a.Out); ok && caller.IsTerminal(out) {
		style.Width, style.Most = 100, 10 // one screen, mostly; a pipe gets all
		if width, _, err := term.GetSize(int(out.Fd())); err == nil && width > 0 {
			style.Width = min(width, 130)
		}
	}
	picture.Text(a.Out, pic, style)
	return nil
}

// writePage puts a page in the place of a file at once.
func (a *app) writePage(path string, page []byte) error {
	switch fi, err := os.Lstat(path); {
	case err == nil && !fi.Mode().IsRegular():
		return cli.Usagef("%q is not a regular file, and stays as it is", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := files.Write(path, page, 0o600); err != nil {
		return err
	}
	a.Say("wrote %s", path)
	return nil
}
