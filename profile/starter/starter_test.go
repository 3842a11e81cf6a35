package starter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/profile/capability"
)

func TestRemoteHost(t *testing.T) {
	for url, want := range map[string]string{
		"https://github.com/a/b.git": "github.com web", "https://me@git.example.org/a": "git.example.org web", "git@github.com:a/b.git": "github.com",
		"ssh://git@host.example:2222/a": "host.example", "../other": "", "/srv/git/a": "", "C:/a": "C",
	} {
		host, web := remoteHost(url)
		got := host
		if web {
			got += " web"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// TestTraits looks into folders of a person, and not into what a tool brought.
func TestTraits(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "", "web/package.json": "", "node_modules/x/Cargo.toml": "", ".hidden/pom.xml": "",
		".git/config": "[remote \"origin\"]\n\turl = https://github.com/a/b\n",
	} {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := TraitsOf(root)
	if !slices.Equal(got.Words, []string{"Go", "Node", "git on github.com"}) || !slices.Equal(got.Allow, []string{"@go", "@npm", "@github"}) {
		t.Errorf("%+v", got)
	}
}

// agent is that of a program.
func agent(program string) capability.Capability {
	c, _ := capability.Of(program)
	return c
}

// TestText says what was chosen.
func TestText(t *testing.T) {
	c := Choice{Root: "/src/app", Network: "ask", Mounts: []Mount{{"~/lib", "ro"}}, Traits: Traits{Allow: []string{"@maven", "@go"}}}
	text := c.Text(agent("claude"))
	for _, want := range []string{`extends        = "claude-interactive"`, `network_mode = "ask"`, `network_allow = ["@maven"]`, `"~/lib" = "ro"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	// Without a word it runs commands unasked, in the words that each agent has for it.
	for name, want := range map[string]string{
		"claude": `args = ["--dangerously-skip-permissions"]`, "codex": `args = ["--dangerously-bypass-approvals-and-sandbox"]`,
		"cursor-agent": `args = ["--trust", "--force"]`, "gemini": `args = ["--yolo"]`,
	} {
		if text := (Choice{}).Text(agent(name)); !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s: no %s in\n%s", name, want, text)
		}
		if text := (Choice{Asking: []string{name}}).Text(agent(name)); !strings.Contains(text, "\n# "+want+"\n") {
			t.Errorf("%s: %s is no comment in\n%s", name, want, text)
		}
	}
	if text := (Choice{}).Text(agent("opencode")); strings.Contains(text, "args") {
		t.Errorf("opencode asks nothing anyway:\n%s", text)
	}
	if c.Network = "off"; strings.Contains(c.Text(agent("claude")), `network_allow = ["@maven"]`) {
		t.Error("hosts without a network")
	}
}
