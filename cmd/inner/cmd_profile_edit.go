package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
	"github.com/enr/inner/profile/starter"
	"github.com/enr/inner/profile/strict"
)

func (a *app) cmdProfileNew() *cobra.Command {
	var noEdit, local bool
	c := &cobra.Command{
		Use: "new NAME", Short: "Write a new profile, in your editor", Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		Long: "Write a new profile from a template, in $EDITOR, else $VISUAL, else vi or nano. It is saved\n" +
			"when it is valid. --local makes it the project's, in .inner/profiles here.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			f, err := a.newFile(args[0], local)
			if err != nil {
				return err
			}
			_, err = a.FindReal(args[0], os.Getenv("PATH"))
			text := starter.New(args[0], err == nil)
			if noEdit {
				if err := cli.CreateFile(f.path, text, 0o600); err != nil {
					return err
				}
			} else if ok, err := a.edit(draft{path: f.path, text: text, judge: f.judge}); !ok {
				return err
			}
			return a.saved(f)
		}),
	}
	c.Flags().BoolVar(&noEdit, "no-edit", false, "only write the template")
	c.Flags().BoolVar(&local, "local", false, "a profile of the project here")
	return c
}

// newFile is the place of a profile that does not exist yet.
func (a *app) newFile(name string, local bool) (found, error) {
	if err := checkName(name); err != nil {
		return found{}, err
	}
	pl, err := a.Ready()
	if err != nil {
		return found{}, err
	}
	f := a.ownProfile(pl, name)
	if local {
		root := pl.Cwd
		if pl.Project != nil {
			root = pl.Root()
			if pl.Project.Problem != nil {
				return f, fault.Refuse(126, "inner status", "%s is not used: %v", pl.Project.Dir, pl.Project.Problem)
			}
		}
		if own := filepath.Join(root, ".inner"); own == a.InnerHome || own == filepath.Join(a.Home, ".inner") {
			return f, fault.Refuse(1, "inner profile new "+name+", or cd to a project",
				"%s is not a project: %s is inner's own folder", a.Short(root), a.Short(own))
		}
		dir, err := makeProfiles(root)
		if err != nil {
			return f, err
		}
		f.path, f.scope = filepath.Join(dir, name+".toml"), profile.Local
		f.place.Project = a.ProjectOf(root)
	}
	if _, err := os.Lstat(f.path); err == nil {
		return f, fault.Refuse(1, "inner profile edit "+name, "profile %q already exists", f.path)
	}
	return f, nil
}

// profilesFolder is the folder of the profiles of a project, through no link: a project from a stranger says
// with one where this would write. What others can write is not used, and so not written.
func profilesFolder(root string) (string, error) {
	inner := filepath.Join(root, ".inner")
	dir := filepath.Join(inner, "profiles")
	for _, d := range []string{inner, dir} {
		fi, err := os.Lstat(d)
		switch {
		case err != nil:
		case !fi.IsDir():
			return "", fault.Refuse(126, "look at it, then rm "+cli.Quoted(d),
				"%q is a link, or not a folder: no profile is written there", d)
		case own.Fault(fi) != "":
			return "", fault.Refuse(126, ownFolder, "%q %s: no profile is written there", d, own.Fault(fi))
		}
	}
	return dir, nil
}

// makeProfiles makes it.
func makeProfiles(root string) (string, error) {
	dir, err := profilesFolder(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fault.Refuse(1, "where a project cannot be changed, inner init --everywhere AGENT sandboxes an agent in all folders",
			"no profile can be written to %q: %v", dir, err)
	}
	return dir, nil
}

// judge says whether a text may become the profile f.
func (f found) judge(file profile.File) error {
	_, err := f.loader.LoadBytes(file, f.scope)
	return err
}

// saved tells about a profile that was written, and sees to its shims.
func (a *app) saved(f found) error {
	fmt.Fprintln(a.Out, f.path)
	if f.scope == profile.Local {
		a.Hint("a project's profile is used once you have allowed it: inner allow")
	}
	return a.Regenerate()
}

