package capability

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// home plants a logged-in user's files.
func home(t *testing.T) string {
	t.Helper()
	h := t.TempDir()
	files := map[string]string{
		".claude/.credentials.json":       `{"claudeAiOauth":{"accessToken":"tok","expiresAt":1999999999999},"mcpOAuth":{"x":"mcp-secret"}}`,
		".claude/settings.json":           `{"theme":"dark","mcpServers":{"a":{}},"enabledPlugins":{"p":true}}`,
		".claude/skills/one/SKILL.md":     "skill",
		".claude/skills/one/run.sh":       "#!/bin/sh\n",
		".claude/projects/old/chat.jsonl": "private",
		".claude/history.jsonl":           "private",
		".claude.json":                    `{"hasCompletedOnboarding":true,"userID":12345678901234567890,"mcpServers":{"b":{"env":{"K":"mcp-secret"}}},"projects":{"/w":{"allowedTools":["x"],"mcpServers":{"c":{}},"history":[1]},"/other":{"secret":1}}}`,
	}
	for name, text := range files {
		p := filepath.Join(h, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(h, ".claude/skills/one/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return h
}

func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		fi, err := d.Info()
		if err != nil {
			return err
		}
		out = append(out, fi.Mode().String()+" "+rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestClaudeClone(t *testing.T) {
	h, dst := home(t), t.TempDir()
	before := tree(t, h)
	c, _ := Find("claude")
	skipped, err := c.Clone(h, dst, "/w")
	if err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	want := []string{
		"-rw------- .claude.json", "-rw------- .credentials.json", "drwx------ cache", "drwx------ projects", "drwx------ sessions",
		"-rw------- settings.json", "drwx------ skills", "drwx------ skills/one", "-rw------- skills/one/SKILL.md", "-rwx------ skills/one/run.sh",
		"drwx------ tasks", "drwx------ todos",
	}
	if diff := cmp.Diff(want, tree(t, dst)); diff != "" {
		t.Errorf("the clone (-want +got):\n%s", diff)
	}
	for file, want := range map[string]string{
		".credentials.json": `{"claudeAiOauth":{"accessToken":"tok","expiresAt":1999999999999}}`,
		"settings.json":     `{"theme":"dark"}`,
		".claude.json":      `{"hasCompletedOnboarding":true,"projects":{"/w":{"allowedTools":["x"]}},"userID":12345678901234567890}`,
	} {
		data, err := os.ReadFile(filepath.Join(dst, file))
		if err != nil {
			t.Fatal(err)
		}
		if got := compact(t, data); got != want {
			t.Errorf("%s:\n got %s\nwant %s", file, got, want)
		}
	}
	if diff := cmp.Diff(before, tree(t, h)); diff != "" {
		t.Errorf("the original changed:\n%s", diff)
	}
}

func compact(t *testing.T, data []byte) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestClaudeCloneOfNothing(t *testing.T) {
	dst := t.TempDir()
	c, _ := Find("claude")
	if skipped, err := c.Clone(t.TempDir(), dst, "/w"); err != nil || len(skipped) > 0 {
		t.Fatal(skipped, err)
	}
	if got := tree(t, dst); len(got) != len(c.Empty) {
		t.Errorf("got %v, want only the empty folders", got)
	}
}

// TestLinksAndDevicesStayBehind: a planted link must not pull a secret in.
func TestLinksAndDevicesStayBehind(t *testing.T) {
	h, dst := home(t), t.TempDir()
	secret := filepath.Join(h, ".ssh/id")
	must(t, os.MkdirAll(filepath.Dir(secret), 0o700))
	must(t, os.WriteFile(secret, []byte("KEY"), 0o600))
	must(t, os.Symlink(secret, filepath.Join(h, ".claude/skills/one/link")))
	must(t, syscall.Mkfifo(filepath.Join(h, ".claude/skills/fifo"), 0o600))
	must(t, os.Remove(filepath.Join(h, ".claude/settings.json")))
	must(t, os.Symlink(secret, filepath.Join(h, ".claude/settings.json")))
	c, _ := Find("claude")
	skipped, err := c.Clone(h, dst, "/w")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".claude/settings.json", ".claude/skills/fifo", ".claude/skills/one/link"}
	for i := range want {
		want[i] = filepath.Join(h, want[i])
	}
	if !slices.Equal(skipped, want) {
		t.Errorf("skipped %v, want %v", skipped, want)
	}
	for _, e := range tree(t, dst) {
		if strings.Contains(e, "settings") || strings.Contains(e, "link") || strings.Contains(e, "fifo") {
			t.Errorf("%s is in the clone", e)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestBrokenJSONIsNamed(t *testing.T) {
	h := home(t)
	p := filepath.Join(h, ".claude.json")
	must(t, os.WriteFile(p, []byte("{"), 0o600))
	c, _ := Find("claude")
	_, err := c.Clone(h, t.TempDir(), "/w")
	if err == nil || !strings.Contains(err.Error(), p) || !strings.Contains(err.Error(), "not valid JSON") {
		t.Errorf("got %v", err)
	}
}
