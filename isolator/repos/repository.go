package repos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/worktree"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/profile/gitconfig"
)

// What git would run from one repository is switched off.

// running are other parts of a git directory from which something runs: the commands and the merge
// strategies, which can be paths of programs, of a rebase and of a series of picks (sequencer.c;
// measured with git 2.39), and the settings of lazygit and Arcanist.
var running = []string{"rebase-merge", "sequencer", "lazygit.yml", "arc/config"} // allowed: never changed

// ofGit is what is moved aside of a repository.
func ofGit(of string, what ...string) Moved { return Moved{Tool: "git", Of: of, What: what} }

// top looks at a .git: a repository, or what leads to one.
func (w *sweep) top(p string) {
	fi, err := w.lstat(p)
	if err != nil || w.NoGit || lies(p, w.Guarded) {
		return
	}
	tree := filepath.Dir(p)
	if fi.IsDir() {
		w.repository(p)
	} else {
		w.pointer(p, fi)
	}
	w.named(tree, p)
	r, err := git.FindAt(tree)
	if err != nil || r.Digits == 0 {
		return
	}
	_, links, _ := git.Gitlinks(r) // git enters them by itself; of an index that cannot be read the search finds them
	for _, link := range links {
		if at := filepath.Join(tree, link); files.Real(at) == at {
			w.top(at + "/.git")
		}
	}
}

// pointer looks at a .git that is a file or a link. One that is the box's stays when it leads to
// where no box makes a repository of any kind that is not looked for before each run: into the git
// directories of the host, when these agree, or into a .git folder.
func (w *sweep) pointer(p string, fi os.FileInfo) {
	to, name := leadsTo(p), "nothing"
	if files.Exists(to) {
		name = to
		w.repository(to)
	}
	good := w.inside(to) && strings.Contains(to+"/", "/.git/") && files.Exists(to+"/HEAD")
	if lies(to, w.Guarded) {
		r, err := git.FindAt(filepath.Dir(p))
		good = err == nil && r.Reason == "" || name == "nothing"
		if good && w.InTree != nil { // a worktree that the box made, with settings that it did not
			for _, at := range w.InTree(filepath.Dir(p)) {
				w.single(at.Path, "git")
			}
		}
	}
	if !good && w.fresh(p, p, fi) {
		w.aside(p, ofGit(p, "a pointer to "+name))
	}
}

// fresh reports whether the box made or changed something of a repository. What was not there
// before is the box's, whatever times it has: it may have been moved to where git finds it.
func (w *sweep) fresh(repo, p string, fi os.FileInfo) bool {
	unknown := w.inside(repo) && !lies(repo, w.Guarded) && !lies(repo, w.Unlisted)
	return !lies(p, w.Before) && (unknown || w.recent(p, fi))
}

// freshAt reports whether something is there that is fresh.
func (w *sweep) freshAt(repo, p string) bool {
	fi, err := w.lstat(p)
	return err == nil && w.fresh(repo, p, fi)
}

// leadsTo returns where a .git leads that is a file or a link, "" for nowhere and for a file that is not git's.
func leadsTo(p string) string {
	real, err := files.Eval(p)
	if err != nil {
		return ""
	}
	if fi, err := os.Lstat(real); err == nil && fi.IsDir() {
		return real
	}
	if target := worktree.Target(real, filepath.Dir(p)); target != "" {
		return files.Resolved(target)
	}
	return ""
}

