package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/enr/inner/profile/strict"
)

// "-KEY" = "" removes an entry of the base from a table, as "-NAME" removes an
// item from a list.
func TestRemoval(t *testing.T) {
	const base = `V1
[mounts]
"/srv" = "tmpfs"
"~/x" = "rw"
[env]
inherit = ["A", "B"]
set = { X = "1", Y = "2" }
[git]
overrides = { "push.default" = "nothing", "user.name" = "box" }
[noop]
block = ["apt"]
rewrite = { docker = "podman", pip = "uv pip" }
message = { apt = "no", docker = "see the manual" }
`
	show := func(s *source) string {
		var mounts []string
		for _, e := range s.Value("mounts").Items {
			mounts = append(mounts, e.Key)
		}
		n := noopOf(s)
		var messages []KV
		for _, r := range n.Rules {
			if r.Message != "" {
				messages = append(messages, KV{r.String(), r.Message})
			}
		}
		return fmt.Sprint(mounts, s.Value("env.inherit").Texts(), Pairs(*s.Value("env.set")), Pairs(*s.Value("git.overrides")), n.Blocked(), n.Rewritten(), messages)
	}
	for _, c := range []struct{ child, want string }{
		{"", `[/srv ~/x] [A B] [{X 1} {Y 2}] [{push.default nothing} {user.name box}] [apt] [docker → podman pip → uv pip] [{apt no} {docker see the manual}]`},
		{
			"[mounts]\n\"-~/x\" = \"\"\n\"~/z\" = \"ro\"\n[env]\ninherit = [\"-A\"]\nset = { -X = \"\", Z = \"3\" }",
			`[/srv ~/z] [B] [{Y 2} {Z 3}] [{push.default nothing} {user.name box}] [apt] [docker → podman pip → uv pip] [{apt no} {docker see the manual}]`,
		},
		{
			"[git.overrides]\n\"-user.name\" = \"\"\n[noop]\nblock = [\"-apt\"]\nrewrite = { -docker = \"\" }",
			`[/srv ~/x] [A B] [{X 1} {Y 2}] [{push.default nothing}] [] [pip → uv pip] []`,
		},
		{
			"[noop]\nmessage = { -apt = \"\" }\n[mounts]\n\"-/srv\" = \"\"\n\"/srv\" = \"ro\"",
			`[~/x /srv] [A B] [{X 1} {Y 2}] [{push.default nothing} {user.name box}] [apt] [docker → podman pip → uv pip] [{docker see the manual}]`,
		},
		{"[env.set]\n-Q = \"\"", `G/p.toml:4: env.set: "-Q" removes nothing: no profile this one extends lists "Q" (did you mean "-X"?)`},
		{"[mounts]\n\"-~/y\" = \"\"", `G/p.toml:4: mounts: "-~/y" removes nothing: no profile this one extends lists "~/y" (did you mean "-~/x"?)`},
		{"[mounts]\n\"-~/x\" = \"ro\"", `G/p.toml:4: mounts."-~/x": is "ro", and a removal has no value ("-~/x" = "" removes "~/x" of the base)`},
		{"[noop.rewrite]\n\"-\" = \"\"", `G/p.toml:4: noop.rewrite.-: removes nothing: no name follows the dash`},
	} {
		w := newWorld(t, map[string]string{"base": base, "p": "V1\nextends = \"base\"\n" + c.child})
		p, err := w.load("p")
		got := w.short(err)
		if err == nil {
			got = show(&p.src)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s\n%s", c.child, diff)
		}
	}
	// Nothing can be taken out where nothing is below.
	w := newWorld(t, map[string]string{"p": "V1\n[env.set]\n-X = \"\""})
	if _, err := w.load("p"); w.short(err) != `G/p.toml:3: env.set: "-X" removes nothing: no profile this one extends lists "X"` {
		t.Error(err)
	}
}

