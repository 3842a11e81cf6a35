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
	unsigned := []string{"commit.gpgsign=false", "tag.gpgsign=false", "tag.forcesignannotated=false", "push.gpgsign=false"}
	for _, c := range []struct {
		about   string
		list    []string
		policy  Policy
		file    []string // before what is enforced
		command []string // all of it
		added   []string // after what is enforced
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
			command: slices.Concat(sealed, unsigned),
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
			policy:  Policy{Overrides: []Setting{{"Push.Default", "nothing"}, {"url.X.insteadOf", "it's"}}},
			file:    []string{"url.x.insteadof=2"},
			command: slices.Concat(sealed, noLogin, unsigned, []string{"push.default=nothing"}),
			added:   []string{"push.default=nothing", "url.X.insteadof=it's"},
		},
		{
			about:   "a helper of the profile is the only one",
			list:    []string{"credential.helper=store"},
			policy:  Policy{Strip: []string{"credential"}, Overrides: []Setting{{"credential.helper", "!f"}, {"credential.https://x.helper", "!g"}}},
			command: slices.Concat(sealed, noLogin, unsigned, []string{"credential.helper=!f", "credential.https://x.helper=!g"}),
			added:   []string{"credential.helper=!f", "credential.https://x.helper=!g"},
		},
		{
			about:   "keys of GnuPG sign",
			list:    []string{"commit.gpgsign=true"},
			policy:  Policy{GPG: true},
			file:    []string{"commit.gpgsign=true"},
			command: slices.Concat(sealed, noLogin),
		},
		{
			about:  "keys of GnuPG do not sign for SSH",
			list:   []string{"gpg.format=ssh"},
			policy: Policy{GPG: true},
			file:   []string{"gpg.format=ssh"},
		},
		{
			about:   "keys of SSH do",
			list:    []string{"gpg.format=openpgp"},
			policy:  Policy{SSH: true, Overrides: []Setting{{"gpg.format", "ssh"}}},
			command: slices.Concat(sealed, noLogin, []string{"gpg.format=ssh"}),
			added:   []string{"gpg.format=ssh"},
		},
	} {
		r, err := Clean(entries(c.list...), c.policy)
		must(t, err)
		if c.command == nil {
			c.command = slices.Concat(sealed, noLogin, unsigned)
		}
		always := c.command[:len(c.command)-len(c.added)+countRepeats(c.added, c.policy)]
		if diff := cmp.Diff(slices.Concat(c.file, always, c.added), spell(r.File)); diff != "" {
			t.Errorf("%s: file (-want +got):\n%s", c.about, diff)
		}
		if diff := cmp.Diff(c.command, spell(r.Command)); diff != "" {
			t.Errorf("%s: command (-want +got):\n%s", c.about, diff)
		}
		if diff := cmp.Diff(c.dropped, spell(r.Dropped)); diff != "" {
			t.Errorf("%s: dropped (-want +got):\n%s", c.about, diff)
		}
	}
	for _, o := range []Setting{{"x", "1"}, {"include.path", "x"}, {"a.b", "\x00"}} {
		if _, err := Clean(nil, Policy{Overrides: []Setting{o}}); err == nil {
			t.Errorf("the override %q was taken", o)
		}
	}
}

func TestShown(t *testing.T) {
	r := Result{
		File:    entries("user.name=A", "core.askpass=", "http.https://x/.extraheader=T", "credential.helper=!echo T", "credential.helper=store", "url.https://T@x/.insteadof=x", "url.x.insteadof=https://u:T@x"),
		Command: entries("credential.helper=!T"),
		Dropped: entries("url.https://T@x/.insteadof=x"),
	}
	s := r.Shown()
	want := []string{
		"user.name=A", "core.askpass=", "http.https://x/.extraheader=<hidden>", "credential.helper=<hidden>", "credential.helper=store", "url.<hidden>.insteadof=x", "url.x.insteadof=<hidden>",
		"credential.helper=<hidden>", "url.<hidden>.insteadof=x",
	}
	if diff := cmp.Diff(want, spell(slices.Concat(s.File, s.Command, s.Dropped))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if r.File[2].Value != "T" {
		t.Error("what is shown changed what is used")
	}
}

func countRepeats(list []string, p Policy) int {
	n := 0
	for _, e := range entries(list...) {
		if repeats(e.Key, p) {
			n++
		}
	}
	return n
}

// What git reports of a real home: both files, includes, and conditions decided for the
// repository asked about.
func TestRead(t *testing.T) {
	git, home := realGit(t), t.TempDir()
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
	want := func(email ...string) []string {
		return slices.Concat([]string{
			"x.Sub.Sec.multi=1", "x.Sub.Sec.multi=2", "user.name=A", "user.bare", "include.path=inc/a", "include.path=b", "url.https://t@x/.insteadof=x:",
			"credential.helper=store", "includeif.gitdir:~/work/.path=~/cond",
		}, email, []string{"includeif.gitdir:~/else/.path=other", "user.name=B \"q\"\n \\ ", "include.path=missing"})
	}
	for _, c := range []struct {
		dir  string
		want []string
	}{
		{"work/app", want("user.email=work@x")},
		{"work/app/.git", want("user.email=work@x")},
		{"free", want()},
		{"", want()},
	} {
		list, err := Read(git, Place{Home: home, Dir: j(c.dir)})
		must(t, err)
		if diff := cmp.Diff(c.want, spell(list)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.dir, diff)
		}
		if c.dir == "free" {
			files := []string{j(".config/git/config"), j(".gitconfig"), j("inc/a"), j("inc/b"), j("cond"), j("other"), j("missing")}
			if diff := cmp.Diff(files, Files(list, home)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		}
	}
	if _, err := os.Stat(j("ran")); err == nil {
		t.Error("asking git ran a program of the repository")
	}
	if list, err := Read(git, Place{Home: home, Global: j("cond"), Dir: "/"}); err != nil || !slices.Equal(spell(list), []string{"user.email=work@x"}) {
		t.Errorf("GIT_CONFIG_GLOBAL: %q, %v", spell(list), err)
	}
	if list, err := Read(git, Place{Home: j("free"), XDG: j(".config"), Dir: "/"}); err != nil || len(list) != 2 {
		t.Errorf("XDG_CONFIG_HOME: %q, %v", spell(list), err)
	}
	if list, err := Read(git, Place{Home: j("nowhere"), Dir: "/"}); err != nil || len(list) != 0 {
		t.Errorf("no configuration: %q, %v", spell(list), err)
	}
	write(t, j(".gitconfig"), "[user\n")
	if _, err := Read(git, Place{Home: home, Dir: "/"}); err == nil || !strings.Contains(err.Error(), "bad config line 1") {
		t.Errorf("a broken file: %v", err)
	}
	write(t, j(".gitconfig"), "[a]\n"+strings.Repeat("\tb = "+strings.Repeat("x", 1000)+"\n", 5000))
	if _, err := Read(git, Place{Home: home, Dir: "/"}); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("a huge file: %v", err)
	}
}

