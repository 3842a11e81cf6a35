package share

import (
	"regexp"
	"strings"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
)

// A tag shows what it is of, and not what a box wrote beside it.
func TestPeeled(t *testing.T) {
	b := newBox(t)
	b.outside("git commit -q --allow-empty -m second; git tag -am words v1; git tag -am words v0 HEAD~; git pack-refs --all; cat .git/packed-refs >packed")
	write := func(sed string) string {
		b.run("sed '" + sed + "' .git/packed-refs >.git/packed-refs.lock && mv .git/packed-refs.lock .git/packed-refs || rm .git/packed-refs.lock")
		defer b.outside("cp packed .git/packed-refs")
		return b.outside("git for-each-ref --format='%(refname:short) %(*subject)' refs/tags; head -1 .git/packed-refs; grep -c ^^ .git/packed-refs; grep -n heads .git/packed-refs | cut -d: -f1")
	}
	const peeled, sorted = "# pack-refs with: peeled fully-peeled sorted \n", "# pack-refs with: sorted \n"
	const tags = "v0 first\nv1 second\n"
	first := strings.TrimSpace(b.outside("git rev-parse HEAD~"))
	for _, c := range []struct{ sed, want string }{
		{"", tags + peeled + "2\n2\n"},                      // all of it is the host's
		{"/main$/d", tags + peeled + "2\n"},                 // and what is left is
		{"$s/.*/^" + first + "/", tags + sorted + "1\n2\n"}, // another commit
		{"$d", tags + sorted + "1\n2\n"},                    // none
		{"s/ fully-peeled//", tags + sorted + "2\n2\n"},     // another header is not the host's
		{"s/v1$/v2/", strings.Replace(tags, "v1", "v2", 1) + sorted + "1\n2\n"},
		{"2{h;d};$G", tags + peeled + "2\n2\n"}, // not sorted: it does not enter
		{"s/$/ /", tags + peeled + "2\n2\n"},
		{"2s/^./g/", tags + peeled + "2\n2\n"},
		{"s,refs/tags/v0,refs/replace/" + first + ",", tags + peeled + "2\n2\n"},
	} {
		if got := write(c.sed); got != c.want {
			t.Errorf("%q: %q, want %q", c.sed, got, c.want)
		}
	}
	if got := b.run("git tag -am w v3 && git pack-refs --all && git fsck --no-dangling 2>&1"); got != "" {
		t.Errorf("git in the box: %q", got)
	}
	if got := b.outside("git fsck --strict --no-dangling; git for-each-ref --format='%(refname:short) %(*subject)' refs/tags"); got != tags+"v3 second\n" {
		t.Errorf("outside: %q", got)
	}
}

// What is for outside is refused with a line that says so.
func TestForOutside(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{box: "git gc 2>/dev/null; git commit -q --allow-empty -m x; git replace HEAD HEAD~ 2>/dev/null; git fetch -q --depth 1 . 2>/dev/null; git pack-refs --all", want: ""},
		{outside: "git for-each-ref refs/replace; ls .git | grep -e shallow -e gc.pid", want: ""},
	})
	const want = "git: the repository is cleaned up outside: git gc\ngit: objects are replaced by others outside: git replace\n" +
		"git: where history begins is changed outside: git fetch\n"
	if text := b.said.String(); text != want {
		t.Errorf("said %q", text)
	}
}

// A log grows by whole lines, also where the kernel cuts one at the end of a page.
func TestLongLog(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{box: "for i in $(seq 60); do git commit -q --allow-empty -m line$i || break; done; git log --format=%s | wc -l", want: "61\n"},
		{outside: "git reflog | wc -l; git fsck --strict --no-dangling", want: "61\n"},
		{box: "head -c 40 .git/logs/HEAD 2>/dev/null >>.git/logs/HEAD; { head -c 30 .git/logs/HEAD; echo; } 2>/dev/null >>.git/logs/HEAD && echo in", want: ""},
		{outside: "wc -l <.git/logs/HEAD; tail -c 1 .git/logs/HEAD", want: "61\n\n"},
	})
}

// A sparse checkout that a box began would take files from the work tree that the index outside has.
func TestSparseIsForOutside(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{box: "mkdir k; echo 1 >k/1; git add k; git commit -qm k; git sparse-checkout set --no-cone /a 2>/dev/null && echo in; ls", want: "a\nk\n"},
		{outside: "git status --porcelain", want: ""},
		{outside: "git sparse-checkout set --no-cone /a", want: ""},
		{box: "ls", want: "a\n"},
	})
}

