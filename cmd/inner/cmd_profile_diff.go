package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
)

func (a *app) cmdProfileDiff() *cobra.Command {
	return a.Answers(&cobra.Command{
		Use: "diff A [B]", Short: "Compare what two profiles grant", Args: cobra.RangeArgs(1,
			2), ValidArgsFunction: a.CompleteProfiles,
		Long: "Compare what two profiles, names or ./FILEs, grant: what B lets a program do that A does not\n" +
			"(wider), and the other way round (narrower). With one name, of a built-in profile that you\n" +
			"changed: that of this version of inner, and yours. Exit code 0 when they grant the same, 1 when\n" +
			"they differ, 2 when one cannot be used.",
	}, func(_ *cobra.Command, args []string) (cli.Answer, error) {
		var grants [2][]profile.Grant
		one := len(args) == 1
		if one {
			args = append(args, args[0])
		}
		for i, name := range args {
			var err error
			if grants[i], err = a.grantsHere(name, one && i == 0); err != nil {
				a.Fail(err)
				return cli.Answer{}, cli.Exit(2)
			}
		}
		wider, narrower := profile.DiffGrants(grants[0], grants[1])
		return cli.Answer{
			Value: map[string]any{"a": args[0], "b": args[1], "wider": each(wider), "narrower": each(narrower)},
			Words: func() {
				for _, line := range changeLines(a.Out, wider, narrower) {
					fmt.Fprintln(a.Out, line)
				}
			},
			Code: cli.OneIf(len(wider)+len(narrower) > 0),
		}, nil
	})
}

// each is a list that is [] and not null when it is empty.
func each(list []profile.Grant) []profile.Grant { return append([]profile.Grant{}, list...) }

// grantsHere is what a profile grants; with original, what the built-in one of its name does.
func (a *app) grantsHere(name string, original bool) ([]profile.Grant, error) {
	f, err := a.find(name)
	if err != nil {
		return nil, err
	}
	p, err := f.load()
	if text := builtin.Read(name); original && text != nil {
		p, err = f.loader.LoadBytes(profile.File{Path: f.path, Data: text}, f.scope)
	} else if original {
		return nil, cli.Usagef("%q is no built-in profile: name two profiles", name)
	}
	if err != nil {
		return nil, err
	}
	return a.grantsOf(f, p)
}
