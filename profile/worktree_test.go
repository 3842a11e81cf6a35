package profile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFindProjectWorktree: a linked worktree is the project of the main one by the word of
// that repository alone.
func TestFindProjectWorktree(t *testing.T) {
	type step func(root, home string)
	const pointer, back, common = "tree/.git", "proj/.git/worktrees/n/gitdir", "proj/.git/worktrees/n/commondir"
	write := func(name, text string) step {
		return func(root, _ string) {
			p := filepath.Join(root, name)
			must(t, errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.RemoveAll(p), os.WriteFile(p, []byte(strings.ReplaceAll(text, "ROOT", root)), 0o644)))
		}
	}
	move := func(from, to string) step {
		return func(root, _ string) { must(t, os.Rename(filepath.Join(root, from), filepath.Join(root, to))) }
	}
	symlink := func(to, name string) step {
		return func(root, _ string) {
			p := filepath.Join(root, name)
			must(t, errors.Join(os.RemoveAll(p), os.Symlink(strings.ReplaceAll(to, "ROOT", root), p)))
		}
	}
	mode := func(name string, mode os.FileMode) step {
		return func(root, _ string) { must(t, os.Chmod(filepath.Join(root, name), mode)) }
	}
	for _, c := range []struct {
		name string
		do   []step
		at   string
		want string // ROOT of the project, the one it is of, and its problem
	}{
		{"git's own", nil, "tree", "tree is proj"},
		{"a folder of it", nil, "tree/a/b", "tree is proj"},
		{"relative, as of git 2.48", []step{write(pointer, "gitdir: ../proj/.git/worktrees/n\n"), write(back, "../../../../tree/.git\n")}, "tree", "tree is proj"},
		{"a project further in", []step{write("proj/a/.inner/config.toml", "")}, "tree/a/b", "tree/a is proj/a"},
		{"its own .inner", []step{write("tree/.inner/config.toml", "")}, "tree", "tree is proj, own"},
		{"below the main one", []step{move("tree", "proj/tree"), write(back, "ROOT/proj/tree/.git\n")}, "proj/tree/a", "proj/tree is proj"},
		{"a repository in it", []step{write("tree/a/.git/HEAD", ""), write("proj/a/.inner/config.toml", "")}, "tree/a", "tree is proj"},
		{"no pointer", []step{write(pointer, "gitdir: ROOT/proj/.git\n")}, "tree", "none"},
		{"the main one is no project", []step{move("proj/.inner", "inner")}, "tree", "none"},
		{"a bare repository", []step{move("proj/.git", "proj/bare"), write(pointer, "gitdir: ROOT/proj/bare/worktrees/n\n")}, "tree", "none"},

		{"another is known", []step{write(back, "ROOT/elsewhere/.git\n")}, "tree", `tree is none: "ROOT/tree/.git" says that this is a worktree of "ROOT/proj", which has that worktree at "ROOT/elsewhere" (git worktree repair)`},
		{"moved", []step{move("tree", "moved")}, "moved", `moved is none: "ROOT/moved/.git" says that this is a worktree of "ROOT/proj", which has that worktree at "ROOT/tree" (git worktree repair)`},
		{"moved, and a link left there", []step{move("tree", "moved"), symlink("moved", "tree")}, "moved", `moved is none: "ROOT/moved/.git" says that this is a worktree of "ROOT/proj", which has that worktree at "ROOT/tree" (git worktree repair)`},
		{"another is known, with its own .inner", []step{write(back, "ROOT/elsewhere/.git\n"), write("tree/.inner/config.toml", "")}, "tree", "tree is none, own"},
		{"not known at all", []step{move("proj/.git/worktrees/n", "proj/.git/worktrees/m")}, "tree", `tree is none: "ROOT/tree/.git" leads to "ROOT/proj/.git/worktrees/n", which is not there (git worktree repair, or prune)`},
		{"a file for another", []step{write(back, "ROOT/tree/git\n")}, "tree", `tree is none: "ROOT/tree/.git" says that this is a worktree of "ROOT/proj", which has that worktree at "ROOT/tree" (git worktree repair)`},
		{"of another repository", []step{write(common, "/nowhere\n")}, "tree", `tree is none: "ROOT/proj/.git/worktrees/n" is not part of the repository "ROOT/proj/.git"`},
		{"no commondir", []step{symlink("x", common)}, "tree", `tree is none: "ROOT/proj/.git/worktrees/n" has no commondir or no gitdir`},
		{"a link for gitdir", []step{move(back, "real"), symlink("ROOT/real", back)}, "tree", `tree is none: "ROOT/proj/.git/worktrees/n" has no commondir or no gitdir`},
		{"a link on the way", []step{move("proj", "real"), symlink("real", "proj")}, "tree", `tree is none: "ROOT/tree/.git" leads through a link (git worktree repair)`},
		{"two lines", []step{write(back, "ROOT/tree/.git\n/x\n")}, "tree", `tree is none: "ROOT/tree/.git" says that this is a worktree of "ROOT/proj", which has that worktree at "ROOT/tree/.git\n" (git worktree repair)`},
		{"others can write it", []step{mode(back, 0o666)}, "tree", `tree is none: "ROOT/proj/.git/worktrees/n/gitdir" can be changed by everyone (mode 0666)`},
		{"others can write the worktree", []step{mode("tree", 0o777)}, "tree", `tree is none: "ROOT/tree" can be changed by everyone (mode 0777)`},
		{"others can exchange it", []step{write("open/x", ""), mode("open", 0o777), move("tree", "open/tree"), write(back, "ROOT/open/tree/.git\n")}, "open/tree", `open/tree is none: "ROOT/open" can be changed by everyone (mode 0777)`},
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		for _, s := range append([]step{
			write("proj/.inner/config.toml", ""), write(pointer, "gitdir: ROOT/proj/.git/worktrees/n\n"), write(back, "ROOT/tree/.git\n"), write(common, "../..\n"),
			func(root, _ string) { must(t, os.MkdirAll(filepath.Join(root, "tree/a/b"), 0o755)) },
		}, c.do...) {
			s(root, "")
		}
		got := "none"
		if p := FindProject(filepath.Join(root, c.at), "/nowhere"); p != nil {
			rel := func(path string) string {
				if path == "" {
					return "none"
				}
				rest, err := filepath.Rel(root, path)
				must(t, err)
				return rest
			}
			got = rel(p.Root) + " is " + rel(p.Of)
			if p.Dir == filepath.Join(p.Root, ".inner") {
				got += ", own"
			}
			if p.Problem != nil {
				got += ": " + strings.ReplaceAll(p.Problem.Error(), root, "ROOT")
			}
		}
		if got != c.want {
			t.Errorf("%s: got %s\nwant %s", c.name, got, c.want)
		}
	}
}