// What a ref had is told when a box makes, moves or removes it, and nothing of what others move.
func TestMoved(t *testing.T) {
	b := newBox(t)
	one := b.outside("git rev-parse HEAD")[:7]
	b.outside("git branch loose; git branch packed; git branch both; git pack-refs --all; rm packed-refs 2>/dev/null; git update-ref refs/heads/loose HEAD; git commit -q --allow-empty -m second; git update-ref refs/heads/both HEAD")
	two := b.outside("git rev-parse HEAD")[:7]
	for _, c := range []struct{ box, want string }{
		{"git branch new", "refs/heads/new  " + two + "\n"},
		{"git branch -q -D new", "refs/heads/new " + two + " \n"},
		{"git switch -q --detach", "HEAD ref: re " + two + "\n"},
		{"git switch -q main", "HEAD " + two + " ref: re\n"},
		{"git branch -q -D packed", "refs/heads/packed " + one + " \n"},
		{"git pack-refs --all --prune", ""},
		{"git branch -q -f both " + one, "refs/heads/both " + two + " " + one + "\n"},
		{"git branch -m both other", "refs/heads/both " + one + " \nrefs/heads/other  " + one + "\n"},
		{"git update-ref refs/heads/main HEAD~", "refs/heads/main " + two + " " + one + "\n"},
		{"git symbolic-ref refs/heads/loose refs/heads/main", "refs/heads/loose " + one + " ref: re\n"},
		{"git symbolic-ref -d refs/heads/loose", "refs/heads/loose ref: re \n"},
		{"mv .git/refs/heads/main .git/refs/heads/moved", "refs/heads/main " + one + " " + two + "\nrefs/heads/moved  " + one + "\n"},
		{"git switch -q moved; echo x >>a; git stash -q; git stash drop -q", "HEAD ref: re ref: re\nrefs/stash  X\nrefs/stash X \n"},
		{"grep -v moved .git/packed-refs >.git/packed-refs.lock; mv .git/packed-refs.lock .git/packed-refs", ""},
		{"grep -v main .git/packed-refs >.git/packed-refs.lock; mv .git/packed-refs.lock .git/packed-refs", "refs/heads/main " + two + " \n"},
	} {
		from := len(b.moved.String())
		out := b.run(c.box)
		got := b.moved.String()[from:]
		if got = stashed.ReplaceAllString(got, "${1}X"); got != c.want {
			t.Errorf("%s: %q, want %q; %s", c.box, got, c.want, out)
		}
	}
}

var stashed = regexp.MustCompile(`(stash +)[0-9a-f]+`)

// An index is never younger than the box wrote it, nor of a time that git takes for none.
func TestTimeOfIndex(t *testing.T) {
	b := newBox(t)
	for _, set := range []string{"@1000", "2100-01-01", "@0", "@-1"} {
		b.run("cp .git/index .git/index.lock && stat -c %y .git/index.lock >z && touch -d " + set + " .git/index.lock && mv .git/index.lock .git/index")
		if got := b.outside("[ \"$(stat -c %y .git/index)\" = \"$(cat z)\" ] && echo true"); got != "true\n" {
			t.Errorf("%s: %q", set, got)
		}
	}
}

// A folder is listed to its end, though the kernel drops what it kept of it meanwhile and asks from there on.
var _ fs.FileSeekdirer = (*listing)(nil)

// What was a branch is a folder of branches outside, and the box sees those.
func TestBranchBecomesFolder(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{outside: "git branch x; git branch k/l", want: ""},
		{box: "git rev-parse x k/l | uniq | wc -l", want: "1\n"},
		{outside: "git branch -qD x k/l; git branch x/y; git branch k", want: ""},
		{box: "git rev-parse x/y k | uniq | wc -l", want: "1\n"},
	})
}

// A rebase and a bisection of the person's are seen, go on outside alone, and make room when they end.
func TestHalfDoneOutside(t *testing.T) {
	b := newBox(t)
	b.steps([]step{
		{outside: "git switch -q -c topic; echo t >a; git commit -qam t; git switch -q main; echo m >a; git commit -qam m; git rebase topic 2>&1 | grep -c CONFLICT", want: "1\n"},
		{
			box: "git status | head -1 | cut -c1-29; git rebase topic 2>&1 | head -1; git rebase --quit; ls -d .git/rebase-merge",
			want: "interactive rebase in progres\nfatal: It seems that there is already a rebase-merge directory, and\n" +
				"error: could not remove '.git/rebase-merge'\n.git/rebase-merge\n",
		},
		{outside: "git rebase --abort; git log --format=%s -1; git bisect start main main~ >b; rm b", want: "m\n"},
		{box: "git bisect bad 2>/dev/null; git bisect start 2>/dev/null; git bisect reset 2>/dev/null; git for-each-ref --format='%(refname)' refs/bisect | wc -l", want: "2\n"},
		{outside: "git bisect log | grep -c start; git bisect reset 2>&1; git for-each-ref refs/bisect", want: "1\nAlready on 'main'\n"},
		{box: "git rebase topic 2>&1 | grep -c CONFLICT; git rebase --abort; git bisect start >b; git bisect bad >b; rm b; git for-each-ref refs/bisect | wc -l", want: "1\n1\n"},
	})
	if got := b.said.String(); !strings.Contains(got, "git: what you have half done goes on outside: git status says how\n") {
		t.Errorf("said %q", got)
	}
}
