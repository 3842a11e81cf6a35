package export

// cases returns the cases of a target.
func cases(row Export, to Target) []Case {
	switch {
	case to == Slurm:
		return row.Slurm
	case to == Podman && row.Podman != nil:
		return row.Podman
	}
	return row.Nested
}

// given is what the flags of a request bring besides the
type given struct{ *Request }

func (g given) Login(capability string) bool {
	return g.secret(capability) != "" && len(loginVariables(capability)) > 0
}
func (g given) Variable(name string) bool { return g.given(name) }
func (g given) Volume(path string) bool   { return g.claim(path) != "" }
