package repos

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/gitconfig"
)

// What git would run from one repository is switched off.

// othersSettings are files in a git directory from which lazygit and Arcanist take commands to run.
var othersSettings = []string{"lazygit.yml", "arc/config"} // allowed: never changed

// repository switches off what a repository would run, and reports whether it runs
// nothing then: one that is not the box's stays as it is.
func (w *sweep) repository(repo string) (clean bool) {
	if clean, known := w.seen[repo]; known {
		return clean
	}
	w.seen[repo] = true // of a circle
	h := &Held{Place: repo}
	ours := w.inside(repo) && !lies(repo, w.Guarded)
	clean = w.settings(repo, "config", ours, h)
	clean = w.settings(repo, "config.worktree", ours, h) && clean
	if ours {
		w.hooks(repo, filepath.Join(repo, "hooks"), "hooks", h)
		w.todo(repo, h)
		w.strategy(repo, h)
		for _, name := range othersSettings {
			if p := filepath.Join(repo, name); w.freshAt(repo, p) {
				w.away(p, h, name)
			}
		}
	}
	clean = w.commondir(repo, ours, h) && clean
	for _, sub := range append(w.reposIn(filepath.Join(repo, "modules"), 4), w.reposIn(filepath.Join(repo, "worktrees"), 0)...) {
		w.repository(sub)
	}
	w.seen[repo] = clean
	return clean
}

// commondir looks at the repository that this one shares objects, refs and settings with, and reports whether that runs
// nothing.
func (w *sweep) commondir(repo string, ours bool, h *Held) (clean bool) {
	p := filepath.Join(repo, "commondir")
	fi, err := w.lstat(p)
	if err != nil {
		return true
	}
	data, err := readFile(p)
	real, rerr := filepath.EvalSymlinks(beneath(repo, line(data)))
	if err == nil && rerr == nil && (real == repo || w.repository(real) && standing(real)) {
		return true
	}
	return ours && w.fresh(repo, p, fi) && w.away(p, h, "commondir")
}

// settings looks at one file of settings, and reports whether it runs nothing. With
// hold a recent one that does is replaced.
func (w *sweep) settings(repo, name string, hold bool, h *Held) (clean bool) {
	p := filepath.Join(repo, name)
	fi, err := w.lstat(p)
	if err != nil {
		return true
	}
	hold = hold && w.fresh(repo, p, fi)
	data, err := w.read(p)
	if err != nil && hold && fi.Mode().IsRegular() && w.open(p, 0o600) == nil {
		data, err = w.read(p)
	}
	if err != nil { // a link, or what git cannot read either
		return hold && w.away(p, h, name)
	}
	list, err := gitconfig.Parse(data)
	good, bad := w.sorted(repo, list)
	if err != nil {
		bad = append(bad, name+" ("+err.Error()+")")
	}
	if len(bad) == 0 || !hold {
		return len(bad) == 0
	}
	return w.replace(p, gitconfig.File("Switched off by inner: see the newest "+name+Suffix+"* for what a program in a box had written.", good), h, bad...)
}

// sorted returns the harmless settings of a repository, and the keys of the others.
func (w *sweep) sorted(repo string, list []gitconfig.Entry) (good []gitconfig.Entry, bad []string) {
	for _, e := range list {
		switch {
		case gitconfig.Harmless(e, func(tree string) bool { return w.worktree(repo, tree) }):
			good = append(good, e)
		case !slices.Contains(bad, e.Key):
			bad = append(bad, e.Key)
		}
	}
	return good, bad
}

// worktree reports whether a repository may have that work tree.
func (w *sweep) worktree(repo, tree string) bool {
	tree = beneath(repo, tree)
	real, err := filepath.EvalSymlinks(tree)
	if err != nil {
		return w.inside(filepath.Clean(tree))
	}
	w.trees[repo] = append(w.trees[repo], real)
	return w.inside(real)
}

// named looks at the folders in a work tree that the user's own settings name for the
// hooks of every repository (git-config(1), core.hooksPath).
func (w *sweep) named(tree, place string) {
	for _, value := range w.Hooks {
		dir := filepath.Join(tree, value)
		if filepath.IsAbs(value) || strings.HasPrefix(value, "~") || dir == tree {
			continue // one place, and not a repository's
		}
		w.hooks("", beyond(dir), filepath.Clean(value), &Held{Place: place})
	}
}

// hooks renames what git would run in a folder that is called name where it lies.
func (w *sweep) hooks(repo, dir, name string, h *Held) {
	fi, err := w.lstat(dir)
	switch {
	case err != nil:
		return
	case !fi.IsDir():
		if w.fresh(repo, dir, fi) {
			w.away(dir, h, name)
		}
		return
	}
	if unix.Access(dir, unix.R_OK|unix.X_OK) != nil {
		_ = w.open(dir, 0o700) // whenever it was closed; readDir notes one that stays so
	}
	entries, _ := w.readDir(dir) // what could be read counts
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if fi, err := e.Info(); err == nil && !fi.IsDir() && runs(fi) && w.fresh(repo, p, fi) {
			w.away(p, h, name+"/"+e.Name())
		}
	}
}

// runs reports whether git would run something in a folder of hooks.
func runs(fi os.FileInfo) bool {
	off := strings.HasSuffix(fi.Name(), ".sample") || strings.Contains(fi.Name(), Suffix)
	return !off && (!fi.Mode().IsRegular() || fi.Mode().Perm()&0o111 != 0)
}

// todo removes the commands from the list of a rebase that was not finished: `git rebase
// --continue` would run them.
func (w *sweep) todo(repo string, h *Held) {
	p := filepath.Join(repo, "rebase-merge", "git-rebase-todo")
	if !w.freshAt(repo, p) {
		return
	}
	data, err := w.read(p)
	if err != nil {
		w.away(p, h, "rebase-merge/git-rebase-todo")
		return
	}
	if rest := withoutCommands(data); len(rest) < len(data) {
		w.replace(p, rest, h, "the commands of an unfinished rebase")
	}
}

// withoutCommands returns the lines of the list of a rebase that run nothing.
func withoutCommands(data []byte) (rest []byte) {
	for line := range bytes.Lines(data) {
		word := bytes.TrimSpace(line)
		// "x" may be followed by anything but a letter (sequencer.c, is_command).
		if !bytes.HasPrefix(word, []byte("exec")) && !bytes.HasPrefix(word, []byte("x")) {
			rest = append(rest, line...)
		}
	}
	return rest
}

// strategy moves away the merge strategy of a rebase, and the options of a series of picks, that
// was not finished, when the strategy is a path and not a name. git would run the program
// "git-merge-" + strategy, which is then a path (measured with git 2.39; sequencer.c,
// do_pick_commit and populate_opts_cb).
func (w *sweep) strategy(repo string, h *Held) {
	for _, name := range []string{"rebase-merge/strategy", "sequencer/opts"} {
		p := filepath.Join(repo, name)
		if !w.freshAt(repo, p) {
			continue
		}
		strategy, err := w.strategyIn(p)
		if err != nil || strings.Contains(strategy, "/") {
			w.away(p, h, name)
		}
	}
}

// strategyIn reads the merge strategies that one of these files names.
func (w *sweep) strategyIn(p string) (strategies string, err error) {
	data, err := w.read(p)
	if err != nil || filepath.Base(p) != "opts" {
		return string(data), err
	}
	list, err := gitconfig.Parse(data)
	for _, e := range list {
		if e.Key == "options.strategy" {
			strategies += e.Value + "\n"
		}
	}
	return strategies, err
}
