package attack

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestList wants names to be unique, and each attack to have what it needs.
func TestList(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range List() {
		switch {
		case seen[a.Name]:
			t.Errorf("%s is there twice", a.Name)
		case a.What == "" || a.Class == "":
			t.Errorf("%s says nothing about itself", a.Name)
		case slices.ContainsFunc(a.declared, func(r reason) bool { return r == nil }):
			t.Errorf("%s names a reason that there is not", a.Name)
		case a.Try == "" || a.Host == "":
			t.Errorf("%s has no way to try it", a.Name)
		}
		seen[a.Name] = true
	}
	if len(seen) < 85 {
		t.Errorf("%d attacks", len(seen))
	}
}

// TestJudge wants a leak to be shown by the secret or the host, not by words.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		a              Attack
		said, leak     string // the words, and the file of what was found on the host
		want, wantFail string
	}{
		{said: "I got it\nwas run\n"},
		{said: "/a\tsecret-1\n", want: "the secret was read: /a"},
		{said: "was run", leak: "changed\nmore\n", want: "changed"},
		{said: "allowed-mark-1\nwas run", want: "the kernel allowed it"},
		{said: "allowed-mark-2\nwas run"},

		{said: "sh: no\n", wantFail: "it did not start: sh: no"},
	} {
		s := &trial{Attack: c.a, secret: "secret-1", mark: "mark-1", Fixture: Fixture{Dir: t.TempDir()}}
		s.said.WriteString(c.said)
		if c.leak != "" {
			if err := os.WriteFile(filepath.Join(s.Dir, "leak"), []byte(c.leak), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := s.judge(nil)
		fail := ""
		if err != nil {
			fail = err.Error()
		}
		if got != c.want || fail != c.wantFail {
			t.Errorf("%q: %q %q, want %q %q", c.said, got, fail, c.want, c.wantFail)
		}
	}
}

// TestStatements: docs/attacks.md has the 85 statements; what it names is there,
// and every attack is named.
func TestStatements(t *testing.T) {
	const root = "../../../"
	data, err := os.ReadFile(root + "docs/attacks.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (\d+) \|[^|]+\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(string(data), -1)
	if len(rows) != 85 {
		t.Errorf("%d statements", len(rows))
	}
	known := map[string]bool{"table-*": true}
	for _, a := range List() {
		known[a.Name] = true
	}
	for i, r := range rows {
		if r[1] != strconv.Itoa(i+1) {
			t.Errorf("row %d is number %s", i+1, r[1])
		}
		if strings.TrimSpace(r[2]+r[3]) == "" {
			t.Errorf("%s: nothing tries it, and nothing says why", r[1])
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(r[2], -1) {
			if !known[m[1]] {
				t.Errorf("%s: no attack is called %s", r[1], m[1])
			}
		}
		for _, story := range regexp.MustCompile(`[a-z-]+\.txtar`).FindAllString(r[3], -1) {
			if _, err := os.Stat(root + "cmd/inner/testdata/script/" + story); err != nil {
				t.Errorf("%s: there is no story %s", r[1], story)
			}
		}
	}
	folders := map[string]string{
		"cmd/inner": "cmd/inner", "isolator": "isolator", "plan": "isolator/plan", "profile": "profile", "verify": "isolator/verify", "launch": "isolator/launch", "box": "isolator/launch/box", "netproxy": "isolator/netproxy",
	}
	for _, m := range regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z]+)`").FindAllStringSubmatch(string(data), -1) {
		files, err := filepath.Glob(root + folders[m[1]] + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			text, err := os.ReadFile(f)
			found = found || err == nil && strings.Contains(string(text), "func "+m[2]+"(")
		}
		if !found {
			t.Errorf("%s has no %s", m[1], m[2])
		}
	}
	for _, a := range List() {
		if !strings.HasPrefix(a.Name, "table-") && !strings.Contains(string(data), "`"+a.Name+"`") {
			t.Errorf("%s is in no row", a.Name)
		}
	}
}
