package capability

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Scripts that settings name come along, read-only, when they lie in the agent's folder; else
// the entry is left out.
func TestCommands(t *testing.T) {
	h := t.TempDir()
	for name, text := range map[string]string{
		".claude/line.sh": "#!/bin/sh\n", ".claude/hooks/one.sh": "#!/bin/sh\n", "bin/secret.sh": "#!/bin/sh\n",
		".claude/big.db": strings.Repeat("x", maxScript+1), "tools/seen.sh": "#!/bin/sh\n",
		".claude/settings.json": `{"theme":"dark","apiKeyHelper":"~/bin/secret.sh",
 "statusLine":{"type":"command","command":"bash $HOME/.claude/line.sh --x"},
 "hooks":{"Stop":[{"hooks":[{"type":"command","command":"'` + h + `/.claude/hooks/one.sh' && echo ok"},{"type":"command","command":"~/bin/secret.sh"}]}],
  "Start":[{"hooks":[{"type":"command","command":"cat ~/.claude/big.db"}]}],
  "End":[{"hooks":[{"type":"command","command":"~/tools/seen.sh; echo done >/tmp/x"}]}]}}`,
	} {
		p := filepath.Join(h, name)
		must(t, os.MkdirAll(filepath.Dir(p), 0o700))
		must(t, os.WriteFile(p, []byte(text), 0o700))
	}
	dst := t.TempDir()
	seen := func(p string) bool { return p == filepath.Join(h, "tools/seen.sh") }
	skipped, err := find(t, "claude").Clone(Origin{Home: h, Workdir: "/w", Seen: seen}, in(t, dst))
	must(t, err)
	want := []string{filepath.Join(h, "bin/secret.sh"), filepath.Join(h, ".claude/big.db"), filepath.Join(h, "bin/secret.sh")}
	if slices.Sort(skipped); !slices.Equal(skipped, slices.Sorted(slices.Values(want))) {
		t.Errorf("left out %q, want %q", skipped, want)
	}
	got, err := os.ReadFile(filepath.Join(dst, ".claude/settings.json"))
	must(t, err)
	for _, s := range []string{"line.sh --x", "one.sh", "seen.sh", "dark"} {
		if !strings.Contains(string(got), s) {
			t.Errorf("%s is not in\n%s", s, got)
		}
	}
	for _, s := range []string{"secret.sh", "big.db", "Start", "apiKeyHelper"} {
		if strings.Contains(string(got), s) {
			t.Errorf("%s is in\n%s", s, got)
		}
	}
	for _, name := range []string{"line.sh", "hooks/one.sh"} {
		if fi, err := os.Stat(filepath.Join(dst, ".claude", name)); err != nil || fi.Mode().Perm() != 0o500 {
			t.Errorf("%s: %v %v", name, fi, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dst, ".claude/big.db")); err == nil {
		t.Error("data that a command names came along")
	}
}
