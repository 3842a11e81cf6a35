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

// TestGitStays: what is not shared stays as it is, with every way to it, and with every
// link on that way; what could not be protected is refused.
func TestGitStays(t *testing.T) {
	repo := "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x"
	const both = `checked ro`
	for _, c := range []struct {
		about, setup, mode, program string
		stays, links                []string // below the working folder
		line                        string
		nowhere                     bool
	}{
		{about: "shared", setup: repo, mode: "checked", program: "git"},
		{about: "looked at", setup: repo, mode: "ro", program: "git", stays: []string{".git"}},
		{about: "the host's own", setup: repo, mode: "rw"},
		{about: "no git outside", setup: repo, mode: "checked", stays: []string{".git"}, line: "git is not installed outside"},
		{about: "a partial clone", setup: repo + " && git config remote.x.promisor true", mode: "checked", program: "git"},
		{about: "one that borrows objects", setup: repo + " && echo /elsewhere >.git/objects/info/alternates", mode: "checked", program: "git", stays: []string{".git"}, line: "borrows objects"},
		{about: "bare", setup: "git init -q --bare .", mode: "checked", program: "git", stays: []string{"."}, line: "bare"},
		{about: "the person's pointer, which the repository does not know", setup: "mkdir x && git init -q --bare x/r && echo gitdir: ./x/r >.git", mode: "checked", program: "git", stays: []string{".git"}},
		{about: "by way of a link", setup: "mkdir x && git init -q --bare x/r && ln -s x/r l && echo gitdir: ./l >.git", mode: "checked", program: "git", stays: []string{".git"}, links: []string{"l"}},
		{about: "a link to a pointer", setup: "mkdir x && git init -q --bare x/r && echo gitdir: ./x/r >p && ln -s p .git", mode: "checked", program: "git", stays: []string{"p"}, links: []string{".git"}},
		{about: "that one looked at", setup: "mkdir x && git init -q --bare x/r && echo gitdir: ./x/r >p && ln -s p .git", mode: "ro", program: "git", stays: []string{"p", "x/r"}, links: []string{".git"}},
		{about: "a pointer below, which a box may have made", setup: "mkdir x sub && git init -q --bare x/r && echo gitdir: ../x/r >sub/.git", mode: "checked", program: "git", stays: []string{"sub/.git", "x/r"}, line: "a box may have made it"},
		{about: "a link to another that is shared", setup: "mkdir a b && (cd a && " + repo + ") && ln -s ../a/.git b/.git", mode: "checked", program: "git", links: []string{"b/.git"}},
		{about: "a link to nowhere", setup: "ln -s nowhere .git", mode: both, program: "git", nowhere: true},
		{about: "a pointer to nowhere", setup: "echo gitdir: ./nowhere >.git", mode: both, program: "git", nowhere: true},
		{about: "a pipe", setup: "mkfifo .git", mode: both, program: "git", nowhere: true},
		{about: "a worktree of a shared one", setup: "mkdir m && cd m && " + repo + " && git worktree add -q ../w", mode: "checked", program: "git", stays: []string{"w/.git"}},
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
			f := host.Probe(host.Begin(host.Facts{Env: host.Environment(os.Environ())}), host.Request{Writable: []string{top}})
			b, who := boxGits{}, &caller.Caller{Home: "/nowhere"}
			if mode != "rw" {
				b.find(who, rc, f)
			}
			if mode == "checked" {
				b.choose(who, c.program)
			}
			var s plan.Staged
			err = b.stay(rc, &f, &s)
			if (len(b.passed) == 1) != c.nowhere || c.nowhere && len(b.stays) > 0 {
				t.Errorf("%s (%s): %q lead nowhere, %q are guarded", c.about, mode, b.passed, b.stays)
			}
			if err != nil {
				t.Errorf("%s (%s): %v", c.about, mode, err)
			}
			if text := strings.Join(b.lines, "; "); mode == "checked" && !strings.Contains(text, c.line) || c.line == "" && mode == "ro" && text != "" {
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
