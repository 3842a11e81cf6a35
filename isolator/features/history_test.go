package features

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile"
)

// TestBashHistory asks a real bash for its history after the generated rc
// file was read. The pty tests recall it by key.
func TestBashHistory(t *testing.T) {
	entries := []string{"git status", "echo 'it''s' \"$HOME\" `id`", "for x in a b\ndo echo $x\ndone", "-n dash", "#1234 not a time", "päth\\n"}
	text := bashrc(entries, true)
	rc := filepath.Join(t.TempDir(), "rc")
	if err := os.WriteFile(rc, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--norc", "-c", `. "$1"; history -s the fc command itself; for ((i=1;i<=$2;i++)); do fc -ln "$i" "$i"; printf '\0'; done`, "bash", rc, fmt.Sprint(len(entries)))
	cmd.Env = []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "HISTSIZE=2", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got []string
	for _, h := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		h = strings.TrimPrefix(strings.TrimPrefix(h, "\n"), "\t ")
		got = append(got, strings.TrimSuffix(h, "\n"))
	}
	if !slices.Equal(got, entries) {
		t.Errorf("got  %q\nwant %q", got, entries)
	}
}

func TestHistoryOnlyForInteractiveShells(t *testing.T) {
	for _, c := range []struct {
		cmd  string
		args []string
		want []string
	}{
		{"/bin/bash", nil, []string{"--rcfile", paths.BoxShell + "/bashrc", "-i"}},
		{"bash", []string{"-i"}, []string{"--rcfile", paths.BoxShell + "/bashrc", "-i"}},
		{"bash", []string{"-l"}, nil},
		{"bash", []string{"-c", "true"}, nil},
		{"bash", []string{"script.sh"}, nil},
		{"zsh", nil, nil},
		{"fish", nil, nil},
		{"claude", nil, nil},
	} {
		run := &Run{Spec: profile.RunConfig{Entrypoint: profile.Entrypoint{Cmd: c.cmd, Args: c.args, History: []string{"true"}}}}
		run.Assets.Argv = append([]string{c.cmd}, c.args...)
		offerHistory(run)
		if want := slices.Concat([]string{c.cmd}, c.want, c.args); !slices.Equal(run.Assets.Argv, want) {
			t.Errorf("%q, want %q", run.Assets.Argv, want)
		}
		if len(run.Assets.Parts) > 0 && c.want == nil && !slices.Equal(c.args, []string{"-l"}) {
			t.Errorf("%s %v: got a history", c.cmd, c.args)
		}
	}
}
