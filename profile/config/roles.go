package config

import (
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/strict"
)

// AnyRole is the name of the role of everybody who has no other.
const AnyRole = "*"

// checkRoles looks at [roles], which has a profile for each role.
//
//	[roles]
//	guest = "guest"
//	admin = "trusted"
//	"*"   = "guest"
//
// Each may do at least what the one before may, where that is checked (inner doctor --roles).
func checkRoles(t strict.Value, problems *strict.Problems) {
	if !t.Set {
		return
	}
	checkCount(t.At, "roles", len(t.Items), problems)
	for _, e := range t.Items {
		key := strict.Join("roles", e.Key)
		if e.Key == "" || control(e.Key) || len(e.Key) > 64 {
			problems.Add(e.At, key, "a role has a name of at most 64 characters, none of them a control character", "")
		} else {
			problems.Judge(e.At, key, profile.CheckName(e.Text))
		}
	}
	if _, ok := t.Get(AnyRole); !ok {
		problems.Add(t.At, "roles", `has no profile for "*", every other role`, `add "*" = "guest"`)
	}
}
