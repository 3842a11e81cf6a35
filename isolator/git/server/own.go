package server

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/profile/gitconfig"
)

// Leave has git leave the files that the box may not write, where a commit that a ref leads to has such files:
// it takes them for those outside of a sparse checkout. It takes a git, and a moment.
func (r *Repository) Leave() {
	if r.leaves = r.inRefs(); len(r.leaves) > 0 {
		r.Ours = append(r.Ours, gitconfig.Entry{Key: "core.sparsecheckout", Value: "true"}, gitconfig.Entry{Key: "core.sparsecheckoutcone", Value: "false"},
			gitconfig.Entry{Key: "sparse.expectfilesoutsideofpatterns", Value: "true"})
	}
}

// Fill makes files of the box's own in its git directory: what git there ignores, and which files it leaves as
// they are.
func (r *Repository) Fill(dir string) error {
	info, tree := filepath.Join(dir, "info"), filepath.Join(dir, r.Place(), "info")
	err := errors.Join(os.MkdirAll(info, 0o700), os.MkdirAll(tree, 0o700))
	return errors.Join(err, r.exclude(filepath.Join(info, "exclude")), r.sparse(filepath.Join(tree, "sparse-checkout")))
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
		return os.RemoveAll(name)
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
	if len(r.leaves) == 0 && !r.Sparse {
		return os.RemoveAll(name)
	}
	patterns := []byte("/*\n")
	if r.Sparse {
		var err error
		if patterns, err = os.ReadFile(filepath.Join(r.Dir, r.Place(), "info", "sparse-checkout")); err != nil {
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

// maxTips is how many refs are looked at, the latest first.
const maxTips = "200"

// inRefs returns which of those places a commit has that a ref leads to, or as a file the index. When in doubt
// it is all.
func (r *Repository) inRefs() (known []string) {
	places := slices.DeleteFunc(slices.Clone(r.Covered), func(p string) bool { return strings.Contains(p, "\n") })
	if len(places) == 0 {
		return nil
	}
	git := func(in string, args ...string) ([]string, error) {
		c := program.Command(r.Git, append([]string{"--git-dir=" + r.Dir}, args...)...)
		c.Stdin = strings.NewReader(in)
		out, err := c.Output()
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), err
	}
	tips, err := git("", "for-each-ref", "--count="+maxTips, "--sort=-committerdate", "--format=%(objectname)")
	var ask strings.Builder
	tips = append(tips, "HEAD", "") // and the index
	for _, tip := range tips {
		for _, p := range places {
			ask.WriteString(tip + ":" + p + "\n")
		}
	}
	there, errThere := git(ask.String(), "cat-file", "--batch-check=%(objectname)")
	doubt := err != nil || errThere != nil || len(there) != len(tips)*len(places)
	for i, p := range places {
		found := doubt
		for at := i; at < len(there) && !found; at += len(places) {
			found = !strings.HasSuffix(there[at], " missing")
		}
		if found {
			known = append(known, p)
		}
	}
	return known
}
