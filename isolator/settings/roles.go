package settings

import (
	"path/filepath"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/profile/config"
)

// RoleTable is the [roles] that is in force at a place.
type RoleTable struct {
	*config.Roles
	File string // the config.toml it is written in
}

// Role is what somebody who says to be Asked gets.
type Role struct {
	Asked   string
	Name    string // of the table; config.AnyRole for everybody it does not name
	Profile string
}

// Roles is [roles] of the project's config.toml when that is allowed and has one, else the
// user's; its Roles are nil when neither has.
func (s *Settings) Roles(pl Place) (RoleTable, error) {
	own, users, err := s.InForce(pl)
	switch {
	case err != nil:
		return RoleTable{}, err
	case own.Roles != nil:
		return RoleTable{own.Roles, filepath.Join(pl.Project.Dir, "config.toml")}, nil
	}
	return RoleTable{users.Roles, s.ConfigFile()}, nil
}

// RoleOf finds the role of whoever says to be name. Without a table it is refused: there is
// no profile to fall back to.
func (s *Settings) RoleOf(name string, pl Place) (Role, error) {
	t, err := s.Roles(pl)
	if err != nil {
		return Role{}, err
	}
	if t.Roles == nil {
		return Role{}, &fault.Refusal{Code: 125, Kind: fault.KindProfile, Msg: "no config.toml in force here has [roles]", Hint: "inner config edit, and write: [roles] \"*\" = \"guest\""}
	}
	role, p := t.For(name)
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
