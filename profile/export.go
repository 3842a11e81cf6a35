package profile

import (
	"slices"
	"strings"
)

// Verdict is what becomes of a key elsewhere.
type Verdict string

// The verdicts.
const (
	Exact   Verdict = "exact"
	Partly  Verdict = "partly"
	Refused Verdict = "refused"
)

// Given is what the flags of an export bring besides the profile.
type Given interface {
	Login(capability string) bool // a Secret has the login of an agent
	Variable(name string) bool    // a variable comes from a Secret
	Volume(path string) bool      // a volume stands for a folder
}

// Case is what becomes of a key with some values. The first that fits an item counts; an item
// that none fits is exact.
type Case struct {
	On      []string                               // values; none is every value
	If      func(g Given, item, value string) bool // besides; nil is always
	When    string                                 // what On and If come to, for people; "" is always
	Verdict Verdict
	Words   string
}

// Export is what becomes of a key in a container of another engine and in a batch job.
type Export struct {
	Key    string
	Nested []Case // inner's own box in a container; none is exact, as everywhere
	Podman []Case // a container of podman; nil for those of Nested
	Slurm  []Case // a batch job
}

// Exports returns what package isolator/export makes of each key, in the order of the schema.
func Exports() []Export {
	var out []Export
	for _, r := range keyRules() {
		e := r.export
		e.Key = r.key
		out = append(out, e)
	}
	return out
}

// pod has cases for a container alone: a batch job runs where the profile is at home.
func pod(cases ...Case) Export { return Export{Nested: cases} }

// podAndJob has the same cases for a container and for a batch job.
func podAndJob(cases ...Case) Export { return Export{Nested: cases, Slurm: cases} }

func refused(words string, on ...string) Case {
	return Case{On: on, When: quotedWords(on), Verdict: Refused, Words: words}
}

func partly(words string, on ...string) Case {
	return Case{On: on, When: quotedWords(on), Verdict: Partly, Words: words}
}

func (c Case) when(when string, f func(g Given, item, value string) bool) Case {
	c.If, c.When = f, when
	return c
}

func quotedWords(on []string) string {
	if len(on) == 0 {
		return ""
	}
	return "`" + strings.Join(on, "`, `") + "`"
}

func withoutHome(g Given, _, _ string) bool { return !g.Volume("~") }

// madeOfYours reports whether a value of [env] set is made of a variable that a container does
// not have.
func madeOfYours(_ Given, _, value string) bool {
	value = strings.ReplaceAll(value, "$$", "")
	for _, part := range strings.Split(value, "$")[1:] {
		name := strings.TrimPrefix(part, "{")
		if end := strings.IndexFunc(name, func(c rune) bool { return c > 0x7f || !nameByte(byte(c)) }); end >= 0 {
			name = name[:end]
		}
		if !slices.Contains([]string{"HOME", "USER", "PATH"}, name) {
			return true
		}
	}
	return false
}
