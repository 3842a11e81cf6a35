package main

import (
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// commanded finds the profile that [commands] of config.toml has for what is to run: argv as
// it was typed, or nil for what the profile and the flags come to. Without one for it, what
// it was given comes back.
func (a *app) commanded(pl settings.Place, p *profile.Profile, o profile.Overrides, forShim bool, argv []string) (*profile.Profile, profile.Overrides, error) {
	table, err := a.Commands(pl)
	if err != nil || len(table.Profiles) == 0 && !table.Only {
		return p, o, err
	}
	if argv == nil {
		c, err := a.Context(pl, o, forShim)
		if err != nil {
			return p, o, err
		}
		rc, err := settings.Resolve(p, c)
		if err != nil {
			return p, o, err
		}
		argv = append([]string{rc.Entrypoint.Cmd}, rc.Entrypoint.Args...)
	}
	name, err := settings.Commanded(table, argv, "")
	if err != nil || name == "" {
		return p, o, err
	}
	if p, err = a.Choose(name, pl); err != nil {
		return p, o, err
	}
	o.Entrypoint, o.Args, o.ArgsFile, o.Extra = argv[0], nil, nil, argv[1:]
	return p, o, nil
}
