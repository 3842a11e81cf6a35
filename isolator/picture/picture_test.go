package picture

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

const (
	home = "/home/ann"
	work = "/home/ann/src/app"
)

// subject is a run on a machine with a few secrets, planned.
func subject(t *testing.T) Subject {
	t.Helper()
	dir := func(paths ...string) map[string]host.Path {
		m := map[string]host.Path{}
		for _, p := range paths {
			m[p] = host.Path{Kind: host.Dir, Real: p}
		}
		return m
	}
	s := Subject{
		Config: profile.RunConfig{
			Name: "web", HomeDir: home, Project: work, Workdir: work, Cwd: work, WorkdirMode: profile.RW, Base: "host", Home: "isolated",
			HomeAllow: []string{home + "/.rustup"}, Hide: []string{work + "/private"}, Allow: []string{"gh-config"},
			Network: profile.NetAllowlist, NetworkAllow: []string{"example.com"}, NetworkDeny: []string{"bad.example.com"},
			HostPorts: []profile.Port{{Host: 5432, Box: 5432}}, Publish: []profile.Port{{Host: 8080, Box: 3000}},
			GitDir: "checked", Proc: "auto", Seccomp: "default", Landlock: "auto", Backend: "bwrap",
			Limits: profile.Limits{Files: "2000"},
			Mounts: []profile.Mount{
				{Source: "/data", Dest: "/data", Mode: profile.RO, File: "web.toml", Line: 3},
				{Source: "/srv/model", Dest: "/opt/model", Mode: profile.RO, File: "web.toml", Line: 4},
				{Source: home + "/notes", Dest: home + "/notes", Mode: profile.SafeRW, File: "web.toml", Line: 5},
				{Source: "/scratch", Dest: "/scratch", Mode: profile.Tmpfs, File: "web.toml", Line: 6},
			},
			Env:          profile.Env{Inherit: []string{"LANG", "API_TOKEN"}, Set: []profile.KV{{Key: "MODE", Value: "value-of-mode"}}},
			Entrypoint:   profile.Entrypoint{Cmd: "bash", Interactive: true},
			Output:       profile.Output{Folder: home + "/.inner/logs", Timeout: 30 * time.Minute},
			Noop:         profile.Noop{Rules: []profile.NoopRule{{Words: []string{"pip", "install"}}, {Words: []string{"vi"}, Target: []string{"nano"}}}},
			Capabilities: []string{"claude"}, SyncLogin: true,
		},
		Facts: host.Facts{
			Hide: &host.Hide{Paths: []string{work + "/private"}},
			UID:  1000, GID: 1000, User: "ann", Home: home, Bwrap: "/usr/bin/bwrap", StageBase: "/run/user/1000/inner", InnerHome: home + "/.inner", Landlock: 7,
			Paths: dir("/", "/usr/bin", "/home", home, home+"/src", work, work+"/.git", work+"/.git/hooks", work+"/.inner", work+"/private", home+"/.inner",
				"/data", "/srv", "/srv/model", "/opt/model", "/scratch", home+"/notes", home+"/.rustup", home+"/.ssh", home+"/.aws", home+"/.config/gh", "/var/tmp"),
			Later:   []host.Placeholder{{Path: work + "/.vscode"}},
			Sockets: []string{home + "/agent.sock", "/data/db.sock"},
			Env:     map[string]string{"HOME": home, "PATH": "/usr/bin", "LANG": "value-of-lang", "API_TOKEN": "value-of-token", "OTHER": "value-of-other", "AWS_SECRET": "value-of-aws"},
		},
		Staged: plan.Staged{
			RunID: "r1", Empty: "/empty", Program: "/usr/bin/bash", Argv: []string{"bash"}, Noop: "/stage/noop",
			Copies: []plan.Copy{{Dest: home + "/notes", Host: "/stage/copy"}},
			Binds:  []plan.Bind{{Host: "/stage/claude", Box: home + "/.claude", Write: true, Room: plan.SpareRoom, Reason: "capability claude: a clone of ~/.claude"}},
		},
		Hosts:    []Hosts{{"network_allow", []string{"example.com"}}, {"capability claude", []string{"api.example.net"}}},
		NetNotes: []string{"a note"},
		Limits:   []string{"open files limit 2000, held by resource limits of the program (setrlimit)"},
		Later:    []string{work + "/Makefile", work + "/.vscode/tasks.json"},
	}
	for _, p := range []string{"/usr/bin/bash", work + "/Makefile"} {
		s.Facts.Paths[p] = host.Path{Kind: host.File, Real: p}
	}
	clone, ok := capability.Find("claude", nil)
	if !ok {
		t.Fatal("no capability claude")
	}
	s.Clones = []capability.Capability{clone}
	plan, err := plan.Build(s.Config, s.Facts, s.Staged)
	if err != nil {
		t.Fatal(err)
	}
	s.Plan = plan
	return s
}