func (a *app) cmdProfileEdit() *cobra.Command {
	return &cobra.Command{
		Use: "edit NAME|./FILE", Short: "Edit a profile; a broken one is not saved", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteOneProfile,
		Long: "Edit a copy of a profile in $EDITOR, else $VISUAL, else vi or nano. It takes the place of\n" +
			"the profile when it is valid; otherwise its faults are shown and you are asked to go on. An\n" +
			"editor that ends with an error changes nothing. Whether a project's profile is allowed as it\n" +
			"is then is asked right away, as inner allow does.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			f, err := a.find(args[0])
			if err != nil {
				return err
			}
			file, err := profile.ReadFile(f.path)
			if err != nil {
				return err
			}
			ok, err := a.edit(draft{path: f.path, text: file.Data, old: file.Data, judge: f.judge})
			if !ok {
				return err
			}
			if f.scope != profile.Local || !caller.IsTerminal(a.In) {
				return a.saved(f)
			}
			if err := a.Regenerate(); err != nil {
				return err
			}
			return a.allow([]string{f.path}, false)
		}),
	}
}

func (a *app) cmdProfileClone() *cobra.Command {
	var local bool
	c := &cobra.Command{
		Use: "clone SRC DST", Short: "Copy a profile under another name", Args: cobra.ExactArgs(2),
		ValidArgsFunction: a.CompleteOneProfile,
		Long:              "Copy a profile, a name or ./FILE, as the starting point of another. The copy is your own;\n--local makes it the project's. Its name key says the new name.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			src, err := a.find(args[0])
			if err != nil {
				return err
			}
			file, err := profile.ReadFile(src.path)
			if err != nil {
				return err
			}
			dst, err := a.newFile(args[1], local)
			if err != nil {
				return err
			}
			text, err := renamed(file, args[1])
			if err != nil {
				return err
			}
			if err := dst.judge(profile.File{Path: dst.path, Data: text}); err != nil {
				return err
			}
			if err := cli.CreateFile(dst.path, text, 0o600); err != nil {
				return err
			}
			return a.saved(dst)
		}),
	}
	c.Flags().BoolVar(&local, "local", false, "a profile of the project here")
	return c
}

// renamed is a profile with its name key, when it has one, saying name.
func renamed(file profile.File, name string) ([]byte, error) {
	if !says(file, "name").Set {
		return file.Data, nil
	}
	text, err := strict.Edit(string(file.Data), []string{"name"}, fmt.Sprintf("%q", name))
	return []byte(text), err
}

func (a *app) cmdProfileDelete() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "delete NAME", Aliases: []string{"rm"}, Short: "Delete a profile", Args: cobra.ExactArgs(1), ValidArgsFunction: a.CompleteOneProfile,
		Long: "Delete a profile, after asking. Those that extend it do not start without it. inner init --restore\nrestores a built-in one.",
		RunE: a.OnHost(func(_ *cobra.Command, args []string) error {
			if err := checkName(args[0]); err != nil {
				return err
			}
			f, err := a.find(args[0])
			if err != nil {
				return err
			}
			if err := a.askFor(fmt.Sprintf("Delete %s?", cli.Printable(a.Short(f.path))), yes,
				"inner profile delete --yes "+args[0]); err != nil {
				return err
			}
			return a.deleteProfile(f, args[0])
		}),
	}
	cli.YesFlag(c, &yes)
	return c
}

func (a *app) deleteProfile(f found, name string) error {
	if err := os.Remove(f.path); err != nil {
		return err
	}
	a.Say("deleted %s", a.Short(f.path))
	switch {
	case f.scope == profile.Local:
		// Who deletes it here has said so; the record of an allowed profile that
		// is gone would go on refusing its command.
		root := f.place.Root()
		if f.place.Project.FromMain() {
			root = f.place.Project.Of
		}
		if err := a.revoke(root, f.path); err != nil {
			return err
		}
	case slices.Contains(builtin.Names(), name):
		a.Hint("inner init --restore restores it")
	}
	if cfg, err := a.GlobalConfig(); err == nil && f.scope == profile.Global {
		for _, kv := range cfg.Shims {
			if kv.Value == name {
				a.Say("[shims] of %s still gives %s to it, which is refused so",
					a.Short(a.ConfigFile()), cli.Printable(kv.Key))
				a.Hint("inner config set --unset %s", cli.Quoted("shims."+kv.Key))
			}
		}
	}
	return a.Regenerate()
}

// saysExtends is what a profile extends, whatever else is wrong with it.
func saysExtends(file profile.File) string {
	return says(file, "extends").V
}

// says is what a profile says of one key, whatever else is wrong with it.
func says(file profile.File, key string) strict.Value {
	doc, _ := strict.Decode(file.Path, file.Data, []strict.Key{{Name: key}})
	return *doc.Value(key)
}
