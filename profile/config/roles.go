package config

import (
	"slices"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// AnyRole is the name of the role of everybody who has no other.
const AnyRole = "*"

// Roles is [roles]: a profile for each role.
//
//	[roles]
//	guest = "guest"
//	admin = "trusted"
//	"*"   = "guest"
//
// Each may do at least what the one before may, where that is checked (inner doctor --roles).
type Roles struct {
	Profiles []profile.KV // a role, and its profile; AnyRole is one of them
}

// order is no role: it is the order of the roles in files of the version before, which is that of the lines now.
const order = "order"

func roles(t strict.Value) *Roles {
	if !t.Set {
		return nil
	}
	r := &Roles{}
	for _, e := range t.Items {
		if e.Key != order {
			r.Profiles = append(r.Profiles, profile.KV{Key: e.Key, Value: e.Text})
		}
	}
	if first, ok := t.Get(order); ok {
		place := func(kv profile.KV) int { return slices.Index(append(first.Texts(), kv.Key), kv.Key) }
		slices.SortStableFunc(r.Profiles, func(a, b profile.KV) int { return place(a) - place(b) })
	}
	return r
}

func checkRoles(t strict.Value, problems *strict.Problems) {
	if !t.Set {
		return
	}
	checkCount(t.At, "roles", len(t.Items), problems)
	named := []string{}
	for _, e := range t.Items {
		key := strict.Join("roles", e.Key)
		switch {
		case e.Key == order:
			continue
		case e.Key == "" || control(e.Key) || len(e.Key) > 64:
			problems.Add(e.At, key, "a role has a name of at most 64 characters, none of them a control character", "")
		case e.List:
			named = append(named, e.Key)
			problems.Add(e.At, key, "wants the name of a profile", "")
		default:
			named = append(named, e.Key)
			problems.Judge(e.At, key, profile.CheckName(e.Text))
		}
	}
	if !slices.Contains(named, AnyRole) {
		problems.Add(t.At, "roles", `has no profile for "*", every other role`, `add "*" = "guest"`)
	}
}
