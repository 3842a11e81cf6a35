package index

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// A repo is a repository of real git.
type repo struct {
	t   *testing.T
	dir string
}

// newRepo makes a repository with a commit of files in folders of two levels.
func newRepo(t *testing.T) *repo {
	t.Helper()
	r := &repo{t, t.TempDir()}
	r.sh(`git init -q -b main; mkdir -p d/e; echo a >a; echo b >d/b; echo c >d/e/c; echo x >x-y; ln -s a l; cp a run; chmod +x run; git add .; git commit -qm 1`)
	return r
}

// sh runs a script in the repository. Git must not say a word of its own.
func (r *repo) sh(script string) string {
	r.t.Helper()
	out, errs, err := r.try(script)
	if err != nil || errs != "" {
		r.t.Fatalf("%s: %v: %s%s", script, err, out, errs)
	}
	return out
}

func (r *repo) try(script string) (out, errs string, err error) {
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "HOME="+r.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

func (r *repo) bytes() []byte {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, ".git/index"))
	if err != nil {
		r.t.Fatal(err)
	}
	return data
}

func (r *repo) index() *Index {
	r.t.Helper()
	x, err := Parse(r.bytes())
	if err != nil {
		r.t.Fatal(err)
	}
	return x
}

func (r *repo) write(data []byte) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, ".git/index"), data, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// rules are those of a box that has nothing protected.
func (r *repo) rules() Rules {
	return Rules{
		Written:   1 << 62,
		Protected: func(string) bool { return false },
		Gitlink:   func(string) bool { return false },
		True: func(e *Entry) bool {
			worktree, err := os.Open(r.dir)
			if err != nil {
				r.t.Fatal(err)
			}
			defer worktree.Close()
			return TimesTrue(int(worktree.Fd()), e)
		},
	}
}

// listing is all that git says of an index, but whether a monitor looks at a file, which does not stay.
const listing = "git ls-files -s -v --debug | sed 's/flags: 200000/flags: 0/'; git ls-files -u"

// shapes are indexes that git writes, and what is in them.
var shapes = []struct {
	name, script string
	version      byte // as it is written
	entries      int
}{
	{"version 2", "", 2, 6},
	{"version 3", "git update-index --skip-worktree a", 3, 6},
	{"version 4", "git update-index --index-version 4", 2, 6},
	{"assume unchanged", "git update-index --assume-unchanged a", 2, 6},
	{"conflict", "echo 1 >a; git commit -qam 1; git switch -qc o HEAD~1; echo 2 >a; git commit -qam 2; git merge -q main >/dev/null || :", 2, 8},
	{"resolved", "echo 1 >a; git commit -qam 1; git switch -qc o HEAD~1; echo 2 >a; git commit -qam 2; git merge -q main >/dev/null || :; git add a", 2, 6},
	{"intent to add", "echo n >d/n; git add -N d/n", 3, 7},
	{"untracked cache", "git update-index --force-untracked-cache; git status >/dev/null", 2, 6},
	{"monitor", "mkdir -p .git/hooks; printf '#!/bin/sh\nprintf \"t\\\\0\"\n' >.git/hooks/m; chmod +x .git/hooks/m; git config core.fsmonitor .git/hooks/m; git update-index --fsmonitor; git status >/dev/null", 2, 6},
	{"long name", "git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a),$(printf 'a%.0s' $(seq 4090)) --cacheinfo 100644,$(git rev-parse HEAD:a),$(printf 'b%.0s' $(seq 4095))", 2, 8},
	{"long name 4", "git update-index --index-version 4; git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:a),$(printf 'a%.0s' $(seq 4095)) --cacheinfo 100644,$(git rev-parse HEAD:a),$(printf 'a%.0s' $(seq 4096))", 2, 8},
	{"threads", manyFiles + "git config index.threads 2; git update-index --force-write-index", 2, 30006},
	{"threads 4", manyFiles + "git config index.threads 2; git update-index --force-write-index --index-version 4", 2, 30006},
	{"gitlink", "git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub", 2, 7},
	{"empty", "git rm -rq --cached .", 2, 0},
}

