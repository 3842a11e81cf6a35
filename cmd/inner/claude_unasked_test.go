package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// After inner init Claude Code runs commands without a question, its own warning page included;
// after inner init --confirm it asks.
func TestClaudeUnasked(t *testing.T) {
	need(t, "tmux", "bwrap", "bash")
	claude := os.Getenv("INNER_TEST_CLAUDE")
	if claude == "" {
		missing(t, "Claude Code is not there; make test installs it from npm (contrib/agents.sh install claude)")
	}
	for name, flag := range map[string]string{"unasked": "", "asked": " --confirm"} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAnthropic(t, "echo made >made")
			p := newPerson(t)
			p.path(filepath.Dir(claude))
			p.env = append(p.env, "ANTHROPIC_BASE_URL=http://127.0.0.1:"+api.port)
			p.write(".claude/.credentials.json", fmt.Sprintf(
				`{"claudeAiOauth":{"accessToken":"sk-ant-oat01-none","refreshToken":"sk-ant-ort01-none","expiresAt":%d,"scopes":["user:inference"],"subscriptionType":"pro"}}`,
				time.Now().Add(24*time.Hour).UnixMilli()))
			// Without a setting Claude Code decides about most commands itself (2.1.332).
			p.write(".claude/settings.json", `{"permissions":{"defaultMode":"default"}}`)
			p.write(".claude.json", `{"hasCompletedOnboarding":true,"theme":"dark"}`)
			s := p.tmux("bash", "--noprofile", "--rcfile", p.write("rc", "PS1='[ready] '\neval \"$(inner hook bash)\"\n"), "-i")
			s.want(`\[ready\] $`)
			s.enter("cd ~/app; inner init claude --yes" + flag + "; clear; claude 'make it'")
			if flag != "" {
				s.want(`Do you want to proceed`)
				return
			}
			s.want(`the work is done`)
			if text, err := os.ReadFile(filepath.Join(p.app, "made")); err != nil || string(text) != "made\n" {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}
