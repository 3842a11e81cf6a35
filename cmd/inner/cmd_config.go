package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/config/keys"
)

// projectConfig is the config.toml of a new project.
const projectConfig = `# Settings of inner for this project. They are in force once you have allowed them:
# inner allow
#
# default_profile = "web"
# workspaces_path = "~/.inner/workspaces"
#
# [shims]
# claude = "web"
#
# [aliases]
# test = "run -p web -- make test"
`

func (a *app) cmdConfig() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use: "config", Short: "Show and change the settings",
		Long: "Show and change ~/.inner/config.toml, and with --local the .inner/config.toml of the project\n" +
			"here, whose settings take precedence once it is allowed.",
	}, a.cmdConfigShow(), a.cmdConfigEdit(), a.cmdConfigSet())
}

// setting is one effective setting and the file it comes from.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	File  string `json:"file,omitempty"` // "" for what holds when nobody says anything
	Line  int    `json:"line,omitempty"` // of the organisation's file
}

// settings are the effective ones: the allowed project's go first, key by key.
func (a *app) settings(pl settings.Place) ([]setting, error) {
	cfg, err := a.GlobalConfig()
	if err != nil {
		return nil, err
	}
	out := []setting{}
	put := func(c *config.Config, file string) {
		for _, s := range c.Settings {
			row := setting{Key: s.Key, Value: s.Value, File: file}
			if i := slices.IndexFunc(out, func(x setting) bool { return x.Key == s.Key }); i >= 0 {
				out[i] = row
			} else {
				out = append(out, row)
			}
		}
	}
	put(cfg, a.ConfigFile())
	if own, _, err := a.InForce(pl); err == nil && pl.Project != nil {
		put(own, filepath.Join(pl.Project.Dir, "config.toml"))
	}
	if !slices.ContainsFunc(out, func(s setting) bool { return s.Key == "default_profile" }) {
		out = append([]setting{{Key: "default_profile", Value: "default"}}, out...)
	}
	return out, nil
}

func (a *app) cmdConfigShow() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "show [KEY]", Short: "Print the settings that hold here, and where each is written", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeKeys,
		Long: "Print the settings that hold here, and where each is written; inner status says whether those of the\n" +
			"project are allowed. The lines of " + profile.OrganisationFile + " come last: they restrict all others.\n" +
			"With a KEY, print its value; exit code 1 when it is not set.",
	}, func(_ *cobra.Command, args []string) (cli.Answer, error) {
		pl, err := a.Here()
		if err != nil {
			return cli.Answer{}, err
		}
		list, err := a.settings(pl)
		if err != nil {
			return cli.Answer{}, err
		}
		if len(args) > 0 {
			return a.oneSetting(list, args[0])
		}
		o, err := a.Organisation()
		if err != nil {
			return cli.Answer{}, a.Unusable(err, "")
		}
		if o != nil {
			for _, l := range o.Lines {
				list = append(list, setting(l))
			}
		}
		return cli.Answer{Value: list, Words: func() { a.printSettings(list) }}, nil
	})
}

// oneSetting answers with the setting of one key.
func (a *app) oneSetting(list []setting, word string) (cli.Answer, error) {
	_, key, err := keys.Parse(word)
	if err != nil {
		return cli.Answer{}, cli.Misuse(err)
	}
	i := slices.IndexFunc(list, func(s setting) bool { return s.Key == key })
	if i < 0 {
		a.Say("%s is not set", key)
		return cli.Answer{}, cli.Exit(1)
	}
	return cli.Answer{Value: list[i], Words: func() { fmt.Fprintln(a.Out, cli.Printable(list[i].Value)) }}, nil
}

func (a *app) printSettings(list []setting) {
	var rows [][]string
	for _, s := range list {
		from := "default"
		if s.File != "" {
			from = a.Short(s.File)
		}
		if s.Line > 0 {
			from += ":" + strconv.Itoa(s.Line)
		}
		rows = append(rows, []string{s.Key, fmt.Sprintf("= %q", s.Value), "# " + from})
	}
	cli.Table(a.Out, rows)
}

// which names a config.toml: your own, or the project's.
type which struct{ local bool }

func (w *which) flags(c *cobra.Command) {
	c.Flags().BoolVar(&w.local, "local", false, "the project's config.toml")
	c.Flags().Bool("global", false, "your own config.toml, which is meant anyway")
	_ = c.Flags().MarkHidden("global") // a flag of that name exists
}

// configPath is where the config.toml is, which need not be there.
func (a *app) configPath(pl settings.Place, w which) (string, error) {
	switch {
	case !w.local:
		return a.ConfigFile(), nil
	case pl.Project == nil:
		return "", fault.Refuse(1, "mkdir -p .inner/profiles",
			"no project here: neither %s nor a folder above it has a .inner", a.Short(pl.Cwd))
	case pl.Project.Problem != nil:
		return "", fault.Refuse(126, "inner status", "%s is not used: %v", pl.Project.Dir, pl.Project.Problem)
	}
	return filepath.Join(pl.Project.Dir, "config.toml"), nil
}