const manyFiles = "b=$(git rev-parse HEAD:a); for i in $(seq 30000); do echo \"100644 $b 0	m/$((i/100))/file-$i\"; done | git update-index --index-info; git write-tree >/dev/null; "

// TestAsGit reads indexes that git wrote, and git reads what is written of them.
func TestAsGit(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			r.sh(s.script)
			x := r.index()
			if data := x.Bytes(); data[7] != s.version || len(x.Entries) != s.entries || x.Partial {
				t.Fatalf("version %d, %d entries, partial %t", data[7], len(x.Entries), x.Partial)
			}
			before, tree := r.sh(listing), r.sh("git write-tree 2>/dev/null || echo conflict")
			r.write(x.Bytes())
			if after := r.sh(listing); after != before {
				t.Errorf("git reads\n%s\nwas\n%s", after, before)
			}
			if after := r.sh("git write-tree 2>/dev/null || echo conflict"); after != tree {
				t.Errorf("git writes the tree %s, was %s", after, tree)
			}
			r.write(x.Bytes())
			r.sh("git -c index.threads=4 diff --cached; git fsck --strict --no-dangling")
			if again := r.index(); !reflect.DeepEqual(again.Entries, x.Entries) {
				t.Error("it is another one when read again")
			}
		})
	}
}

// TestPartial: what git makes whole is told, and never taken for the whole.
func TestPartial(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"split":  "git update-index --split-index; echo n >n; git add n",
		"sparse": "git sparse-checkout set --cone --sparse-index e 2>/dev/null",
	} {
		r := newRepo(t)
		whole := r.index()
		r.sh(script)
		x := r.index()
		if !x.Partial {
			t.Errorf("%s: it is taken for the whole", name)
		}
		if _, err := Check(x, whole, r.rules()); err == nil {
			t.Errorf("%s: a box's passes", name)
		}
		if _, err := Check(whole, x, r.rules()); err == nil {
			t.Errorf("%s: the host's passes", name)
		}
		if _, err := x.Served(r.rules().Protected); err == nil {
			t.Errorf("%s: it is served", name)
		}
		if _, err := Check(whole, whole, r.rules()); err != nil {
			t.Error(err)
		}
	}
}

// TestMayHold: what an index has is never overlooked.
func TestMayHold(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"true":                                                        false,
		"echo n >d/n; git add d/n":                                    true,
		"mkdir d/n; echo n >d/n/o; git add d":                         true,
		"git update-index --index-version 4":                          true,
		"git update-index --split-index":                              true,
		"git update-index --skip-worktree d/b":                        false,
		"git sparse-checkout set --cone --sparse-index e 2>/dev/null": true,
	} {
		r := newRepo(t)
		r.sh(script)
		if got := MayHold(r.bytes(), "d/n"); got != want {
			t.Errorf("%s: %v", script, got)
		}
	}
}

// TestGitlinks: the places of submodules are found in indexes with names of both lengths, and in both parts of a split one.
func TestGitlinks(t *testing.T) {
	t.Parallel()
	for hash, script := range map[int]string{
		20: "git update-index --split-index; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub",
		32: "rm -rf .git; git init -q --object-format=sha256; git add .; git commit -qm 1; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub",
	} {
		r := newRepo(t)
		r.sh(script)
		if links, err := Gitlinks(r.bytes(), hash); err != nil || !slices.Equal(links, []string{"sub"}) {
			t.Errorf("%d: %q, %v", hash, links, err)
		}
		if _, err := Gitlinks(r.bytes(), 52-hash); err == nil {
			t.Errorf("%d: it is read as one of another length", hash)
		}
	}
}

// TestEnds: an index that is cut off is none.
func TestEnds(t *testing.T) {
	t.Parallel()
	data := newRepo(t).bytes()
	for i := range len(data) - 20 {
		if _, err := Parse(append(bytes.Clone(data[:i]), make([]byte, 20)...)); err == nil && i < 12+6*64 {
			t.Errorf("it can end at %d", i)
		}
	}
}

