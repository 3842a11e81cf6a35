package calls

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/internal/fault"
)

func TestParse(t *testing.T) {
	q, err := Parse([]byte(`{"id":"7","argv":["a","ü"],"cwd":"x","env":{"A":"1"},"stdin":"in","timeout_ms":5,"max_output":6,"role":"","session":"s","actor":"u"}`))
	want := Request{ID: "7", Argv: []string{"a", "ü"}, Cwd: "x", Env: map[string]string{"A": "1"}, Stdin: "in", Timeout: 5, Max: 6, Session: "s", Actor: "u", HasRole: true}
	if diff := cmp.Diff(want, q); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for _, text := range []string{`{"line":"\ud83d\ude00 \\ud800"}`, `{"line":"a","env":{}}`, ` {"argv":["null"]} `} {
		if _, err := Parse([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"": "not a JSON object", "[": "not a JSON object", `{`: "not JSON", `{"id":"a"`: "not JSON", `{"argv":["a"],}`: "not JSON", "\xff": "not UTF-8",
		`{"argv":["a"]}}`: "something follows", `{"Argv":["a"]}`: "unknown key", `{"line":"a","line":"b"}`: `"line" is written twice`,
		`{"line":1}`: "line: wants a string", `{"line":null}`: "line: wants a string", `{"argv":["a",null]}`: "argv: wants a list", `{"argv":[["a"]]}`: "argv: wants a list",
		`{"line":"a","env":{"A":1}}`: "env: wants an object of strings", `{"line":"a","env":[]}`: "env: wants", `{"line":"a","env":{"A":"1","A":"1"}}`: `"A" is written twice`,
		`{"line":"\ud800"}`: "half of a surrogate pair", `{"line":"a\u0000"}`: "line: contains a NUL", `{"argv":[]}`: "either argv or line", `{"line":"a","timeout_ms":1.5}`: "whole number",
		`{"line":"a","env":{"ld_preload":"x"}}`: "not for a call", `{"line":"a","env":{"https_proxy":"x"}}`: "where the network is", `{"line":"a","env":{"INNER_SANDBOX":"x"}}`: "not for a call",
		`{"line":"a","env":{"":"x"}}`: "not the name", `{"line":"a","session":"a b"}`: "is not 1 to 64", `{"line":"a","actor":"\u0007"}`: "control character",
		`{"line":"` + strings.Repeat("x", 128<<10) + `"}`:      "longer than the",
		`{"line":"a","id":"` + strings.Repeat("x", 300) + `"}`: "id: is longer",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.KindUsage || fault.Code(err) != 2 {
			t.Errorf("%.60s: %v, want %q", text, err, want)
		}
	}
}

// Whatever comes, it is taken as it is or refused, and the answer is one line.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"id":"7","argv":["a"],"env":{"A":"1"}}`))
	f.Add([]byte(`{"line":"\ud800","id":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		q, err := Parse(text)
		if err == nil && q.Check() != nil {
			t.Error("a request that is taken does not pass its own check")
		}
		line, err := json.Marshal(Answer{ID: q.ID, Err: err})
		if err != nil || strings.ContainsRune(string(line), '\n') {
			t.Errorf("%s: %v", line, err)
		}
	})
}
