package export

import "github.com/enr/inner/profile"

// Table has a row for every key, in the order of the schema. The rows stand with all else that
// is known of a key, in profile/keys.go.
func Table() []profile.Export { return profile.Exports() }

// cases returns the cases of a target.
func cases(row profile.Export, to Target) []profile.Case {
	switch {
	case to == Slurm:
		return row.Slurm
	case to == Podman && row.Podman != nil:
		return row.Podman
	}
	return row.Nested
}

// given is what the flags of a request bring besides the profile.
type given struct{ *Request }

func (g given) Login(capability string) bool {
	return g.secret(capability) != "" && len(loginVariables(capability)) > 0
}
func (g given) Variable(name string) bool { return g.given(name) }
func (g given) Volume(path string) bool   { return g.claim(path) != "" }
