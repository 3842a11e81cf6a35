package features

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// TestBoxGitStays: what is not staged stays as it is, with every way to it, and with every
// link on that way; what could not be protected is refused.
func TestBoxGitStays(t *testing.T) {
	repo := "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
	const both = `own ro`
	for _, c := range []struct {
		about, setup, mode, program string
		stays, links                []string // below the working folder
		line                        string
		nowhere                     bool
	}{
		{about: "staged", setup: repo, mode: "own", program: "git"},
		{about: "looked at", setup: repo, mode: "ro", program: "git", stays: []string{".git"}},
		{about: "the host's own", setup: repo + " && git config remote.x.promisor true", mode: "rw"},
		{about: "no git outside", setup: repo, mode: "own", stays: []string{".git"}, line: "git is not installed outside"},
		{about: "a partial clone", setup: repo + " && git config remote.x.promisor true", mode: "own", program: "git", stays: []string{".git"}, line: "partial clone"},
		{about: "bare", setup: "git init -q --bare .", mode: "own", program: "git", stays: []string{"."}, line: "bare"},
		{about: "a pointer that the repository does not know", setup: "mkdir x && git init -q --bare x/r && echo gitdir: ./x/r >.git", mode: "own", program: "git", stays: []string{".git", "x/r"}, line: "does not say"},
		{about: "a pointer by way of a link", setup: "mkdir x && git init -q --bare x/r && ln -s x/r l && echo gitdir: ./l >.git", mode: "own", program: "git", stays: []string{".git", "x/r"}, links: []string{"l"}, line: "does not say"},
		{about: "a link to a pointer", setup: "mkdir x && git init -q --bare x/r && echo gitdir: ./x/r >p && ln -s p .git", mode: both, program: "git", stays: []string{"p", "x/r"}, links: []string{".git"}},
		{about: "a link to another that is staged", setup: "mkdir a b && (cd a && " + repo + ") && ln -s ../a/.git b/.git", mode: "own", program: "git", links: []string{"b/.git"}},
		{about: "a link to nowhere", setup: "ln -s nowhere .git", mode: both, program: "git", nowhere: true},
		{about: "a pointer to nowhere", setup: "echo gitdir: ./nowhere >.git", mode: both, program: "git", nowhere: true},
		{about: "a pipe", setup: "mkfifo .git", mode: both, program: "git", nowhere: true},
		{about: "a worktree of a staged one", setup: "mkdir m && cd m && " + repo + " && git worktree add -q ../w", mode: "own", program: "git", stays: []string{"w/.git"}},
	} {
		for mode := range strings.FieldsSeq(c.mode) {
			top, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-ec", c.setup)
			cmd.Dir, cmd.Env = top, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v %s", c.about, err, out)
			}
			rc := profile.RunConfig{Name: "p", GitDir: mode, Home: "host", Workdir: top, WorkdirMode: profile.RW}
			f := host.Probe(host.Request{Writable: []string{top}, Env: os.Environ()})
			b := findBoxGits(&caller.Caller{Home: "/nowhere"}, rc, f, c.program)
			var s plan.Staged
			err = b.stay(rc, &f, &s)
			if (len(b.passed) == 1) != c.nowhere || c.nowhere && len(b.known()) > 0 {
				t.Errorf("%s (%s): %q lead nowhere, %q are guarded", c.about, mode, b.passed, b.known())
			}
			if err != nil {
				t.Errorf("%s (%s): %v", c.about, mode, err)
			}
			if text := strings.Join(b.lines, "; "); mode == "own" && !strings.Contains(text, c.line) || c.line == "" && mode == "ro" && text != "" {
				t.Errorf("%s (%s): says %q", c.about, mode, text)
			}
			below := func(list []string) []string {
				var out []string
				for _, p := range list {
					if rel, err := filepath.Rel(top, p); err == nil && filepath.IsLocal(rel) {
						out = append(out, rel)
					}
				}
				slices.Sort(out)
				return slices.Compact(out)
			}
			if got := below(s.GitStays); !slices.Equal(got, c.stays) {
				t.Errorf("%s (%s): stays %q, want %q", c.about, mode, got, c.stays)
			}
			var hops []string
			for _, h := range s.GitLinks {
				hops = append(hops, h.Path)
			}
			if got := below(hops); !slices.Equal(got, c.links) {
				t.Errorf("%s (%s): links %q, want %q", c.about, mode, got, c.links)
			}
		}
	}
}