// rows writes groups one row to a line: way, word, things.
func rows(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(g.Key + "\n")
		for _, r := range g.Rows {
			var list []string
			for _, t := range r.Things {
				list = append(list, t.line(Seen))
			}
			b.WriteString("  " + string(r.Way) + " " + r.Word + ": " + strings.Join(list, " | ") + "\n")
		}
	}
	return b.String()
}

// TestGroups: each group says what the plan of a fixed host has.
func TestGroups(t *testing.T) {
	got := rows(Groups(subject(t)))
	for _, want := range []string{
		`files
  open can change: ~/src/app
  seen but not in it: .inner | .vscode
  own works on a copy of: ~/notes | ~/.claude
  seen can read: the system (/, where nothing else is said) | ~/.rustup | /data | /srv/model as /opt/model | ~/.config/gh
  own sees empty, its own: /tmp | /var/tmp | ~ | /scratch
`,
		`hidden
  open shown on purpose: gh-config
  shut hidden here (places): ssh-keys 1 | aws-credentials 1 | other-homes 1 | mounted-media 1
`,
		`  shut hidden by you: ~/src/app/private
  shut out of reach: sockets that programs here listen on 2
`,
		`network
  open can reach: example.com
  open capability claude: api.example.net
  shut nothing else: not your own network, nor other services of this computer
  shut never: bad.example.com
  open uses here: port 5432 of this computer, at its own 5432
  open is reached: its port 3000, at 8080 of this computer
  note note: a note
`,
		`  own claude: copies of: ~/.claude/.credentials.json (cleaned) | ~/.claude/settings.json (cleaned) | ~/.claude.json (cleaned) | ~/.claude/CLAUDE.md | ~/.claude/agents/ | ~/.claude/commands/ | ~/.claude/output-styles/ | ~/.claude/skills/
  shut claude: without: what else is in ~/.claude
`,
		"  open claude: writes back: ",
		`variables
  open your secrets: API_TOKEN
  seen yours pass: HOME | LANG
  own the profile sets: MODE
`,
		"  shut stay outside: 2 of your 6\n",
		`commands
  shut blocked: pip install
  own run as another: vi → nano
limits
  shut held: open files limit 2000, held by resource limits of the program (setrlimit) | time 30m
kernel
  shut system calls: a filter (default)
  shut Landlock: version 7: writing, signals, abstract sockets confined a second time
  shut user namespaces: none can be made inside
  shut processes: its own are all it sees; all of them end with the run
  shut rights: no capabilities, also not as root
`,
		`stays
  open stays: what it changes in ~/src/app | a record of the run in ~/.inner/logs
  own goes: /tmp, and everything else it has of its own | the copies it worked on | the copies of your logins and settings
`,
		"later\n  open runs when you build: ~/src/app/Makefile | whatever it writes", // .vscode/tasks.json is protected
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no\n%s\nin\n%s", want, got)
		}
	}
}

// TestOtherBoxes: what widens a box is told.
func TestOtherBoxes(t *testing.T) {
	for _, c := range []struct {
		change func(*Subject)
		want   []string
	}{
		{func(s *Subject) { s.Config.Network, s.Config.NetworkDeny = profile.NetFull, nil }, []string{"open everything: the internet"}},
		{func(s *Subject) { s.Config.Network = profile.NetOff }, []string{"shut none: nothing outside of the box"}},
		{func(s *Subject) { s.Config.Network = profile.NetAsk }, []string{"open asks you: about each host"}},
		{func(s *Subject) { s.Config.Seccomp = "off" }, []string{"open system calls: no filter", "shut user namespaces: none"}},
		{func(s *Subject) { s.Config.Landlock = "off" }, []string{`open Landlock: off`}},
		{func(s *Subject) { s.Facts.Landlock = 0 }, []string{"open Landlock: this kernel has none"}},
		{func(s *Subject) { s.Config.GitDir = "rw" }, []string{"seen but not in it: .inner | .vscode\n", `git hooks and settings of repositories (git_dir = "rw")`}},
		{func(s *Subject) { s.Config.Allow = []string{"project-config"} }, []string{"| ~/src/app/.vscode/tasks.json |", "settings of editors and agents in the project (project-config)"}},
		{func(s *Subject) { s.Config.WorkdirMode = profile.RO }, []string{"seen can read: the system (/, where nothing else is said) | ~/.rustup | /data | /srv/model as /opt/model | ~/src/app |"}},
		{func(s *Subject) { s.Config.Limits, s.Limits, s.Config.Output.Timeout = profile.Limits{}, nil, 0 }, []string{"open none: memory"}},
		{func(s *Subject) { s.Config.Home, s.Staged.Binds = "host", nil }, []string{"nothing else is said) | ~ | /data |", "its own: /tmp | /var/tmp | /scratch\n"}},
	} {
		s := subject(t)
		c.change(&s)
		var err error
		if s.Plan, err = plan.Build(s.Config, s.Facts, s.Staged); err != nil {
			t.Fatal(err)
		}
		got := rows(Groups(s))
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("there is no %q in\n%s", want, got)
			}
		}
	}
}

