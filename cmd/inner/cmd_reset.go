package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
	"github.com/spf13/cobra"
)

func (a *app) cmdReset() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "reset", Short: "Restore the built-in profiles; your own are kept", Args: cobra.NoArgs,
		Long: "Write the built-in profiles as they come with this version of inner. What you have changed\n" +
			"in them is shown as grants before you are asked, and is lost. Profiles of your own, config.toml\n" +
			"and what you have allowed stay.",
		RunE: a.onHost(func(_ *cobra.Command, _ []string) error { return a.reset(yes) }),
	}
	yesFlag(c, &yes)
	c.Flags().BoolVarP(&yes, "force", "f", false, "do not ask")
	return c
}

func (a *app) reset(yes bool) error {
	changed := a.changedBuiltins()
	if len(changed) > 0 {
		for _, name := range changed {
			a.showReset(name)
		}
		if err := a.askFor(fmt.Sprintf("Restore %d built-in profiles?", len(changed)), yes, "inner reset --yes"); err != nil {
			return err
		}
	}
	for _, name := range changed {
		// Taken away first: what is there may be a link or a folder's name.
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	written, err := a.install("")
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(a.stdout, path)
	}
	if len(written) == 0 {
		a.Say("the built-in profiles are unmodified; nothing was changed")
	}
	return a.Regenerate()
}

// changedBuiltins names the built-in profiles that are not as they came.
// Missing ones are not among them: bringing them back loses nothing.
func (a *app) changedBuiltins() []string {
	var out []string
	for _, name := range builtin.Names() {
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if file, err := profile.ReadFile(path); err != nil || !bytes.Equal(file.Data, builtin.Read(name)) {
			out = append(out, name)
		}
	}
	return out
}

// showReset says what becomes of a built-in profile that was changed.
func (a *app) showReset(name string) {
	pl, err := a.Here()
	f := a.ownProfile(pl, name)
	fmt.Fprintf(a.stderr, "%s differs from the built-in profile:\n", printable(a.Short(f.path)))
	if err != nil {
		return
	}
	old, err := f.loader.Load(f.path, profile.Global)
	if err != nil {
		fmt.Fprintln(a.stderr, "  it is broken")
		return
	}
	fresh, err := f.loader.LoadBytes(profile.File{Path: f.path, Data: builtin.Read(name)}, profile.Global)
	if err != nil {
		return
	}
	was, _, err := a.resolveHere(f, old)
	if err != nil {
		fmt.Fprintln(a.stderr, "  it does not run here")
		return
	}
	will, _, err := a.resolveHere(f, fresh)
	if err != nil {
		return
	}
	wider, narrower := profile.DiffGrants(profile.Grants(was), profile.Grants(will))
	a.printChange("  ", wider, narrower)
}
