package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/listing"
)

func (a *app) cmdProfileShow() *cobra.Command {
	var explain, resolved, asJSON bool
	c := &cobra.Command{
		Use: "show [NAME|./FILE]", Short: "Print a profile", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.CompleteOneProfile,
		Long: "Print a profile as it is written; without a name, the default one.\n\n" +
			"--resolved prints it merged with everything it extends, each value with the file it comes\n" +
			"from: a profile in its own right. --explain adds what inner explain says of it.",
		RunE: func(_ *cobra.Command, args []string) error {
			if explain && resolved {
				return cli.Usagef("--explain and --resolved are two views: choose one")
			}
			f, err := a.find(strings.Join(args, ""))
			if err != nil {
				return err
			}
			return a.showProfile(f, len(args) == 0, explain, resolved, asJSON)
		},
	}
	c.Flags().BoolVar(&explain, "explain", false, "also what its sandbox can see and do here")
	c.Flags().BoolVar(&resolved, "resolved", false, "merged with everything it extends")
	cli.JSONFlag(c, &asJSON)
	return c
}

func (a *app) showProfile(f found, byDefault, explain, resolved, asJSON bool) error {
	file, err := profile.ReadFile(f.path)
	if err != nil {
		return err
	}
	header := ""
	if byDefault {
		header = fmt.Sprintf("# the default profile: %s (%s)\n", cli.NameOf(f.path), a.Short(f.path))
	}
	if !explain && !resolved && !asJSON {
		a.printText(header + string(file.Data))
		return nil
	}
	p, err := f.load()
	if err != nil {
		return err
	}
	rc, c, err := a.resolveHere(f, p)
	if resolved && !asJSON {
		a.printText(header + resolvedText(p, c)) // what is missing on this host does not matter
		return nil
	}
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(map[string]any{
			"name": p.Name, "path": p.Path, "scope": p.Scope, "sha256": file.Digest, "extends": p.Extends(), "toml": string(file.Data),
			"resolved": resolvedText(p, c), "grants": picture.GrantsOf(p,
				rc), "origins": p.Origins(), "capabilities": rc.Capabilities,
		})
	}
	a.printText(header + string(file.Data))
	pic, _ := a.pictureOf(p, c) // why it would not start is told in it
	pic.Profile.Approved, pic.Profile.Trust = a.standing(f.place, p)
	var b bytes.Buffer
	picture.Text(&b, pic, picture.Style{Clean: cli.Printable})
	fmt.Fprintln(a.Out)
	for line := range strings.Lines(b.String()) {
		fmt.Fprint(a.Out, "# ", line)
	}
	return nil
}

// resolvedText is a profile as one file, merged with what it extends.
func resolvedText(p *profile.Profile, c profile.Context) string {
	return listing.Resolved(p.Name, append([]string{p.Path}, p.Extends()...), p.Merged(c), c.Home)
}

// printText prints a file, wherever it goes, so that everything in it is seen.
func (a *app) printText(text string) { fmt.Fprint(a.Out, visible.Lines(text)) }
