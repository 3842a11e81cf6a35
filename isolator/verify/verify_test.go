package verify

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestJudge wants one understood answer per question, in order; anything else
// is no pass.
func TestJudge(t *testing.T) {
	q := ask{
		Checks: []Check{{ID: "one", Severity: High}, {ID: "two", Severity: High, Allowed: "said so"}},
		Custom: []profile.Check{{Name: "three", Severity: "info"}},
	}
	const (
		one   = `{"id":"one","result":"pass","detail":"d"}` + "\n"
		two   = `{"id":"two","result":"fail","detail":"seen"}` + "\n"
		three = `{"id":"three","result":"fail","detail":""}` + "\n"
	)
	for _, c := range []struct{ name, said, want string }{
		{"all", one + two + three, "pass skip fail: conformant"},
		{"nothing", "", "unknown unknown unknown: not"},
		{"cut short", one, "pass unknown unknown: not"},
		{"another order", two + one + three, "unknown unknown unknown: not"},
		{"twice", one + one + two + three, "pass unknown unknown: not"},
		{"another key", `{"id":"one","result":"pass","detail":"","more":1}` + "\n" + two + three, "unknown unknown unknown: not"},
		{"another result", `{"id":"one","result":"fine","detail":""}` + "\n" + two + three, "unknown unknown unknown: not"},
		{"two values", `{"id":"one","result":"pass","detail":""}{}` + "\n" + two + three, "pass unknown unknown: not"},
		{"no JSON", "one pass\n" + two + three, "unknown unknown unknown: not"},
	} {
		r := newReport("p", judge(q, []byte(c.said)))
		var words []string
		for _, v := range r.Checks {
			words = append(words, string(v.Result))
		}
		got := strings.Join(words, " ") + ": not"
		if r.Conformant {
			got = strings.Join(words, " ") + ": conformant"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestServed: a place that is served fails where it is what the host has there, or no mount of its own.
func TestServed(t *testing.T) {
	is := host.Look("/proc").ID
	i := &inside{mounts: mountinfo()}
	for _, c := range []struct {
		about string
		place Place
		want  Result
	}{
		{"the host's", Place{Path: "/proc", ID: is}, Fail},
		{"another", Place{Path: "/proc", ID: host.ID{Dev: is.Dev, Ino: is.Ino + 1}}, Pass},
		{"no mount", Place{Path: t.TempDir(), ID: is}, Fail},
		{"nothing there", Place{Path: filepath.Join(t.TempDir(), "gone")}, Fail},
	} {
		c.place.Mode = "own"
		if got, detail := i.mountsAsPlanned([]Place{c.place}); got != c.want {
			t.Errorf("%s: %v %s", c.about, got, detail)
		}
	}
}
