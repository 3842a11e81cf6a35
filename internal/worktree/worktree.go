// Package worktree finds the repository that a linked worktree of git belongs to, and
// trusts only what that repository says. It starts no program, so a prompt can call it.
//
// A .git file that says "gitdir: REPOSITORY/worktrees/NAME" proves nothing: anybody can
// write one, a program in a box among them. What counts is REPOSITORY/worktrees/NAME/gitdir,
// which git, or inner for a box, wrote when the worktree was made, and which no box can
// write: it must name the very .git file that led there, and no link is followed: git writes
// real paths. Owned checks who owns all these files.
package worktree

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
)

// Tree is a folder whose .git file says that it is a linked worktree.
type Tree struct {
	Top    string // the folder of the .git file
	Dir    string // its git directory: COMMON/worktrees/NAME
	Common string // the git directory of the repository
	Main   string // the main worktree: the folder of Common; "" when Common is not called .git
	Err    error  // why the repository does not confirm it; nil when it does
}

// Around returns the nearest folder, dir or one above it, with something called .git in it,
// and what that says of a linked worktree: nil when it is the top of something else. At the
// root folder there may be none at all. The folder is a real path.
func Around(dir string) (top string, t *Tree) {
	for top = filepath.Clean(dir); !files.Exists(filepath.Join(top, ".git")); top = filepath.Dir(top) {
		if top == filepath.Dir(top) { // the root folder, or where a relative path ends
			return top, nil
		}
	}
	return top, At(top)
}

// At reads the .git file of a folder, a real path. It returns nil when there is none, or
// it leads to something else than the git directory of a linked worktree.
func At(top string) *Tree {
	t := &Tree{Top: filepath.Clean(top)}
	pointer := filepath.Join(t.Top, ".git")
	t.Dir = Target(pointer, t.Top)
	worktrees := filepath.Dir(t.Dir)
	if filepath.Base(worktrees) != "worktrees" {
		return nil
	}
	t.Common = filepath.Dir(worktrees)
	t.Err = t.confirm(pointer)
	if filepath.Base(t.Common) == ".git" {
		t.Main = filepath.Dir(t.Common)
	}
	return t
}

// Target returns where a .git file leads that lies in a folder, "" where it is none of git's.
func Target(file, top string) string {
	target, ok := strings.CutPrefix(Named(file), "gitdir: ")
	if !ok || target == "" {
		return ""
	}
	if !strings.Contains(strings.TrimLeft(target, "./")+"/", "/../") {
		return Absolute(top, target)
	}
	if !filepath.IsAbs(target) {
		target = top + "/" + target
	}
	real, _ := filepath.EvalSymlinks(target) // what ".." is after a link the kernel says
	return real
}

// confirm returns an error unless the repository names this very worktree.
func (t *Tree) confirm(pointer string) error {
	switch real, err := filepath.EvalSymlinks(t.Dir); {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%q leads to %q, which is not there (git worktree repair, or prune)", pointer, t.Dir)
	case err != nil:
		return err
	case real != t.Dir:
		return fmt.Errorf("%q leads through a link (git worktree repair)", pointer)
	}
	common, named := Named(filepath.Join(t.Dir, "commondir")), Named(filepath.Join(t.Dir, "gitdir"))
	if common == "" || named == "" {
		return fmt.Errorf("%q has no commondir or no gitdir", t.Dir)
	}
	if Absolute(t.Dir, common) != t.Common {
		return fmt.Errorf("%q is not part of the repository %q", t.Dir, t.Common)
	}
	if at := Absolute(t.Dir, named); at != pointer {
		return fmt.Errorf("%q says that this is a worktree of %q, which has that worktree at %q (git worktree repair)",
			pointer, filepath.Dir(t.Common), filepath.Dir(at))
	}
	return nil
}

// Owned returns an error when somebody else than the user and root could have written what
// the repository says, or could put another folder in the worktree's place.
func (t *Tree) Owned() error {
	check := func(fault func(fs.FileInfo) string, list ...string) error {
		for _, p := range list {
			fi, err := os.Lstat(p)
			if err != nil {
				return err
			}
			if why := fault(fi); why != "" {
				return fmt.Errorf("%q %s", p, why)
			}
		}
		return nil
	}
	above := []string{"/"}
	for p := filepath.Dir(t.Top); p != "/"; p = filepath.Dir(p) {
		above = append(above, p)
	}
	err := check(own.Fault, t.Top, filepath.Join(t.Top, ".git"), t.Dir,
		filepath.Join(t.Dir, "gitdir"), filepath.Join(t.Dir, "commondir"), filepath.Dir(t.Dir), t.Common, filepath.Dir(t.Common))
	return cmp.Or(err, check(own.FolderFault, above...))
}

// Absolute returns a path that a file in dir, or the settings there, may have written as a relative one.
func Absolute(dir, p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(dir, p)
}

// Named returns what a file that names a folder says, as git reads it: whatever follows its lines' ends, or a
// NUL. It is "" where there is no such file.
//
// Source: setup.c of git 2.39 (read_gitfile_gently, which reads 1 MiB at most; get_common_dir_noenv).
func Named(path string) string {
	data, err := files.Head(path, files.NoLinks, 1<<20)
	if err != nil {
		return ""
	}
	text, _, _ := strings.Cut(strings.TrimRight(string(data), "\r\n"), "\x00")
	return text
}
