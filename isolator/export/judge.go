package export

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/strict"
)

// Finding is a key of the profile, or one item of it, that does not translate as it is.
type Finding struct {
	Key     string
	Item    string // of a list or a table; "" for a key with one value
	Verdict Verdict
	Words   string
}

// String returns the finding in one line.
func (f Finding) String() string {
	text := f.Key
	if f.Item != "" {
		text += fmt.Sprintf(" %q", f.Item)
	}
	return text + ": " + f.Words
}

// Judge says what does not translate at all, and what only in part, in the order of the schema.
func Judge(r *Request) (refused, said []Finding) {
	rows := Table()
	for _, w := range r.Profile.Written() {
		i := slices.IndexFunc(rows, func(row Export) bool { return row.Key == w.Name })
		if i < 0 { // a key that nobody thought of does not travel
			refused = append(refused, Finding{Key: w.Name, Verdict: Refused, Words: "inner export does not know it"})
			continue
		}
		for _, f := range judge(rows[i], r, w) {
			if f.Verdict == Refused {
				refused = append(refused, f)
			} else {
				said = append(said, f)
			}
		}
	}
	return refused, said
}

func judge(row Export, r *Request, w strict.Key) []Finding {
	var out []Finding
	parts := w.Parts()
	for _, p := range parts {
		item, value := cmp.Or(p.Key, p.Text), p.Text
		if row.Key == "mounts" {
			value = cmp.Or(value, string(profile.RO))
		}
		for _, c := range row.cases(r.Target) {
			if len(c.On) > 0 && !slices.Contains(c.On, item) || c.If != nil && !c.If(r, item, value) {
				continue
			}
			f := Finding{Key: row.Key, Verdict: c.Verdict, Words: c.Words}
			if (len(parts) > 1 || isList(row.Key)) && !profile.HasLogin(item) { // which is not said
				f.Item = item
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// isList reports whether a key has items that are worth a name each.
func isList(key string) bool {
	return slices.Contains([]string{"mounts", "env.set", "env.inherit", "git.overrides", "sandbox.network_allow", "capabilities"}, key)
}

// refusal says that there is something refused.
func refusal(r *Request, n int) error {
	what := "one thing that does"
	if n > 1 {
		what = fmt.Sprintf("%d things that do", n)
	}
	return &fault.Refusal{
		Code: 125, Kind: fault.KindProfile,
		Msg:  fmt.Sprintf("profile %q is not exported to %s: it asks for %s not translate", r.Profile.Name, r.Target, what),
		Hint: "write a profile that extends it and says otherwise, or export to another target",
	}
}

// loginVariables returns the variables that an agent takes its login from.
func loginVariables(agent string) []string {
	c, _ := capability.Find(agent)
	return slices.Sorted(slices.Values(c.Keys))
}

// variables returns the variables that come from Secrets, each once: those of --secret-env, then
// the logins, which need not all be there.
func (r *Request) variables() []Variable {
	out := slices.Clone(r.Variables)
	for _, s := range r.Secrets {
		names := loginVariables(s.For)
		for _, name := range names {
			out = append(out, Variable{name, s.Name, name, len(names) > 1})
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(v Variable) bool {
		again := seen[v.Var]
		seen[v.Var] = true
		return again
	})
}

// given reports whether a variable comes from a Secret.
func (r *Request) given(name string) bool {
	return slices.ContainsFunc(r.variables(), func(v Variable) bool { return v.Var == name })
}