// repository switches off what a repository of the box's would run.
func (w *sweep) repository(repo string) {
	if !w.inside(repo) || lies(repo, w.Guarded) || w.seen[repo] {
		return
	}
	w.seen[repo] = true // of a circle
	w.settings(repo, "config")
	w.settings(repo, "config.worktree")
	w.hooks(repo, filepath.Join(repo, "hooks"), "hooks", repo)
	for _, name := range running {
		if p := filepath.Join(repo, name); w.freshAt(repo, p) {
			w.aside(p, ofGit(repo, name))
		}
	}
	w.objects(filepath.Join(repo, "objects/info/alternates"))
	p := filepath.Join(repo, "commondir")
	data, err := w.read(p)
	linked := err == nil && strings.TrimRight(string(data), "\r\n") == "../.."
	if all := filepath.Dir(repo); linked && filepath.Base(all) == "worktrees" {
		w.repository(filepath.Dir(all))
	} else if w.freshAt(repo, p) {
		w.aside(p, ofGit(repo, "commondir"))
	}
	for _, dir := range []string{repo + "/modules", repo + "/worktrees"} {
		if _, err := w.lstat(dir); err == nil {
			w.queue[0] = append(w.queue[0], dir)
		}
	}
}

// objects has a clone that the box made of a repository outside find the objects there.
func (w *sweep) objects(p string) {
	data, err := w.read(p)
	text := string(data)
	for box, outside := range w.Objects {
		text = strings.ReplaceAll(text, box+"\n", outside+"\n")
	}
	if err == nil && text != string(data) {
		if err := w.at(p, func(at string) error { return files.Write(at, []byte(text), 0o644) }); err != nil {
			w.errs = append(w.errs, err)
		}
	}
}

// settings replaces one file of settings when it is the box's and runs something.
func (w *sweep) settings(repo, name string) {
	p := filepath.Join(repo, name)
	if !w.freshAt(repo, p) {
		return
	}
	data, err := w.read(p)
	if err != nil { // a link, or what git cannot read either
		w.aside(p, ofGit(repo, name))
		return
	}
	list, err := gitconfig.Parse(data)
	var good []gitconfig.Entry
	var bad []string
	for _, e := range list {
		switch {
		case gitconfig.Harmless(e, func(tree string) bool { return w.worktree(repo, tree) }):
			good = append(good, e)
		case !slices.Contains(bad, e.Key):
			bad = append(bad, e.Key)
		}
	}
	if err != nil {
		bad = append(bad, name+" ("+err.Error()+")")
	}
	if len(bad) > 0 {
		about := "Switched off by inner: see the newest " + name + Suffix + "* for what a program in a box had written."
		w.replace(p, gitconfig.File(about, good), ofGit(repo, bad...))
	}
}

// worktree reports whether a repository may have that work tree.
func (w *sweep) worktree(repo, tree string) bool {
	if !filepath.IsAbs(tree) {
		tree = repo + "/" + tree // not cleaned: what ".." is after a link the kernel says
	}
	tree = files.Resolved(tree)
	w.named(tree, repo)
	return w.inside(tree)
}

// named looks at the folders in a work tree that the user's own settings name for the
// hooks of every repository (git-config(1), core.hooksPath).
func (w *sweep) named(tree, place string) {
	for _, value := range w.Hooks {
		dir := filepath.Join(tree, value)
		if filepath.IsAbs(value) || strings.HasPrefix(value, "~") || dir == tree {
			continue // one place, and not a repository's
		}
		w.hooks("", w.beyond(dir), filepath.Clean(value), place)
	}
}

// hooks renames what git would run in a folder that is called name where it lies, in a repository or in none.
func (w *sweep) hooks(repo, dir, name, place string) {
	fi, err := w.lstat(dir)
	switch {
	case err != nil:
		return
	case !fi.IsDir():
		if w.fresh(repo, dir, fi) {
			w.aside(dir, ofGit(place, name))
		}
		return
	}
	entries, _ := w.readDir(dir) // what could be read counts
	for _, e := range entries {
		p := filepath.Join(dir, e.Name)
		if fi, err := os.Lstat(p); err == nil && !fi.IsDir() && runs(fi) && w.fresh(repo, p, fi) {
			w.aside(p, ofGit(place, name+"/"+e.Name))
		}
	}
}

// runs reports whether git would run something in a folder of hooks.
func runs(fi os.FileInfo) bool {
	off := strings.HasSuffix(fi.Name(), ".sample") || strings.Contains(fi.Name(), Suffix)
	return !off && (!fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 != 0)
}
