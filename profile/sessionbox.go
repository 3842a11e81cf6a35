package profile

import "slices"

// sessionBox refuses what the calls of one box cannot have each for itself.
func (r *resolver) sessionBox() {
	session, rc := r.s.Value("sandbox.session"), &r.rc
	if rc.SessionBox = session.V == "box"; !rc.SessionBox {
		return
	}
	for _, no := range []struct {
		is        bool
		text, fix string
	}{
		{!rc.Output.Audit, "its calls have a line in the audit log each, and no other record", `record = "audit" under [output]`},
		{rc.Backend != "bwrap", "bwrap alone makes a box that is joined", `backend = "bwrap"`},
		{rc.WorkdirMode == Keep, `what workdir_mode = "keep" drops is dropped at the end of a box`, `session = "files"`},
		{r.s.Value("output.review").On(), "a review follows the end of a box", "review = false under [output]"},
		{slices.Contains(rc.Allow, "nested-user-ns"), "processes of other user ids would outlive their call", `allow without "nested-user-ns"`},
	} {
		if no.is {
			r.add(session.At, "sandbox.session", `"box" is not possible here: `+no.text, no.fix)
		}
	}
}
