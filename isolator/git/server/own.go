package server

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// Leave adds to Ours what has git leave the files that the box may not write, where it knows such files: it takes them for
// those outside of a sparse checkout.
func (r *Repository) Leave() {
	if r.leaves = r.tracked(); len(r.leaves) > 0 {
		r.Ours = append(r.Ours, gitconfig.Entry{Key: "core.sparsecheckout", Value: "true"}, gitconfig.Entry{Key: "core.sparsecheckoutcone", Value: "false"},
			gitconfig.Entry{Key: "sparse.expectfilesoutsideofpatterns", Value: "true"})
	}
}

// Fill makes files of the box's own in its git directory: what git there ignores, and which files it leaves as they are.
func (r *Repository) Fill(dir string) error {
	info := filepath.Join(dir, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	if err := r.exclude(filepath.Join(info, "exclude")); err != nil {
		return err
	}
	if r.Tree != "" {
		info = filepath.Join(dir, "worktrees", r.Tree, "info")
		if err := os.MkdirAll(info, 0o700); err != nil {
			return err
		}
	}
	return r.sparse(filepath.Join(info, "sparse-checkout"))
}

// exclude writes the patterns of what the box's git ignores.
func (r *Repository) exclude(name string) error {
	patterns := slices.Clone(r.Ignored)
	for _, p := range r.Hidden {
		patterns = append(patterns, "/"+pattern(p))
	}
	for _, p := range r.Covered { // places that inner, for this box or another, has made
		if empty(filepath.Join(r.Top, p)) {
			patterns = append(patterns, "/"+pattern(p))
		}
	}
	if len(patterns) == 0 {
		return removed(name)
	}
	text, err := os.ReadFile(filepath.Join(r.Dir, "info", "exclude"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return os.WriteFile(name, append(text, strings.Join(patterns, "\n")+"\n"...), 0o600)
}

// empty reports whether there is a folder without files: git takes no notice of it, and cannot remove it.
func empty(dir string) bool {
	return filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			err = fs.ErrExist
		}
		return err
	}) == nil
}

// sparse writes which files are in the work tree.
func (r *Repository) sparse(name string) error {
	if len(r.leaves) == 0 {
		return removed(name)
	}
	patterns := []byte("/*\n")
	if r.Sparse {
		host := filepath.Join(r.Dir, "info", "sparse-checkout")
		if r.Tree != "" {
			host = filepath.Join(r.Dir, "worktrees", r.Tree, "info", "sparse-checkout")
		}
		var err error
		if patterns, err = os.ReadFile(host); err != nil {
			return err
		}
	}
	text := strings.TrimSuffix(string(patterns), "\n") + "\n"
	for _, p := range r.leaves {
		text += "!/" + pattern(p) + "\n"
	}
	return os.WriteFile(name, []byte(text), 0o600)
}

// pattern quotes a path as a pattern of gitignore(5).
func pattern(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(path)
}

func removed(name string) error {
	if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
		return err
	}
	return nil
}

// maxTips is how many refs are looked at, the latest first.
const maxTips = "200"

// tracked returns those of the places that the box may not write of which the index, or what a ref leads to, has something.
// When in doubt it is all.
func (r *Repository) tracked() (found []string) {
	if len(r.Covered) == 0 {
		return nil
	}
	dir := r.Dir
	if r.Tree != "" {
		dir = filepath.Join(r.Dir, "worktrees", r.Tree)
	}
	git := func(in string, args ...string) (string, error) {
		c := exec.Command(r.Git, append([]string{"--literal-pathspecs", "-c", "core.fsmonitor=false"}, args...)...)
		c.Dir, c.Stdin = r.Top, strings.NewReader(in)
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C", "GIT_DIR=" + dir, "GIT_WORK_TREE=" + r.Top, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1"}
		out, err := c.Output()
		return string(out), err
	}
	staged, err := git("", append([]string{"ls-files", "-z", "--"}, r.Covered...)...)
	tips, errTips := git("", "for-each-ref", "--count="+maxTips, "--sort=-committerdate", "--format=%(objectname)")
	if err != nil || errTips != nil {
		return r.Covered
	}
	known := map[string]bool{}
	for file := range strings.SplitSeq(staged, "\x00") {
		for _, p := range r.Covered {
			known[p] = known[p] || paths.Below(p, file)
		}
	}
	var ask strings.Builder
	var asked []string
	for tip := range strings.Lines("HEAD\n" + tips) {
		for _, p := range r.Covered {
			if !known[p] && !strings.Contains(p, "\n") {
				ask.WriteString(strings.TrimSuffix(tip, "\n") + ":" + p + "\n")
				asked = append(asked, p)
			}
		}
	}
	there, err := git(ask.String(), "cat-file", "--batch-check=%(objectname)")
	answers := strings.SplitAfter(there, "\n")
	if err != nil || len(answers) != len(asked)+1 {
		return r.Covered
	}
	for i, p := range asked {
		known[p] = known[p] || !strings.HasSuffix(answers[i], " missing\n")
	}
	for _, p := range r.Covered {
		if known[p] {
			found = append(found, p)
		}
	}
	return found
}
