package shim

import (
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// Commanded finds the profile that [commands] of config.toml has for what is to run: argv as
// it was typed, or nil for what the profile and the flags come to. Without one for it, or for this
// role, "" for none, what it was given comes back.
func (p *Process) Commanded(pl settings.Place, given *profile.Profile, o profile.Overrides, forShim bool, argv []string, role string) (*profile.Profile, profile.Overrides, error) {
	table, err := p.Commands(pl)
	if err != nil || len(table.Profiles) == 0 && !table.Only {
		return given, o, err
	}
	var rc profile.RunConfig
	if argv == nil {
		if rc, _, err = p.Spec(given, pl, o, forShim); err != nil {
			return given, o, err
		}
		argv = append([]string{rc.Entrypoint.Cmd}, rc.Entrypoint.Args...)
	}
	name, err := settings.Commanded(table, argv, "")
	if err != nil || name == "" {
		return given, o, err
	}
	chosen, err := p.Choose(name, pl)
	if err != nil {
		return nil, o, err
	}
	if role != "" {
		other, _, err := p.Spec(chosen, pl, o, forShim)
		if err != nil {
			return nil, o, err
		}
		if gives, err := settings.Gives(table, role, rc, other); !gives {
			return given, o, err
		}
	}
	o.Entrypoint, o.Args, o.ArgsFile, o.Extra = argv[0], nil, nil, argv[1:]
	return chosen, o, nil
}
