package gitconfig

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitReads is what git makes of a file; ok is false when it refuses it.
func gitReads(t testing.TB, git string, data []byte) (list []Entry, ok bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	must(t, os.WriteFile(file, data, 0o600))
	cmd := exec.Command(git, "config", "--no-includes", "--file", file, "--list", "-z")
	cmd.Env = []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin", "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.Output()
	if err != nil {
		return nil, false
	}
	for part := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		if len(out) > 0 {
			key, val, assigned := strings.Cut(string(part), "\n")
			list = append(list, Entry{Key: key, Value: val, Bare: !assigned})
		}
	}
	return list, true
}

// agree wants Parse to read what git reads.
func agree(t *testing.T, git string, data []byte) {
	t.Helper()
	got, err := Parse(data)
	if bytes.IndexByte(data, 0) >= 0 {
		return // git's strings end there: what it sees is a part of what is seen here
	}
	want, ok := gitReads(t, git, data)
	if ok != (err == nil) {
		t.Fatalf("%q: %v, but git accepts it: %t", data, err, ok)
	}
	if ok && !same(got, want) {
		t.Fatalf("%q: %+v, git reads %+v", data, got, want)
	}
}

func parseSeeds() []string {
	return []string{
		"[ \"\"]A", "[ \"x\"]A=1", "", "[core]\n\tbare = false\n", "[a \"B.c\"]x=1", "[A.B] x", "x = 1", "[a]\nx = \"a b\" c ; d\n", "[a]\nx = a\\\n  b\n", "[a]x=\\\"\\\\\\n\\t\\b",
		"\xef\xbb\xbf[a]\nx\n", "[a]\r\nx = 1\r\n", "[a]\nx = 1\r", "[a \"\\\"]\"]\nx=#\n", "[a]\n# x\n; y\nz\n", "[]\nx=1", "[a\n]", "[a]x = \"\n\"", "[a] x y", "[a]\n1x=1",
		"[core]\n\tfsmonitor = x ; y\n\tF\\", "[a \"b\"", "[a \"b\"c]", "[a]\nx = a  \t b  \n", "[a]x=\"#\"#", "[a]\n\\\nx=1", "[a]x =\r1", "[include]\npath=x", "[a]x-1=\v\f1",
	}
}

func TestParse(t *testing.T) {
	for _, s := range parseSeeds() {
		agree(t, realGit(t), []byte(s))
	}
}

// FuzzParse: git itself is the referee.
func FuzzParse(f *testing.F) {
	for _, s := range parseSeeds() {
		f.Add([]byte(s))
	}
	git := realGit(f)
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, git, data) })
}

// What git writes by itself is harmless; what runs a program is not.
func TestHarmless(t *testing.T) {
	inside := func(w string) bool { return !strings.HasPrefix(w, "/") }
	for _, c := range []struct {
		entries string
		want    bool
	}{
		{"core.repositoryformatversion=0 core.filemode=true core.bare=false core.logallrefupdates=true core.ignorecase=true core.precomposeunicode=true core.symlinks=false core.worktree=../../../lib", true},
		{"remote.origin.url=https://example.com/a.git remote.origin.fetch=+refs/heads/*:refs/remotes/origin/* remote.origin.tagopt=--no-tags remote.origin.promisor=true remote.x.url=ssh://git@[::1]:22/a", true},
		{"branch.main.remote=origin branch.main.merge=refs/heads/main user.name=a user.email=a@b extensions.worktreeconfig=true submodule.lib.url=../lib submodule.lib.active=true submodule.lib.update=rebase", true},
		{"core.fsmonitor=true core.fsmonitor=false commit.gpgsign=false lfs.repositoryformatversion=0 http.https://example.com/.extraheader=x url.https://example.com/.insteadof=git@example.com: init.defaultbranch=main", true},
		{"core.fsmonitor=./x", false},
		{"core.fsmonitor=/bin/true", false},
		{"core.hookspath=.githooks", false},
		{"core.sshcommand=x", false},
		{"core.pager=x", false},
		{"core.editor=x", false},
		{"core.askpass=x", false},
		{"core.gitproxy=x", false},
		{"core.alternaterefscommand=x", false},
		{"core.worktree=/home/ann", false},
		{"core.attributesfile=x", false},
		{"core.somethingnew=x", false},
		{"filter.f.clean=x", false},
		{"filter.f.process=x", false},
		{"filter.f.required=true", false},
		{"diff.external=x", false},
		{"diff.f.textconv=x", false},
		{"diff.f.command=x", false},
		{"diff.algorithm=patience", true},
		{"merge.f.driver=x", false},
		{"merge.conflictstyle=diff3", true},
		{"mergetool.x.cmd=x", false},
		{"difftool.x.path=x", false},
		{"alias.st=!x", false},
		{"alias.st=-c core.pager=x status", false},
		{"credential.helper=x", false},
		{"credential.https://example.com.helper=!x", false},
		{"gpg.program=x", false},
		{"gpg.ssh.defaultkeycommand=x", false},
		{"include.path=../x", false},
		{"includeif.gitdir:/.path=x", false},
		{"pager.log=x", false},
		{"sequence.editor=x", false},
		{"interactive.difffilter=x", false},
		{"sendemail.smtpserver=/x", false},
		{"submodule.lib.update=!x", false},
		{"submodule.lib.url=ext::sh", false},
		{"remote.origin.url=ext::sh -c x", false},
		{"remote.origin.pushurl=fd::1", false},
		{"remote.origin.uploadpack=x", false},
		{"remote.origin.receivepack=x", false},
		{"remote.origin.vcs=x", false},
		{"remote.origin.proxy=x", false},
		{"url.ext::sh.insteadof=https://", false},
		{"uploadpack.packobjectshook=x", false},
		{"protocol.ext.allow=always", false},
		{"trailer.x.cmd=x", false},
		{"tar.x.command=x", false},
		{"init.templatedir=x", false},
		{"hook.x.command=x", false},
		{"gc.recentobjectshook=x", false},
		{"lfs.customtransfer.x.path=x", false},
		{"lfs.standalonetransferagent=x", false},
		{"lfs.extension.x.clean=x", false},
		{"man.x.path=x", false},
		{"web.browser=x", false},
		{"imap.tunnel=x", false},
		{"guitool.x.cmd=x", false},
		{"nobody.knows=x", false},
	} {
		for _, s := range strings.Split(c.entries, " ") {
			key, val, ok := strings.Cut(s, "=")
			if !ok {
				continue
			}
			if got := Harmless(Entry{Key: key, Value: val}, inside); got != c.want {
				t.Errorf("%s: harmless %t", s, got)
			}
		}
	}
}

// What is written for a repository is read back by git.
func TestFile(t *testing.T) {
	list, err := Parse([]byte("[core]\n\tbare\n[remote \"a b\"]\n\turl = \"x;y\"\n[include]\n\tpath = z\n"))
	must(t, err)
	got, ok := gitReads(t, realGit(t), File("about", list))
	if want := list[:2]; !ok || !same(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
