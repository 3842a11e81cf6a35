// Package verify looks at a box from inside and says whether it is what the
// profile promises.
//
// It has two halves, both inner-verify, which lies beside the inner binary. The outer half makes a list of
// checks: for what is mounted one of each kind of operation of the plan, and for secrets one of each row of
// the table of resources, whatever the plan says of them. It starts the same box that a run would start,
// but with itself as the program, and gives it the list. The inner half
// tries each thing for real (reads, opens for writing, connects) and answers
// one line per check.
//
//	exam, err := verify.Open(profile, checks, custom, terminal)
//	plan = exam.Plan(plan)
//	launch.Run(plan, exam.Options())
//	report := exam.Report()
//
// An answer that is missing, doubled or not understood is not a pass. No file
// that the inner half writes stays, also when a protection turns out to be
// missing, and no packet leaves the machine. A check says that a protection
// works now, on this host, for the things that exist now. It proves nothing
// about the kernel, and a resource that this host does not have passes; the
// detail says so.
package verify

// Severity is how much a failure matters. One of Info never fails a profile.
type Severity string

// The severities.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Info     Severity = "info"
)

// Result is the outcome of a check.
type Result string

// The results. Unknown means that the check could not decide, which is not a pass.
// Skip is for a check that the profile lifts, or that does not apply.
const (
	Pass    Result = "pass"
	Fail    Result = "fail"
	Unknown Result = "unknown"
	Skip    Result = "skip"
)

// Verdict is one check and its result.
type Verdict struct {
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	Result   Result   `json:"result"`
	What     string   `json:"what"`
	Detail   string   `json:"detail,omitempty"`
	Hint     string   `json:"hint,omitempty"`
	Key      string   `json:"key,omitempty"` // the allow key that would lift it
}

// Bad reports whether the verdict makes the profile fail.
func (v Verdict) Bad() bool {
	return v.Severity != Info && (v.Result == Fail || v.Result == Unknown)
}

// Report is the outcome of all checks of one box, in order.
type Report struct {
	Profile    string    `json:"profile"`
	Conformant bool      `json:"conformant"`
	Passed     int       `json:"passed"`
	Failed     int       `json:"failed"` // above info, those that could not be told included
	Lifted     int       `json:"informational"`
	Checks     []Verdict `json:"checks"`
}

func newReport(profile string, list []Verdict) Report {
	r := Report{Profile: profile, Checks: list}
	for _, v := range list {
		switch {
		case v.Bad():
			r.Failed++
		case v.Result == Pass:
			r.Passed++
		default:
			r.Lifted++
		}
	}
	r.Conformant = r.Failed == 0 && len(list) > 0
	return r
}