func (w which) judge(file profile.File) error {
	_, err := config.Parse(file, w.local)
	return err
}

// configWritten brings the shims up to date with a changed config.toml, and says what else
// it needs.
func (a *app) configWritten(w which) error {
	if w.local {
		a.Hint("a project's settings are in force once you have allowed them: inner allow")
	}
	return a.Regenerate()
}

func (a *app) cmdConfigEdit() *cobra.Command {
	var w which
	c := &cobra.Command{
		Use: "edit", Short: "Edit a config.toml; a broken one is not saved", Args: cobra.NoArgs,
		RunE: a.OnHost(func(*cobra.Command, []string) error {
			d, err := a.changing(w)
			if err != nil {
				return err
			}
			file, err := profile.ReadFile(d.path)
			switch {
			case err == nil:
				d.text, d.old = file.Data, file.Data
			case !errors.Is(err, fs.ErrNotExist):
				return err
			case w.local:
				d.text = []byte(projectConfig)
			default:
				d.text = []byte(cli.FirstConfig)
			}
			if ok, err := a.edit(d); !ok {
				return err
			}
			return a.configWritten(w)
		}),
	}
	w.flags(c)
	return c
}

// changing is the config.toml that a command is about to change.
func (a *app) changing(w which) (draft, error) {
	pl, err := a.Ready()
	if err != nil {
		return draft{}, err
	}
	path, err := a.configPath(pl, w)
	return draft{path: path, judge: w.judge}, err
}

func (a *app) cmdConfigSet() *cobra.Command {
	var w which
	var unset bool
	c := &cobra.Command{
		Use: "set (KEY VALUE | --unset KEY)", Short: "Set one key or remove it, and leave the rest of the file as it is", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: a.completeKeys,
		Long: "Set one key of your config.toml, or with --local of the project's: default_profile,\n" +
			"workspaces_path, log, aliases.NAME, shims.COMMAND, default_limits.memory and so on. Comments\n" +
			"and order stay; what would not be valid is not written.",
		Example: "  inner config set default_profile claude-interactive\n  inner config set aliases.work 'run -p java -w ${workspaces_path}/x'\n  inner config set shims.claude claude-interactive",
		RunE: a.OnHost(func(cmd *cobra.Command, args []string) error {
			parts, _, err := keys.Parse(args[0])
			if err != nil {
				return cli.Misuse(err)
			}
			if unset != (len(args) == 1) {
				return cli.Usagef("either KEY VALUE, or --unset KEY")
			}
			if unset {
				return a.changeConfig(w, func(f profile.File) ([]byte, error) { return keys.Unset(f, parts) })
			}
			if parts[0] == "aliases" && a.isCommand(cmd.Root(), parts[1]) {
				return cli.Usagef("an alias cannot be called %q: that is a command of inner", parts[1])
			}
			if parts[0] == "default_profile" || parts[0] == "shims" {
				if err := a.isProfile(args[1], w.local); err != nil {
					return err
				}
			}
			return a.changeConfig(w, func(f profile.File) ([]byte, error) { return keys.Set(f, parts, args[1]) })
		}),
	}
	c.Flags().BoolVar(&unset, "unset", false, "remove the key")
	w.flags(c)
	return c
}

// isProfile returns an error when there is no profile of that name: for your own settings
// one of your own, for a project's also one of the project here.
func (a *app) isProfile(name string, local bool) error {
	if checkName(name) != nil {
		return nil // keys.Set says it in better words
	}
	if err := a.FirstUse(); err != nil {
		return err
	}
	var pl settings.Place
	if local {
		var err error
		if pl, err = a.Here(); err != nil {
			return err
		}
	}
	_, _, err := a.Loader(pl).Find(name)
	return err
}

func (a *app) changeConfig(w which, change func(profile.File) ([]byte, error)) error {
	d, err := a.changing(w)
	if err != nil {
		return err
	}
	if err := a.rewrite(d, change); err != nil {
		return err
	}
	return a.configWritten(w)
}

// completeKeys offers the keys of config.toml, and for tables with names of the
// user's own those that are there.
func (a *app) completeKeys(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		if args[0] == "default_profile" || strings.HasPrefix(args[0], "shims.") {
			return a.CompleteProfiles(nil, nil, "")
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := keys.All()
	if pl, err := a.Here(); err == nil {
		if list, err := a.settings(pl); err == nil {
			for _, s := range list {
				if !slices.Contains(names, s.Key) && cli.Printable(s.Key) == s.Key {
					names = append(names, s.Key)
				}
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