// One file by two names is one file, and a long chain is one error.
func TestExtendsItself(t *testing.T) {
	files := map[string]string{
		"dots": "V1\nextends = \"../profiles/./dots.toml\"", "link": "V1\nextends = \"~/names/soft.toml\"", "hard": "V1\nextends = \"~/names/hard.toml\"",
		"folder": "V1\nextends = \"~/names/all/folder.toml\"", "tilde": "V1\nextends = \"~/.inner/profiles/tilde.toml\"",
		"a": "V1\nextends = \"b\"", "b": "V1\nextends = \"~/names/a2.toml\"", "end": "V1\n", "soft": "V1\nextends = \"~/names/end.toml\"",
	}
	for i := range 2000 {
		files[fmt.Sprintf("c%d", i)] = fmt.Sprintf("V1\nextends = \"./c%d.toml\"", i+1)
	}
	files["c2000"] = "V1\n"
	w := newWorld(t, files)
	names, profiles := filepath.Join(w.home, "names"), filepath.Join(w.inner, "profiles")
	must(t, os.Mkdir(names, 0o700))
	must(t, os.Symlink(filepath.Join(profiles, "link.toml"), filepath.Join(names, "soft.toml")))
	must(t, os.Symlink(filepath.Join(profiles, "end.toml"), filepath.Join(names, "end.toml")))
	must(t, os.Symlink(profiles, filepath.Join(names, "all")))
	must(t, os.Link(filepath.Join(profiles, "hard.toml"), filepath.Join(names, "hard.toml")))
	must(t, os.Link(filepath.Join(profiles, "a.toml"), filepath.Join(names, "a2.toml")))
	for _, c := range []struct{ name, want string }{
		{"dots", `G/dots.toml:2: extends: "G/dots.toml" extends itself: dots.toml → dots.toml`},
		{"tilde", `G/tilde.toml:2: extends: "G/tilde.toml" extends itself: tilde.toml → tilde.toml`},
		{"link", `G/link.toml:2: extends: "~/names/soft.toml" extends itself: link.toml → link.toml`},
		{"hard", `G/hard.toml:2: extends: "~/names/hard.toml" extends itself: hard.toml → hard.toml`},
		{"folder", `G/folder.toml:2: extends: "~/names/all/folder.toml" extends itself: folder.toml → folder.toml`},
		{"a", `G/b.toml:2: extends: "~/names/a2.toml" extends itself: a.toml → b.toml → a.toml`},
		{"soft", `G/soft.toml:2: extends: "~/names/end.toml" is a link, not a regular file`},
		{"c0", `G/c32.toml:2: extends: "G/c0.toml" builds on more than 32 files`},
		{"c1968", ""},
	} {
		_, err := w.load(c.name)
		if diff := cmp.Diff(c.want, w.short(err)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// What is no profile at all, by itself and as the base of one.
func TestBadBytes(t *testing.T) {
	var wide strings.Builder
	for wide.Len() < 10<<20 {
		wide.WriteString("# ten megabytes of nothing to say, line by line\n")
	}
	for _, c := range []struct{ name, text, own, asBase string }{
		{"10 MB", "V1\n" + wide.String(), `"G/bad.toml" is larger than 1024 KiB`, `G/p.toml:2: extends: "G/bad.toml" is larger than 1024 KiB`},
		{"NUL", "V1\nname = \"x\x00\"", "G/bad.toml:2: contains a NUL byte", "G/bad.toml:2: contains a NUL byte"},
		{"escaped NUL", "V1\ndescription = \"\\u0000\"", "G/bad.toml:2: description: contains a NUL character", "G/bad.toml:2: description: contains a NUL character"},
		{"a word for a list", "V1\n[sandbox]\nallow = \"ssh-keys\"", `G/bad.toml:3: sandbox.allow: wants a list of strings, is a string (write ["ssh-keys"])`, `G/bad.toml:3: sandbox.allow: wants a list of strings, is a string (write ["ssh-keys"])`},
		{"numbers in a list", "V1\n[env]\ninherit = [\"A\",\n 2, [\"B\"]]", "G/bad.toml:4: env.inherit: wants a list of strings, item 2 is a whole number\nG/bad.toml:4: env.inherit: wants a list of strings, item 3 is a list", "G/bad.toml:4: env.inherit: wants a list of strings, item 2 is a whole number\nG/bad.toml:4: env.inherit: wants a list of strings, item 3 is a list"},
		{"a table for a list", "V1\n[noop.block]\na = 1", "G/bad.toml:2: noop.block: wants a list of strings, is a table", "G/bad.toml:2: noop.block: wants a list of strings, is a table"},
		{"a list for a table", "V1\nmounts = [\"~/x\"]", "G/bad.toml:2: mounts: wants a table, is a list", "G/bad.toml:2: mounts: wants a table, is a list"},
		{"a list for extends", "V1\nextends = [\"shell\"]", "G/bad.toml:2: extends: wants a string, is a list", "G/bad.toml:2: extends: wants a string, is a list"},
	} {
		w := newWorld(t, map[string]string{"bad": c.text, "p": "V1\nextends = \"bad\""})
		for name, want := range map[string]string{"bad": c.own, "p": c.asBase} {
			_, err := w.load(name)
			if diff := cmp.Diff(want, w.short(err)); diff != "" {
				t.Errorf("%s, %s: %s", c.name, name, diff)
			}
		}
	}
}

// Warnings say what is odd and stop nothing; the twin without the oddity is
// silent.
func TestWarnings(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"name = \"other\"", `L/p.toml:2: name: is "other", but -p and extends know the profile by its file's name, "p"`},
		{"name = \"p\"\nsync_credentials = true\ncapabilities = [\"claude\"]", ""},
		{"sync_credentials = true", "L/p.toml:2: sync_credentials: has no effect without capabilities"},
		{"[sandbox]\nhome = \"isolated\"\nhome_allow = [\"~/data\"]", ""},
		{"[sandbox]\nnetwork_allow = [\"!b.example\"]", "L/p.toml:3: sandbox.network_allow: has no effect: there is no network"},
		{"[sandbox]\nnetwork_mode = \"ask\"", ""},
		{"[sandbox]\nnetwork_mode = \"allowlist\"\nnetwork_allow = [\"a.example\"]", ""},
		{"[sandbox]\nnetwork_mode = \"allowlist\"", "L/p.toml:3: sandbox.network_mode: the list of hosts is empty: nothing can be reached"},
		{"[sandbox]\ncgroup_manager = \"cgroupfs\"", "L/p.toml:3: sandbox.cgroup_manager: says nothing any more (remove the line)"},
		{"[sandbox]\nallow = [\"ssh-keys\", \"bash-history\"]", ""},
		{"[mounts]\n\"~\" = \"rw\"\n\"/usr\" = \"rw\"\n\"~/data\" = \"rw\"\n\"/opt\" = \"ro\"", "L/p.toml:3: mounts.\"~\": makes your whole home folder writable\nL/p.toml:4: mounts.\"/usr\": makes the system folder \"/usr\" writable"},
		{"[output]\nlog = \"~/logs\"\nrecord = \"audit\"", `L/p.toml:3: output.log: has no effect with record = "audit", which keeps no folder of the run`},
		{"[output]\nlog = \"~/logs\"", ""},
		{"[output]\nreview = true", "L/p.toml:3: output.review: has no effect: no mount has the mode safe-rw"},
		{"[output]\nreview = true\n[mounts]\n\"~/data\" = \"safe-rw\"", ""},
		{"[env]\ninherit_all = true", "L/p.toml:3: env.inherit_all: is read as clearenv = false (write that)"},
		{"[env.set]\nA_TOKEN = \"hunter2\"\nB_TOKEN = \"$GOPATH\"\nC = \"/opt/none/jdk\"\nD = \"~/data\"\nE = \"/a:/b\"\nF = \"/tmp/x\"", "L/p.toml:3: env.set.A_TOKEN: a secret stands in the file (inherit = [\"A_TOKEN\"] takes it from your environment)\nL/p.toml:5: env.set.C: \"/opt/none/jdk\" does not exist on the host"},
		{"[env.set]\nA = \"/srv/in\"\n[mounts]\n\"~/box\" = { dest = \"/srv\" }", ""},
		{"[entrypoint]\ncmd = \"/bin/bash\"\ntui = true", "L/p.toml:4: entrypoint.tui: a shell sets up the terminal itself: what is pasted would not be shown (cursor_fix = \"shell\" is what shells need)"},
		{"[entrypoint]\ncmd = \"claude\"\ntui = true", ""},
		{"[entrypoint]\ninteractive = false\ncursor_fix = \"shell\"\nhistory = [\"ls\"]\n[output]\nrecord = true\ntimeout_seconds = 9", "L/p.toml:4: entrypoint.cursor_fix: has no effect: the run is not interactive\nL/p.toml:5: entrypoint.history: has no effect: the run is not interactive\nL/p.toml:7: output.record: has no effect: the run is not interactive"},
		{"[entrypoint]\ncmd = \"claude\"\ninteractive = false\ntui = true", "L/p.toml:5: entrypoint.tui: has no effect: the run is not interactive\nL/p.toml:4: output.timeout_seconds: nobody is watching, and nothing ends the run (timeout_seconds = 1800)"},
	} {
		w, p := resolveWorld(t, c.text)
		ctx := w.context()
		if strings.Contains(c.text, `"~" = "rw"`) {
			ctx.Overrides.Workdir = w.project
		}
		rc, err := p.Resolve(ctx)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		var got []string
		for _, p := range rc.Warnings() {
			got = append(got, w.replaceHome.Replace(p.Error()))
		}
		if diff := cmp.Diff(c.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

// The words of published profiles that this language spells otherwise.
func TestPublishedSpellings(t *testing.T) {
	w, p := resolveWorld(t, "sync_credentials = true\n[sandbox]\nhome = \"host-ro\"\ncgroup_manager = \"cgroupfs\"\nallow = [\"nested-user-ns\"]\n[output]\nrecord = true\nreview = true")
	rc, err := p.Resolve(w.context())
	must(t, err)
	if rc.Home != "host" || !rc.SyncLogin || !rc.Output.Record || !rc.Output.Review {
		t.Errorf("%+v", rc)
	}
	for text, want := range map[string]string{
		"[sandbox]\nhome = \"host-rw\"": `L/p.toml:3: sandbox.home: "host-rw" is not one of "host", "own", "isolated" (did you mean "host"?)`,
		"[output]\nrecord = \"yes\"":    `L/p.toml:3: output.record: "yes" is not one of "true", "false", "audit"`,
	} {
		w := newWorld(t, map[string]string{"local/p": "V1\n" + text})
		if _, err := w.load("p"); w.short(err) != want {
			t.Errorf("%s: %s", text, w.short(err))
		}
	}
}

// Which of the three workspaces_path counts is the caller's to say for
// config.toml, and the profile's own goes first.
func TestWorkspacesPath(t *testing.T) {
	const mount = "[mounts]\n\"~/data\" = { dest = \"${workspaces_path}/a\", mode = \"rw\" }\n[entrypoint]\nworkdir = \"${workspaces_path}/a\""
	for _, c := range []struct{ profile, config, want string }{
		{"", "~/.inner/workspaces", "~/.inner/workspaces/a"},
		{"workspaces_path = \"~/box\"\n", "~/.inner/workspaces", "~/box/a"},
		{"workspaces_path = \"\"\n", "/nowhere", "/nowhere/a"},
	} {
		w, p := resolveWorld(t, c.profile+mount)
		ctx := w.context()
		ctx.WorkspacesPath = c.config
		rc, err := p.Resolve(ctx)
		must(t, err)
		m := rc.Mounts[0]
		if got := strings.ReplaceAll(m.Dest, w.home, "~"); got != c.want || !m.Workspace || rc.Cwd != m.Dest || !rc.WorkspaceWorkdir {
			t.Errorf("%q, %q: %s, cwd %s", c.profile, c.config, got, rc.Cwd)
		}
	}
}

func TestLimitsPrecedence(t *testing.T) {
	got := Limits{Memory: "1G"}.Or(Limits{Memory: "2G", Pids: "5"}).Or(Limits{Memory: "3G", Pids: "6", CPU: "2", Files: "7", FileSize: "8M"})
	if want := (Limits{Memory: "1G", Pids: "5", CPU: "2", Files: "7", FileSize: "8M"}); got != want {
		t.Errorf("%+v", got)
	}
}

// The profiles another inner publishes, written down key by key (not word by
// word), load and resolve unchanged. Their sources must be on the host, as
// there: the socket of podman is in none of our test homes.
func TestPublishedProfiles(t *testing.T) {
	files, err := filepath.Glob("testdata/published/*.toml")
	must(t, err)
	if len(files) != 18 {
		t.Fatalf("%d files", len(files))
	}
	texts := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		must(t, err)
		texts[stem(f)] = string(data)
	}
	w := newWorld(t, texts)
	for _, dir := range []string{".local/share/containers", ".config/containers", ".m2", ".gradle", ".cargo", ".rustup", ".npm", ".npm-global/bin", "src/app/pkg"} {
		must(t, os.MkdirAll(filepath.Join(w.home, dir), 0o700))
	}
	const noSocket = `mount source "/run/user/4294000000/podman/podman.sock" does not exist on host`
	for name := range texts {
		p, err := w.load(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		c := w.context()
		c.UID = 4294000000
		rc, err := p.Resolve(c)
		containers := strings.Contains(texts[name], "podman-socket") || strings.Contains(texts[name], `"shell-containers"`)
		switch {
		case containers && (err == nil || strings.Count(err.Error(), "\n") > 0 || !strings.Contains(err.Error(), noSocket)):
			t.Errorf("%s: %v", name, err)
		case !containers && err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		for _, warning := range rc.Warnings() {
			if !strings.Contains(warning.Msg, `"/opt/`) { // pinned toolchains that are not on this host
				t.Errorf("%s: %s", name, warning.Error())
			}
		}
	}
	// What a child adds to what it inherits.
	p, err := w.load("java-maven")
	must(t, err)
	history, checks := p.src.Value("entrypoint.history").Texts(), p.src.Value("verify.custom.checks").Items
	if len(history) != 6 || history[5] != "mvn clean package" || len(checks) != 2 || !p.src.Value("sandbox.network").On() || len(p.src.Value("mounts").Items) != 5 {
		t.Errorf("%q, %d checks, %d mounts", history, len(checks), len(p.src.Value("mounts").Items))
	}
}

// Every key of the schema, under its table, is in the manual, and the manual has
// no key the schema does not know.
func TestManual(t *testing.T) {
	data, err := os.ReadFile("../docs/profile-language.md")
	must(t, err)
	var want, got []string
	for _, r := range keyRules() {
		if r.kind != strict.ATable || r.of == nil {
			want = append(want, r.key)
		}
		for _, of := range r.of {
			want = append(want, r.key+"."+of.Name)
		}
	}
	table := "none"
	for line := range strings.Lines(string(data)) {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			table = "none"
			if head = strings.TrimSpace(head); head == "Top level" {
				table = ""
			} else if strings.HasPrefix(head, "[") {
				table = strings.Trim(head, "[]")
			}
		}
		if key, ok := strings.CutPrefix(line, "| `"); ok && table != "none" {
			key, _, _ = strings.Cut(key, "`")
			got = append(got, strings.TrimPrefix(table+"."+key, "."))
		}
	}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
	// The words a key takes stand in its row.
	list := [][]string{Capabilities()}
	d := strict.NewDoc(language())
	keys := d.Keys()
	for _, k := range keys {
		keys = append(keys, k.Of...)
	}
	for _, k := range keys {
		if k.Words != nil && !slices.Contains([]string{"entrypoint.cursor_fix", "output.record", "sandbox.allow", "sandbox.devices", "allow"}, k.Name) {
			list = append(list, k.Words)
		}
	}
	for _, words := range list {
		if !strings.Contains(string(data), "`"+strings.Join(words, "` `")+"`") {
			t.Errorf("%q is in no row", words)
		}
	}
}

// The tests and stories that the tables of docs/history name are there.
func TestPromises(t *testing.T) {
	for _, page := range []string{"promises.md", "seeds.md"} {
		namedTests(t, "../docs/history/"+page)
	}
}

func namedTests(t *testing.T, page string) {
	data, err := os.ReadFile(page)
	must(t, err)
	folders := map[string]string{"profile": ".", "isolator": "../isolator", "cmd/inner": "../cmd/inner"}
	for _, name := range []string{"plan", "verify", "host", "container", "limits", "seccomp", "procfs", "session", "features", "agenthook"} {
		folders[name] = "../isolator/" + name
	}
	tests := map[string]string{}
	for _, m := range regexp.MustCompile("`([a-z/]+)\\.(Test[A-Za-z]+)`").FindAllStringSubmatch(string(data), -1) {
		dir := folders[m[1]]
		if dir == "" {
			dir = m[1] // a package below this one
		}
		if tests[dir] == "" {
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			must(t, err)
			for _, f := range files {
				text, err := os.ReadFile(f)
				must(t, err)
				tests[dir] += string(text)
			}
		}
		if !strings.Contains(tests[dir], "func "+m[2]+"(") {
			t.Errorf("%s: there is no %s", m[1], m[2])
		}
	}
	for _, story := range regexp.MustCompile(`[a-z/-]+\.txtar`).FindAllString(string(data), -1) {
		in := story
		if !strings.Contains(in, "/") {
			in = "script/" + in
		}
		if _, err := os.Stat("../cmd/inner/testdata/" + in); err != nil {
			t.Errorf("there is no story %s", story)
		}
	}
	if len(tests) < 5 {
		t.Errorf("only %d packages are named", len(tests))
	}
}

// Each rule of [noop] is read once, in the order of the file.
func TestNoopRules(t *testing.T) {
	doc, problems := strict.Decode("", []byte("[noop]\nblock = [\"pip  install\", \"apt\", \"pip\\tinstall\"]\n"+
		"rewrite = { \"npm  i\" = \"pnpm add\", echo = \"/bin/echo\" }\nmessage = { \"pip install\" = \"use uv\", \"echo \" = \"-\" }"), language())
	must(t, problems.Err())
	n := noopOf(&source{Doc: doc})
	want := []NoopRule{
		{[]string{"pip", "install"}, nil, "use uv"},
		{[]string{"apt"}, nil, ""},
		{[]string{"npm", "i"}, []string{"pnpm", "add"}, ""},
		{[]string{"echo"}, []string{"/bin/echo"}, "-"},
	}
	if diff := cmp.Diff(want, n.Rules); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"pip", "apt", "npm", "echo"}, n.Commands()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"npm i → pnpm add", "echo → /bin/echo"}, n.Rewritten()); diff != "" {
		t.Error(diff)
	}
}
