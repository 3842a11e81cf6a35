// Package verify looks at a box from inside and says whether it is what the
// profile promises.
//
// It has two halves, both the inner binary. The outer one makes a list of
// checks from what was asked for (the profile, the facts about the host; never
// the finished plan, which is what is judged), starts the very box that a run
// would start, with inner itself in the place of the program, and gives it the
// list. The inner half tries each thing for real (reads, opens for writing,
// connects) and answers one line per check.
//
//	exam, err := verify.Open(profile, checks, custom)
//	plan = exam.Board(plan)
//	launch.Run(plan, exam.Options())
//	report := exam.Report(started)
//
// What it promises: an answer that is missing, doubled or not understood is not
// a pass; nothing is written that stays, also when a protection turns out to be
// missing; no packet leaves the machine. What it does not: a check tells that a
// protection is there now, here, for the things that exist now. It is no proof
// about the kernel, and a resource that is not on this host passes because it
// is not there; the detail says so.
package verify

import "slices"

// Severity is how much a failure matters. One of Info never fails a profile.
type Severity string

// The severities.
const (
	Critical Severity = "critical"
	High     Severity = "high"
	Medium   Severity = "medium"
	Info     Severity = "info"
)

// Result is how a check ended.
type Result string

// The results. Unknown means that it could not be told, which is not a pass.
// Skip is for what the profile lifts, or what does not apply.
const (
	Pass    Result = "pass"
	Fail    Result = "fail"
	Unknown Result = "unknown"
	Skip    Result = "skip"
)

// Verdict is one check and how it ended.
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

// Suggest returns the allow keys that would lift the failures, sorted: only
// where allowing is an answer, and not a hole with a name.
func (r Report) Suggest() []string {
	var keys []string
	for _, v := range r.Checks {
		if v.Bad() && v.Key != "" {
			keys = append(keys, v.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