// A git that hangs, lies or does not know the variables gives an error.
func TestBadGit(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "git")
	for _, c := range []struct{ script, want string }{
		{`printf 'global\0file:x\0a.b'`, "is cut off"},
		{`printf 'global\0'`, "is cut off"},
		{`echo "unknown option" >&2; exit 129`, "exit status 129: unknown option"},
	} {
		write(t, fake, "#!/bin/sh\n"+c.script+"\n")
		must(t, os.Chmod(fake, 0o755))
		if _, err := Read(fake, Place{Home: dir, Dir: "/"}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
	}
	r, err := Clean(entries("user.name=A"), Policy{})
	must(t, err)
	write(t, fake, "#!/bin/sh\nunset GIT_CONFIG_GLOBAL\nexec "+realGit(t)+` "$@"`+"\n")
	file := verified(t, r)
	if err := r.Verify(fake, file); err == nil || !strings.Contains(err.Error(), "2.32") {
		t.Errorf("an old git passes: %v", err)
	}
}

// verified writes r, makes sure that git reads it back, and returns the file.
func verified(t testing.TB, r Result) string {
	t.Helper()
	text, err := r.Text()
	must(t, err)
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, text, 0o644))
	if err := r.Verify(realGit(t), file); err != nil {
		t.Errorf("%v: %q\n%s", err, spell(r.File), text)
	}
	// And by the other way of reading a file.
	out, err := exec.Command(realGit(t), "config", "--no-includes", "--file", file, "--list", "-z").Output()
	must(t, err)
	var want strings.Builder
	for _, e := range r.File {
		want.WriteString(e.Key)
		if !e.Bare {
			want.WriteString("\n" + e.Value)
		}
		want.WriteString("\x00")
	}
	if string(out) != want.String() {
		t.Errorf("git config --file: %q, want %q\n%s", out, want.String(), text)
	}
	return file
}

func TestText(t *testing.T) {
	odd := []string{"", " ", " a ", "\t", "#", "; x", "a # b", `"`, `\`, `a\`, `\n`, "\n", "a\nb", "\r", "a\r", "a\r\nb", "\b", "\x01\x1b", "\xff\xfe", "é", "\ufeff", "=", "a = b", "[x]", "'", "`$(x)`", strings.Repeat("x", 100000)}
	var r Result
	for _, s := range odd {
		r.File = append(r.File, Entry{Key: "a.b", Value: s}, Entry{Key: "a.bare", Bare: true})
		if !strings.Contains(s, "\n") {
			r.File = append(r.File, Entry{Key: "a." + s + ".b", Value: s})
		}
		r.Command = append(r.Command, Entry{Key: "x.b", Value: s})
	}
	verified(t, r)
	for _, e := range []Entry{{Key: "a.b", Value: "\x00"}, {Key: "A.b"}, {Key: "a.x\ny.b"}, {Key: "a]\n.b"}, {Key: "include.path"}} {
		if text, err := (Result{File: []Entry{e}}).Text(); err == nil {
			t.Errorf("%+v was written: %s", e, text)
		}
	}
}

// Whatever a key and a value are, git reads back the same, or nothing is written.
func FuzzText(f *testing.F) {
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
		list := []Entry{{Key: "z.z", Value: "before"}, {Key: key, Value: val, Bare: bare}, {Key: "z.z", Value: "after"}}
		verified(t, Result{File: list})
	})
}
