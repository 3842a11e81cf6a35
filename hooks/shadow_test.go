package hooks

import "testing"

func TestAround(t *testing.T) {
	for _, c := range []struct {
		kind, text string
		around     bool
	}{
		{"alias", "/opt/claude", true},
		{"alias", "~/.claude/local/claude", true},
		{"alias", `"/opt/My Programs/claude" --x`, true},
		{"alias", `/opt/My\ Programs/claude`, true},
		{"alias", "claude --verbose", false},
		{"alias", "A=1 B='x y' claude --verbose", false},
		{"alias", "command claude", false},
		{"alias", "command -p claude", false},
		{"alias", "env -u X A=1 claude", true}, // an option with a word of its own is not understood
		{"alias", "env A=1 claude", false},
		{"alias", "noglob claude", false},
		{"alias", "nocorrect noglob claude", false},
		{"alias", `\claude`, false},
		{"alias", `"claude"`, false},
		{"alias", "cd ~/src && claude", false},
		{"alias", "cd ~/src && /opt/claude", true},
		{"alias", "npx @anthropic-ai/claude-code", true},
		{"alias", "npx @anthropic-ai/claude", true},
		{"alias", "sudo claude", true},
		{"alias", "echo claude", true},
		{"alias", "cc", true},
		{"alias", "claude-real", true},
		{"alias", "", true},
		{"alias", "# claude", true},
		{"global alias", "/opt/claude", true},
		{"abbreviation", "claude --verbose", false},
		{"abbreviation", "/opt/claude", true},
		{"suffix alias", "vim", true},
		{"function", "claude () \n{ \n    /opt/claude \"$@\"\n}", true},
		{"function", "claude () \n{ \n    command claude \"$@\"\n}", false},
		{"function", "claude () \n{ \n    local x=1;\n    cd /x && command claude \"$@\";\n    return\n}", false},
		{"function", "claude () \n{ \n    if [ -t 0 ]; then command claude; else /opt/claude; fi\n}", true},
		{"function", "claude () \n{ \n    claude-real \"$@\"\n}", true},
		{"function", "claude () \n{ \n    claude \"$@\"\n}", true},
		{"function", "\tcommand claude \"$@\"", false}, // zsh
		{"function", "builtin autoload -X", true},
		{"function", "# Defined in /x/functions/claude.fish @ line 1\nfunction claude --wraps=/opt/claude --description 'alias claude=/opt/claude'\n  /opt/claude $argv\nend", true},
		{"function", "function claude --wraps='command claude' --description 'alias claude=command claude'\n  command claude $argv\nend", false},
	} {
		s := Shadow{c.kind, "claude", c.text}
		if got := s.Around(); got != c.around {
			t.Errorf("%s %q: around is %v", c.kind, c.text, got)
		}
	}
}

func TestShellValue(t *testing.T) {
	list := []Shadow{{Kind: "alias", Name: "claude"}, {Kind: "global alias", Name: "cursor-agent"}}
	pid, got := ParseShellValue("123 " + ShellValue(list))
	if pid != 123 || len(got) != 2 || got[0] != list[0] || got[1] != list[1] {
		t.Errorf("%d %v", pid, got)
	}
	for _, bad := range []string{"", "x", "x alias:a", "1 alias:a", "-5 alias:a", "12"} {
		if pid, got := ParseShellValue(bad); pid != 0 || got != nil {
			t.Errorf("%q: %d %v", bad, pid, got)
		}
	}
}
