package gitconfig

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// realGit is the git of this host, which is the judge of everything here.
func realGit(t testing.TB) string {
	t.Helper()
	for _, p := range []string{"/usr/bin/git", "/bin/git"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Fatal("git is needed")
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct{ key, want, err string }{
		{"Push.Default", "push.default", ""},
		{"url.https://X.y/.insteadOf", "url.https://X.y/.insteadof", ""},
		{"branch.a.B.c.Merge", "branch.a.B.c.merge", ""},
		{"a..b", "a..b", ""},
		{"a.it's \"q\" \\.b", "a.it's \"q\" \\.b", ""},
		{"gc.auto-1", "gc.auto-1", ""},
		{"nodot", "", "is not a git key"},
		{".x", "", "is not a git key"},
		{"x.", "", "is not a git key"},
		{"a_b.c", "", `"a_b" is not the name of a section`},
		{"a.1b", "", `"1b" is not the name of a setting`},
		{"a.b c", "", `"b c" is not the name of a setting`},
		{"a.x\ny.b", "", "a sub-section has no line end in it"},
		{"Include.path", "", "includes are resolved before, and never written"},
		{"includeIf.gitdir:/.path", "", "includes are resolved before, and never written"},
	} {
		got, err := Canonical(c.key)
		why := ""
		if err != nil {
			why = err.Error()
		}
		if got != c.want || why != c.err {
			t.Errorf("%q: %q, %q, want %q, %q", c.key, got, why, c.want, c.err)
		}
	}
}

// entries reads one "key=value" each; without "=" the key is bare.
func entries(list ...string) []Entry {
	var out []Entry
	for _, s := range list {
		k, v, ok := strings.Cut(s, "=")
		out = append(out, Entry{Key: k, Value: v, Bare: !ok})
	}
	return out
}

func spell(list []Entry) []string {
	var out []string
	for _, e := range list {
		if e.Bare {
			out = append(out, e.Key)
		} else {
			out = append(out, e.Key+"="+e.Value)
		}
	}
	return out
}

func TestClean(t *testing.T) {
	sealed := []string{"core.askpass=", "core.fsmonitor=false", "protocol.ext.allow=never"}
	noLogin := []string{"credential.helper="}
	for _, c := range []struct {
		about   string
		list    []string
		policy  Policy
		file    []string
		command []string
		added   []string // after file
		dropped []string
	}{
		{
			about: "what does no harm stays, in order, twice and bare",
			list:  []string{"user.name=A", "user.email=a@b", "alias.x=!echo", "a.b=1", "a.b=2", "core.bare", "core.pager=less", "core.sshcommand=ssh -v", "url.git@x:.insteadof=x:", "url.ssh://git@x/.insteadof=y:"},
			file:  []string{"user.name=A", "user.email=a@b", "alias.x=!echo", "a.b=1", "a.b=2", "core.bare", "core.pager=less", "core.sshcommand=ssh -v", "url.git@x:.insteadof=x:", "url.ssh://git@x/.insteadof=y:"},
		},
		{
			about: "what leads out goes",
			list: []string{
				"include.path=x", "includeif.gitdir:/.path=y", "credential.helper=store", "credential.https://x.helper=cache", "core.askpass=x", "core.hookspath=/x",
				"core.fsmonitor", "protocol.ext.allow=always", "trace2.normaltarget=/x", "user.name=A",
			},
			file: []string{"user.name=A"},
			dropped: []string{
				"credential.helper=store", "credential.https://x.helper=cache", "core.askpass=x", "core.hookspath=/x", "core.fsmonitor", "protocol.ext.allow=always", "trace2.normaltarget=/x",
			},
		},
		{
			about: "logins go",
			list: []string{
				"http.https://x/.extraheader=Authorization: x", "github.oauthtoken=1", "sendemail.smtppass=1", "url.https://u:p@x/.insteadof=x",
				"url.https://token@x/.insteadof=x", "http.proxy=http://u:p@x", "http.proxy=u:p@x:1", "remote.o.proxy=x:1", "url.https://x/@y.insteadof=z", "http.sslcertpasswordprotected=true",
			},
			file: []string{"remote.o.proxy=x:1", "url.https://x/@y.insteadof=z", "http.sslcertpasswordprotected=true"},
			dropped: []string{
				"http.https://x/.extraheader=Authorization: x", "github.oauthtoken=1", "sendemail.smtppass=1", "url.https://u:p@x/.insteadof=x", "url.https://token@x/.insteadof=x", "http.proxy=http://u:p@x", "http.proxy=u:p@x:1",
			},
		},
		{
			about:   "the box has a proxy of its own",
			list:    []string{"http.proxy=http://p:1", "http.https://x/.proxy=http://p:2", "http.proxyauthmethod=basic", "remote.o.proxy=p", "core.gitproxy=p", "http.sslcainfo=/x"},
			policy:  Policy{Proxy: true},
			file:    []string{"http.sslcainfo=/x"},
			dropped: []string{"http.proxy=http://p:1", "http.https://x/.proxy=http://p:2", "http.proxyauthmethod=basic", "remote.o.proxy=p", "core.gitproxy=p"},
		},
		{
			about: "without one they stay",
			list:  []string{"http.proxy=http://p:1", "core.gitproxy=p"},
			file:  []string{"http.proxy=http://p:1", "core.gitproxy=p"},
		},
		{
			about:   "logins stay when they are allowed",
			list:    []string{"credential.helper=store", "github.token=1", "core.askpass=x"},
			policy:  Policy{Credentials: true},
			file:    []string{"credential.helper=store", "github.token=1"},
			command: sealed,
			dropped: []string{"core.askpass=x"},
		},
		{
			about:   "sections, sub-sections and settings",
			list:    []string{"url.a.insteadof=1", "url.b.insteadof=2", "remote.o.url=1", "remote.o.p.url=1", "remote.O.url=2", "core.editor=vi", "core.pager=x", "diff.x.textconv=y", "diff.x.binary=1"},
			policy:  Policy{Strip: []string{"URL", "remote.o", "Core.Editor", "diff.x.textconv"}},
			file:    []string{"remote.o.p.url=1", "remote.O.url=2", "core.pager=x", "diff.x.binary=1"},
			dropped: []string{"url.a.insteadof=1", "url.b.insteadof=2", "remote.o.url=1", "core.editor=vi", "diff.x.textconv=y"},
		},
		{
			about:   "an override takes the place of every value, and holds over the repository's",
			list:    []string{"push.default=simple", "push.default=current", "url.X.insteadof=1", "url.x.insteadof=2"},
			policy:  Policy{Overrides: []Entry{{Key: "push.default", Value: "nothing"}, {Key: "url.X.insteadof", Value: "it's"}}},
			file:    []string{"url.x.insteadof=2"},
			command: slices.Concat(sealed, noLogin, []string{"push.default=nothing"}),
			added:   []string{"push.default=nothing", "url.X.insteadof=it's"},
		},
		{
			about:   "a helper of the profile is the only one",
			list:    []string{"credential.helper=store"},
			policy:  Policy{Strip: []string{"credential"}, Overrides: []Entry{{Key: "credential.helper", Value: "!f"}, {Key: "credential.https://x.helper", Value: "!g"}}},
			command: slices.Concat(sealed, noLogin, []string{"credential.helper=!f", "credential.https://x.helper=!g"}),
			added:   []string{"credential.helper=!f", "credential.https://x.helper=!g"},
		},
	} {
		r := Clean(entries(c.list...), c.policy)
		if c.command == nil {
			c.command = slices.Concat(sealed, noLogin)
		}
		if diff := cmp.Diff(slices.Concat(c.file, c.added), spell(r.File)); diff != "" {
			t.Errorf("%s: file (-want +got):\n%s", c.about, diff)
		}
		if diff := cmp.Diff(c.command, spell(r.Command)); diff != "" {
			t.Errorf("%s: command (-want +got):\n%s", c.about, diff)
		}
		if diff := cmp.Diff(c.dropped, spell(r.Dropped)); diff != "" {
			t.Errorf("%s: dropped (-want +got):\n%s", c.about, diff)
		}
	}
}

func TestShown(t *testing.T) {
	list := entries("user.name=A", "core.askpass=", "http.https://x/.extraheader=T", "credential.helper=!echo T", "credential.helper=", "url.https://T@x/.insteadof=x", "url.x.insteadof=https://u:T@x")
	want := []string{"user.name=A", "core.askpass=", "http.https://x/.extraheader=<hidden>", "credential.helper=<hidden>", "credential.helper=", "url.https://x/.insteadof=<hidden>", "url.x.insteadof=<hidden>"}
	if diff := cmp.Diff(want, spell(Shown(list))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list[2].Value != "T" {
		t.Error("what is shown changed what is used")
	}
}

// A repository's settings lose logins, and nothing else.
func TestWithoutLogins(t *testing.T) {
	list := entries("remote.a.url=https://u:T@x/y@z", "remote.b.url=ssh://git@x/y", "remote.c.url=ssh://git:T@x/y", "remote.d.url=git@x:y", "http.proxy=u:T@x:1", "lfs.https://T@x/.access=basic",
		"url.https://T@x/.insteadof=x", "url.ssh://git@x/.insteadof=x", "credential.helper=store", "http.sslkey=/x", "a.apitoken=T", "core.bare")
	want := []string{"remote.a.url=https://x/y@z", "remote.b.url=ssh://git@x/y", "remote.c.url=ssh://git@x/y", "remote.d.url=git@x:y", "http.proxy=x:1", "lfs.https://x/.access=basic", "url.ssh://git@x/.insteadof=x", "core.bare"}
	if diff := cmp.Diff(want, spell(WithoutLogins(list))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnsigned(t *testing.T) {
	for _, c := range []struct {
		list   []string
		policy Policy
		want   bool
	}{
		{[]string{"commit.gpgsign=false"}, Policy{}, false},
		{[]string{"commit.gpgsign"}, Policy{}, true},
		{[]string{"tag.gpgsign=true", "tag.gpgsign=no"}, Policy{}, false},
		{[]string{"commit.gpgsign=true"}, Policy{GPG: true}, false},
		{[]string{"commit.gpgsign=true", "gpg.format=ssh"}, Policy{GPG: true}, true},
		{[]string{"commit.gpgsign=true", "gpg.format=openpgp"}, Policy{SSH: true, Overrides: entries("gpg.format=ssh")}, false},
		{nil, Policy{Overrides: entries("tag.gpgsign=true")}, true},
	} {
		if got := Unsigned(entries(c.list...), c.policy); len(got) > 0 != c.want {
			t.Errorf("%q, %+v: %q", c.list, c.policy, spell(got))
		}
	}
}

// A real home: both files, and all includes, whatever their conditions say.
func TestUser(t *testing.T) {
	git, home := realGit(t), t.TempDir()
	user := func(s Sources) []string {
		t.Helper()
		s.System = os.DevNull
		list, _, err := s.User()
		must(t, err)
		return spell(list)
	}
	j := func(p string) string { return filepath.Join(home, p) }
	write(t, j(".gitconfig"), "[user]\n\tname = A # comment\n\tbare\n[include]\n\tpath = inc/a\n[includeIf \"gitdir:~/work/\"]\n\tpath = ~/cond\n"+
		"[includeIf \"gitdir:~/else/\"]\n\tpath = other\n[user]\n\tname = \"B \\\"q\\\"\\n \\\\ \"\n[include]\n\tpath = missing\n")
	write(t, j(".config/git/config"), "[X \"Sub.Sec\"]\n\tMulti = 1\n\tMulti = 2\n")
	write(t, j("inc/a"), "[include]\n\tpath = b\n[credential]\n\thelper = store\n")
	write(t, j("inc/b"), "[url \"https://t@x/\"]\n\tinsteadOf = x:\n")
	write(t, j("cond"), "[user]\n\temail = work@x\n")
	for _, dir := range []string{"work/app", "free"} {
		must(t, os.MkdirAll(j(dir), 0o755))
		if out, err := exec.Command(git, "init", "-q", j(dir)).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		write(t, j(dir+"/.git/config"), "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch "+j("ran")+"\n[local]\n\tx = 1\n[include]\n\tpath = "+j("inc/b")+"\n")
	}
	want := []string{
		"x.Sub.Sec.multi=1", "x.Sub.Sec.multi=2", "user.name=A", "user.bare", "include.path=inc/a", "include.path=b", "url.https://t@x/.insteadof=x:",
		"credential.helper=store", "includeif.gitdir:~/work/.path=~/cond", "user.email=work@x", "includeif.gitdir:~/else/.path=other", "user.name=B \"q\"\n \\ ", "include.path=missing",
	}
	for _, dir := range []string{"work/app/.git", "free/.git", ""} {
		from := Sources{Home: home}
		if dir != "" {
			from.GitDir, from.CommonDir = j(dir), j(dir)
		}
		if diff := cmp.Diff(want, user(from)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
		from.System = os.DevNull
		files := []string{os.DevNull, j(".config/git/config"), j(".gitconfig"), j("inc/a"), j("inc/b"), j("cond"), j("other"), j("missing")}
		if _, got, _ := from.User(); !slices.Equal(got, files) {
			t.Errorf("%s: files %q", dir, got)
		}
	}
	if list := user(Sources{Home: home, Global: j("cond")}); !slices.Equal(list, []string{"user.email=work@x"}) {
		t.Errorf("GIT_CONFIG_GLOBAL: %q", list)
	}
	if list := user(Sources{Home: j("free"), XDG: j(".config")}); len(list) != 2 {
		t.Errorf("XDG_CONFIG_HOME: %q", list)
	}
	if list := user(Sources{Home: j("nowhere")}); len(list) != 0 {
		t.Errorf("no configuration: %q", list)
	}
	for text, want := range map[string]string{"[user\n": ".gitconfig is not in git's format", "[a]\n" + strings.Repeat("\tb = "+strings.Repeat("x", 1000)+"\n", 1100): "larger than 1024 KiB"} {
		write(t, j(".gitconfig"), text)
		if _, _, err := (Sources{System: os.DevNull, Home: home}).User(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// verified makes sure that git reads back what File makes of a list, and Parse as well.
func verified(t testing.TB, list []Entry) {
	t.Helper()
	text := File("about", list)
	if got, ok := gitReads(t, realGit(t), text); !ok || !same(got, list) {
		t.Errorf("git reads %q, want %q\n%s", spell(got), spell(list), text)
	}
	if got, err := Parse(text); err != nil || !same(got, list) {
		t.Errorf("Parse: %q, %v, want %q\n%s", spell(got), err, spell(list), text)
	}
}

// same reports whether two lists have the same settings, whatever their files.
func same(got, want []Entry) bool {
	return slices.EqualFunc(got, want, func(a, b Entry) bool { return a.Key == b.Key && a.Value == b.Value && a.Bare == b.Bare })
}

func TestOdd(t *testing.T) {
	odd := []string{"", " ", " a ", "\t", "#", "; x", "a # b", `"`, `\`, `a\`, `\n`, "\n", "a\nb", "\r", "a\r", "a\r\nb", "\b", "\x01\x1b", "\xff\xfe", "é", "\ufeff", "=", "a = b", "[x]", "'", "`$(x)`", strings.Repeat("x", 100000)}
	var list []Entry
	for _, s := range odd {
		list = append(list, Entry{Key: "a.b", Value: s}, Entry{Key: "a.bare", Bare: true})
		if !strings.Contains(s, "\n") {
			list = append(list, Entry{Key: "a." + s + ".b", Value: s})
		}
	}
	verified(t, list)
	for _, e := range []Entry{{Key: "a.b", Value: "\x00"}, {Key: "A.b"}, {Key: "a.x\ny.b"}, {Key: "a]\n.b"}, {Key: "include.path"}} {
		if text := File("about", []Entry{e}); string(text) != "# about\n" {
			t.Errorf("%+v was written: %s", e, text)
		}
	}
}

// Whatever a key and a value are, git reads back the same, or nothing is written.
func FuzzFile(f *testing.F) {
	for _, s := range []string{"x", "a b", "\r", "\\", "\"", "#;", "\n", "]", "a.b", "\xff", ""} {
		f.Add("a", s, "b", s, false)
	}
	f.Fuzz(func(t *testing.T, section, sub, name, val string, bare bool) {
		if bare {
			val = ""
		}
		key, err := Canonical(section + "." + sub + "." + name)
		if err != nil || strings.ContainsRune(val, 0) {
			return
		}
		verified(t, []Entry{{Key: "z.z", Value: "before"}, {Key: key, Value: val, Bare: bare}, {Key: "z.z", Value: "after"}})
	})
}
