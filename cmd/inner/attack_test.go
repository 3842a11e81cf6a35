package main

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/enr/inner/profile/builtin"
)

// TestAttackBuiltins tries the escape suite on the built-in profiles that the story
// attack.txtar does not; make attack has those of contrib, too, and root.
func TestAttackBuiltins(t *testing.T) {
	need(t, "bwrap")
	p := newPerson(t)
	p.run("inner", "init")
	inner, err := lookPath("inner", p.getenv("PATH"))
	if err != nil {
		t.Fatal(err)
	}
	// Names of sockets would not fit below this home.
	cache, err := os.MkdirTemp(os.Getenv("INNER_TEST_DIR"), "c")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range builtin.Names() {
		if name == "shell" || name == "claude-one-shot" {
			continue // attack.txtar has them
		}
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(inner, "verify", "--attack", "-p", name)
			cmd.Env, cmd.Dir = append(p.env, "XDG_CACHE_HOME="+cache), p.app
			out, err := cmd.CombinedOutput()
			if err != nil || !regexp.MustCompile(`(?m)^\d{3} attacks, \d{3} live here: \d{3} held, \d+ declared, 0 leaked$`).Match(out) {
				t.Errorf("%v\n%s", err, regexp.MustCompile(`(?m)^\[ok\].*\n`).ReplaceAll(out, nil))
			}
		})
	}
}
