package picture

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

const (
	home = "/home/ann"
	work = "/home/ann/src/app"
)

// prepared is a run on a machine with a few secrets; change, and it is planned.
func prepared(t *testing.T, change func(*features.Run)) *run.Prepared {
	t.Helper()
	dir := func(paths ...string) map[string]host.Path {
		m := map[string]host.Path{}
		for _, p := range paths {
			m[p] = host.Path{Kind: host.Dir, Real: p}
		}
		return m
	}
	shown := &features.Run{
		Settings: settings.Of(&caller.Caller{Home: home, InnerHome: home + "/.inner"}),
		Spec: profile.RunConfig{
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
			UID:  1000, GID: 1000, User: "ann", Home: home, Bwrap: "/usr/bin/bwrap", StageBase: "/stage", InnerHome: home + "/.inner", Landlock: 7, MoveMount: true,
			Paths: dir("/", "/dev", "/proc", "/proc/sys", "/run", "/tmp", home+"/agent.sock", "/data/db.sock", "/usr/bin", "/home", home, home+"/src", work, work+"/.git", work+"/.git/hooks", work+"/.inner", work+"/private", home+"/.inner",
				"/data", "/srv", "/srv/model", "/opt/model", "/scratch", home+"/notes", home+"/.rustup", home+"/.ssh", home+"/.aws", home+"/.config/gh", "/var/tmp"),
			Later:   []host.Placeholder{{Path: work + "/.vscode"}},
			Sockets: []string{home + "/agent.sock", "/data/db.sock"},
			Env:     map[string]string{"HOME": home, "PATH": "/usr/bin", "LANG": "value-of-lang", "API_TOKEN": "value-of-token", "OTHER": "value-of-other", "AWS_SECRET": "value-of-aws"},
		},
		Assets: plan.Staged{
			RunID: "r1", Empty: "/empty", Program: "/usr/bin/bash", Argv: []string{"bash"}, Noop: "/stage/noop",
			Copies: []plan.Copy{{Dest: home + "/notes", Host: "/stage/copy"}},
			Binds:  []plan.Bind{{Host: "/stage/claude", Box: home + "/.claude", Write: true, Reason: "capability claude: a clone of ~/.claude"}},
		},
		Reach: features.Reach{Notes: []string{"can reach api.example.net [capability claude]"}},
	}
	for _, p := range []string{"/usr/bin/bash"} {
		shown.Facts.Paths[p] = host.Path{Kind: host.File, Real: p}
	}
	clone, ok := capability.Find("claude")
	if !ok {
		t.Fatal("no capability claude")
	}
	shown.Agents = []capability.Capability{clone}
	change(shown)
	var err error
	if shown.Plan, err = plan.Build(shown.Spec, shown.Facts, shown.Assets); err != nil {
		t.Fatal(err)
	}
	return &run.Prepared{Run: shown}
}

// rows writes groups one row to a line: way, and what the row says.
func rows(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		b.WriteString(g.Key + "\n")
		for _, r := range g.Rows {
			b.WriteString("  " + string(r.Way) + " " + r.Word + r.rest(0) + "\n")
		}
	}
	return b.String()
}

// TestGroups: each grant is told in its own words, and what a fixed host adds.
func TestGroups(t *testing.T) {
	b := prepared(t, func(*features.Run) {})
	got := rows(Groups(&profile.Profile{}, b))
	for _, g := range profile.Grants(b.Spec) {
		if g.Kind != "runs" && g.Kind != "sets" && !strings.Contains(got, " "+g.Text+"\n") {
			t.Errorf("%q is not told in\n%s", g.Text, got)
		}
	}
	for _, want := range []string{
		"  seen cannot change in there: ~/src/app/.inner, ~/src/app/.vscode\n",
		"  shut hides, in so many places here: ssh-keys 1, aws-credentials 1, other-homes 1, mounted-media 1\n",
		"  note can reach api.example.net [capability claude]\n",
		"  own claude: mounts a clone on ~/.claude ",
		"  own has these variables: ALL_PROXY, API_TOKEN, ",
		"  own sets variables: MODE (value not shown)\n",
		"  note what it writes that you build, ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no\n%s\nin\n%s", want, got)
		}
	}
}

// TestVerbs: all grants are told in a group that there is.
func TestVerbs(t *testing.T) {
	for _, v := range profile.Verbs() {
		if v.Kind != "runs" && !slices.ContainsFunc(groups(), func(g Group) bool { return g.Key == v.Group }) {
			t.Errorf("%s is told in %q", v.Kind, v.Group)
		}
	}
}

// TestOtherBoxes: what widens a box is told.
func TestOtherBoxes(t *testing.T) {
	got := rows(Groups(&profile.Profile{}, prepared(t, func(run *features.Run) { run.Spec.GitDir, run.Spec.Allow = "rw", []string{"project-config"} })))
	for _, want := range []string{"works on your own git directory, which is dangerous", "project-config (can change what editors and agents run on your machine)"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
}

// TestWithoutPlan: of a run that would be refused the grants are told.
func TestWithoutPlan(t *testing.T) {
	b := prepared(t, func(*features.Run) {})
	b.Plan = plan.Plan{}
	got := rows(Groups(&profile.Profile{}, b))
	for _, want := range []string{"open can change files in: ~/src/app\n", "own works on a copy of: ~/notes\n", "open gets your secrets: API_TOKEN\n", "ssh-keys 1"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	b.Facts = host.Facts{}
	if got := rows(Groups(&profile.Profile{}, b)); strings.Contains(got, "runs when you build") || !strings.Contains(got, "shut hides: what inner profile resources lists") {
		t.Error(got)
	}
}

// TestNoValues: no value of a variable is in any form of the picture.
func TestNoValues(t *testing.T) {
	p := Picture{Groups: Groups(&profile.Profile{}, prepared(t, func(*features.Run) {}))}
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
			Groups:  []Group{{s, s, []Row{{Open, s, []Thing{{Text: s, Path: s, Why: s, Count: 2, Places: []string{s}}}, s, s}, {Own, s, []Thing{{Text: s, Why: s}}, s, s}}}},
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

// TestTextClean: nothing goes to the terminal that was not made harmless.
func TestTextClean(t *testing.T) {
	const evil = "\x1b[2Jx"
	p := Picture{
		Profile: Profile{Name: evil, Description: evil, File: evil, Extends: []string{evil}, Trust: evil, Chosen: evil},
		Program: Program{Command: evil, Path: evil, Chosen: evil, Folder: evil},
		Groups:  []Group{{evil, evil, []Row{{Open, evil, []Thing{{Text: evil}}, evil, ""}}}},
	}
	var b bytes.Buffer
	Text(&b, p, Style{Width: 80, Clean: func(s string) string { return strings.ReplaceAll(s, "\x1b", `\x1b`) }})
	if strings.Contains(b.String(), "\x1b") || strings.Count(b.String(), `\x1b`) != 14 {
		t.Errorf("%q", b.String())
	}
}