// TestGoodPath: what git refuses on any file system is refused, and what it takes on all of them
// is taken.
func TestGoodPath(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.sh("git config core.protectHFS true; git config core.protectNTFS true")
	blob := strings.TrimSpace(r.sh("git rev-parse HEAD:a"))
	spellings := spellings()
	refused, stricter := 0, 0
	for _, mode := range []uint32{modeFile, modeLink} {
		taken := r.taken(blob, mode, spellings)
		for _, name := range spellings {
			git, ours := taken[name], GoodPath(name, mode)
			if !git {
				refused++
			}
			if ours && !git {
				t.Errorf("git refuses %q with mode %o", name, mode)
			} else if git && !ours {
				stricter++
			}
		}
	}
	t.Logf("%d spellings, git refused %d with the modes of a file and of a link, and we %d more", len(spellings), refused, stricter)
	if refused < 1000 || len(spellings) < 3000 {
		t.Error("too few to say anything")
	}
	for _, name := range []string{"a", "a/b", ".gitignore", ".github/x", "git", "a.git", "a~1", `a\b`, "git~2", ".git2", "ü/\u200c", ".gitmodules", "g~1", "...", "a./b", "c:d", ".gít", "\xff"} {
		if !GoodPath(name, modeFile) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"a", ".gitignore", "gitmodules", "x/.gitmodule", "gi7eba"} {
		if !GoodPath(name, modeLink) {
			t.Errorf("a link %q is refused", name)
		}
	}
}

// taken feeds paths to git update-index, which says which ones it does not take.
func (r *repo) taken(blob string, mode uint32, names []string) map[string]bool {
	r.t.Helper()
	var lines bytes.Buffer
	for _, name := range names {
		fmt.Fprintf(&lines, "%o %s\t%s\x00", mode, blob, name)
	}
	if err := os.WriteFile(filepath.Join(r.dir, ".git/lines"), lines.Bytes(), 0o600); err != nil {
		r.t.Fatal(err)
	}
	// It goes on after a path that it ignores.
	_, errs, err := r.try("rm -f .git/index; GIT_INDEX_FILE=.git/spelt git read-tree --empty; GIT_INDEX_FILE=.git/spelt git update-index -z --index-info <.git/lines")
	if err != nil {
		r.t.Fatal(err, errs)
	}
	taken := map[string]bool{}
	for name := range strings.SplitSeq(r.sh("GIT_INDEX_FILE=.git/spelt git ls-files -z"), "\x00") {
		taken[name] = true
	}
	return taken
}

// spellings are ways to write what git protects, and names that look like it. Each is the last
// part of a path whose folder no other is in, because git drops a file for a folder of its name.
func spellings() (list []string) {
	names := []string{".git", ".GIT", ".gIt", "git~1", "GIT~1", "git~2", ".gitmodules", ".GitModules", "gitmod~1", "gitmod~4", "gitmod~5", "gi7eba~1", "gi7eb~10", "gi7e~123", "gi~12345", "~1234567", "GI7EBA~9", "gi7eba~0", "..", ".", "...", "git", ".gi", ".gitx", "g", ".git~1", "git~10", ".\u0130git", ".g\u0131t", "\u212Ait"}
	ends := []string{"", " ", ".", ". .", "  ", ":", "::$INDEX_ALLOCATION", ":x", " :x", "x", "\u200c", "\ufeff", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xef\xbf\xbe", "\xef\xbf\xbd", "\xe2\x80", "/", "/hooks", `\hooks`, `\`, "/.git", "~1", "\t", "\x01"}
	begins := []string{"", "\u200c", "\ufeff", `\`, `x\`, " ", ".", "x/", "/", "./", "../"}
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			list = append(list, fmt.Sprintf("%d/%s", len(list), name))
		}
	}
	for _, name := range names {
		for _, end := range ends {
			for _, begin := range begins {
				add(begin + name + end)
			}
			for i := 1; i < len(name); i++ {
				for _, inside := range []string{"\u200d", "\u206f", "\u202a", "\u2010"} {
					if len(end) < 2 {
						add(name[:i] + inside + name[i:] + end)
					}
				}
			}
		}
	}
	return list
}
