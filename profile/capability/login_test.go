package capability

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestExpiry(t *testing.T) {
	l := find(t, "claude").Login
	for text, want := range map[string]string{
		`{"claudeAiOauth":{"expiresAt":1700000000000}}`:        "2023-11-14T22:13:20Z",
		`{"claudeAiOauth":{"expiresAt":1700000000}}`:           "2023-11-14T22:13:20Z",
		`{"claudeAiOauth":{"expiresAt":"1700000000000"}}`:      "2023-11-14T22:13:20Z",
		`{"claudeAiOauth":{"expiresAt":1e400}}`:                "",
		`{"claudeAiOauth":{"expiresAt":0}}`:                    "",
		`{"claudeAiOauth":{"accessToken":"x"}}`:                "",
		`{"mcpOAuth":{"x":{"expiresAt":1}},"claudeAiOauth":1}`: "",
		`{}`: "", ``: "", `[`: "",
	} {
		at, known := l.Expiry([]byte(text))
		got := ""
		if known {
			got = at.UTC().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	if _, known := find(t, "codex").Login.Expiry([]byte(`{"last_refresh":"2020-01-01T00:00:00Z"}`)); known {
		t.Error("codex's time of renewal is taken for an end")
	}
}

func TestRenewed(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	const was = `{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":1700000001000,"scopes":["s"]},"mcpOAuth":{"x":1}}`
	claude := func(oauth string) string { return `{"claudeAiOauth":{` + oauth + `}}` }
	for _, c := range []struct{ name, clone, want, fault string }{
		{"the same", was, "", ""},
		{"older", claude(`"accessToken":"b","refreshToken":"q","expiresAt":1600000000000`), "", ""},
		{
			"newer", claude(`"accessToken":"b","refreshToken":"q","expiresAt":1700009000000,"scopes":["evil"]`),
			`{"claudeAiOauth":{"accessToken":"b","expiresAt":1700009000000,"refreshToken":"q","scopes":["s"]},"mcpOAuth":{"x":1}}`, "",
		},
		{"only the time", claude(`"accessToken":"a","refreshToken":"r","expiresAt":1700009000000`), "", ""},
		{"too far", claude(`"accessToken":"b","refreshToken":"q","expiresAt":9999999999999`), "", "more than a year ahead"},
		{"no time", claude(`"accessToken":"b"`), "", ""},
		{"another type", claude(`"accessToken":{"x":1},"refreshToken":"q","expiresAt":1700009000000`), "", "accessToken is not what it was"},
		{"a line end", claude(`"accessToken":"b\nc","refreshToken":"q","expiresAt":1700009000000`), "", "accessToken is not what it was"},
		{"a time as text", claude(`"accessToken":"b","refreshToken":"q","expiresAt":"1700009000000"`), "", "expiresAt is not what it was"},
		{"empty", claude(`"accessToken":"","refreshToken":"q","expiresAt":1700009000000`), "", "accessToken is not what it was"},
		{"too long", claude(`"accessToken":"` + strings.Repeat("x", 20<<10) + `","expiresAt":1700009000000`), "", "accessToken is not what it was"},
		{"not JSON", "{", "", "not valid JSON"},
		{"nothing", "", "", ""},
	} {
		merged, err := find(t, "claude").Login.Renewed([]byte(was), []byte(c.clone), now)
		got := ""
		if merged != nil {
			got = compact(merged)
		}
		if got != c.want || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: got %s, %v", c.name, got, err)
		}
	}
	codex := find(t, "codex").Login
	merged, err := codex.Renewed(
		[]byte(`{"OPENAI_API_KEY":null,"tokens":{"id_token":"i","access_token":"a","refresh_token":"r","account_id":"x"},"last_refresh":"2023-11-01T00:00:00.5Z"}`),
		[]byte(`{"OPENAI_API_KEY":"evil","tokens":{"id_token":"j","access_token":"b","refresh_token":"s","account_id":"evil"},"last_refresh":"2023-11-10T00:00:00Z"}`), now)
	if want := `{"OPENAI_API_KEY":null,"last_refresh":"2023-11-10T00:00:00Z","tokens":{"access_token":"b","account_id":"x","id_token":"j","refresh_token":"s"}}`; err != nil || compact(merged) != want {
		t.Errorf("codex: %s, %v", merged, err)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	p := filepath.Join(dir, "login")
	write(t, p, "old")
	if err := Replace(p, []byte("older"), []byte("new")); !errors.Is(err, ErrChanged) {
		t.Errorf("got %v", err)
	}
	must(t, Replace(p, []byte("old"), []byte("new")))
	data, err := os.ReadFile(p)
	fi, _ := os.Stat(p)
	if string(data) != "new" || err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", data, fi.Mode(), err)
	}
	// What became a link is not followed.
	target := filepath.Join(dir, "target")
	write(t, target, "new")
	must(t, os.Remove(p))
	must(t, os.Symlink(target, p))
	if err := Replace(p, []byte("new"), []byte("newer")); !errors.Is(err, ErrChanged) {
		t.Errorf("a link: got %v", err)
	}
	if left, _ := filepath.Glob(p + ".*"); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