// TestWithoutPlan: a run that would be refused is told as the profile has it.
func TestWithoutPlan(t *testing.T) {
	s := subject(t)
	s.Plan = plan.Plan{}
	got := rows(Groups(s))
	for _, want := range []string{"open may change: ~/src/app\n", "own works on a copy of: ~/notes\n", "open your secrets: API_TOKEN\n  seen yours pass: LANG\n", "seen may read: the system | ~/.rustup | /data | /srv/model as /opt/model\n", "ssh-keys 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	s.Facts, s.Later = host.Facts{}, nil
	if got := rows(Groups(s)); strings.Contains(got, "can change") || !strings.Contains(got, "shut hidden: what inner profile resources lists") {
		t.Error(got)
	}
}

// TestNoValues: no value of a variable is in any form of the picture.
func TestNoValues(t *testing.T) {
	p := Picture{Groups: Groups(subject(t))}
	text, data := forms(t, p)
	for _, form := range []string{text, data, string(HTML(p, nil))} {
		if strings.Contains(form, "value-of-") || !strings.Contains(form, "API_TOKEN") {
			t.Error(form)
		}
	}
}

func forms(t *testing.T, p Picture) (text, data string) {
	t.Helper()
	var b bytes.Buffer
	Text(&b, p, Style{Width: 100})
	out, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), string(out)
}

// TestHTMLEscapes: whatever a name or a description holds, the page has the tags of
// html.go and no others.
func TestHTMLEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&amp;</style>` + "\x00"
	page := func(s string) string {
		return string(HTML(Picture{
			Profile: Profile{Name: s, Description: s, File: s, Extends: []string{s, s}, Scope: s, Chosen: s, Trust: s},
			Program: Program{Command: s, Path: s, Chosen: s, Folder: s},
			Groups:  []Group{{s, s, []Row{{Open, s, []Thing{{Text: s, Path: s, Why: s, Count: 2, Places: []string{s}}}}, {Own, s, []Thing{{Text: s, Why: s}}}}}},
			Refused: &Refused{s, s, 125},
		}, nil))
	}
	with, without := page(evil), page("plain")
	for _, c := range []string{"<", ">", `"`, "'"} {
		if got, want := strings.Count(with, c), strings.Count(without, c); got != want {
			t.Errorf("%d times %s, and %d in a page of plain words", got, c, want)
		}
	}
	if strings.Contains(with, "<script") || strings.Contains(with, "\x00") || !strings.Contains(with, "&lt;script&gt;alert(1)") || !strings.Contains(with, "&amp;amp;") {
		t.Error(with)
	}
	for _, out := range []string{"http://", "https://", "src=", "href=", "url(", "@import"} {
		if strings.Contains(without, out) {
			t.Errorf("the page asks for something else: %s", out)
		}
	}
}

func TestEscape(t *testing.T) {
	if got, want := escape("a<b>&\"'\x00é"), "a&lt;b&gt;&amp;&#34;&#39;\ufffdé"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTextClean: nothing goes to the terminal that was not made harmless.
func TestTextClean(t *testing.T) {
	const evil = "\x1b[2Jx"
	p := Picture{
		Profile: Profile{Name: evil, Description: evil, File: evil, Extends: []string{evil}, Trust: evil, Chosen: evil},
		Program: Program{Command: evil, Path: evil, Chosen: evil, Folder: evil},
		Groups:  []Group{{evil, evil, []Row{{Open, evil, []Thing{{Text: evil, Why: evil}}}}}},
	}
	var b bytes.Buffer
	Text(&b, p, Style{Width: 80, Clean: func(s string) string { return strings.ReplaceAll(s, "\x1b", `\x1b`) }})
	if strings.Contains(b.String(), "\x1b") || strings.Count(b.String(), `\x1b`) != 14 {
		t.Errorf("%q", b.String())
	}
}

// TestFill: lists are broken between their items, and cut where there is no room.
func TestFill(t *testing.T) {
	for _, c := range []struct {
		lines int
		list  []string
		want  []string
	}{
		{0, []string{"one", "two", "three"}, []string{"one, two,", "three"}},
		{0, []string{"a b c", "d e f g"}, []string{"a b c,", "d e f g"}},
		{0, []string{"much longer than that"}, []string{"much", "longer", "than that"}},
		{1, []string{"one", "two", "three", "four"}, []string{"one … and 3 more"}},
		{2, []string{"one", "two", "three", "four", "five"}, []string{"one, two,", "three … and 2 more"}},
		{2, []string{"one", "two", "three"}, []string{"one, two,", "three"}},
		{1, []string{"much longer than that"}, []string{"much …"}},
		{1, []string{"one", "two"}, []string{"one … and 1 more"}},
		{0, []string{"averylongword", "x"}, []string{"averylongword,", "x"}},
	} {
		if diff := cmp.Diff(c.want, text{Style: Style{Lines: c.lines}}.fill(c.list, 10)); diff != "" {
			t.Errorf("%q in %d lines (-want +got):\n%s", c.list, c.lines, diff)
		}
	}
}
