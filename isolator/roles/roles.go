// Package roles is who gets which profile by the table [roles] of a config.toml.
package roles

import (
	"path/filepath"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile/config"
)

// Table is the [roles] that is in force at a place.
type Table struct {
	*config.Roles
	File string // the config.toml it is written in
}

// Role is what somebody who says to be Asked gets.
type Role struct {
	Asked   string
	Name    string // of the table; config.AnyRole for everybody it does not name
	Profile string
}

// In is [roles] of the project's config.toml when that is allowed and has one, else the
// user's; its Roles are nil when neither has.
func In(s *settings.Settings, pl settings.Place) (Table, error) {
	own, users, err := s.InForce(pl)
	switch {
	case err != nil:
		return Table{}, err
	case own.Roles != nil:
		return Table{own.Roles, filepath.Join(pl.Project.Dir, "config.toml")}, nil
	}
	return Table{users.Roles, s.ConfigFile()}, nil
}

// Of finds the role of whoever says to be name. Without a table it is refused: there is
// no profile to fall back to.
func Of(s *settings.Settings, name string, pl settings.Place) (Role, error) {
	t, err := In(s, pl)
	if err != nil {
		return Role{}, err
	}
	if t.Roles == nil {
		return Role{}, &fault.Refusal{Code: 125, Kind: fault.KindProfile, Msg: "no config.toml in force here has [roles]", Hint: "inner config edit, and write: [roles] \"*\" = \"guest\""}
	}
	role, p := find(t.Roles, name)
	return Role{Asked: name, Name: role, Profile: p}, nil
}

// By is what the audit log has of a role.
func (r Role) By(actor, session string) runlog.By {
	by := runlog.By{Role: r.Name, Actor: actor, Session: session}
	if r.Asked != r.Name {
		by.Asked = r.Asked
		if by.Asked == "" {
			by.Asked = `""`
		}
	}
	return by
}

// find returns the role that somebody who says to be name has, and its profile. Names are
// compared byte for byte: every other one, the empty one too, is config.AnyRole.
func find(r *config.Roles, name string) (role, profileName string) {
	rest := ""
	for _, kv := range r.Profiles {
		if kv.Key == name {
			return kv.Key, kv.Value
		}
		if kv.Key == config.AnyRole {
			rest = kv.Value
		}
	}
	return config.AnyRole, rest
}
