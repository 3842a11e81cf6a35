package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// oddKinds are what a box can make in place of a file: inner neither waits for it nor takes all memory.
var oddKinds = map[string]func(string) error{
	"fifo":   func(p string) error { return unix.Mkfifo(p, 0o600) },
	"socket": func(p string) error { return unix.Mknod(p, unix.S_IFSOCK|0o600, 0) },
	"giant":  func(p string) error { return sparse(p, 1<<40) },
	"folder": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o700) },
	"loop":   func(p string) error { return os.Symlink(filepath.Base(p), p) },
	"secret": func(p string) error { return os.WriteFile(p, nil, 0) },
}

func sparse(p string, size int64) error {
	return errors.Join(os.WriteFile(p, nil, 0o600), os.Truncate(p, size))
}

// TestOddKinds puts them in the place of every file that inner reads of a box's git directory: each exchange ends, what is
// odd is no reason for a lock or a fault outside, and when it is gone what the box did crosses.
func TestOddKinds(t *testing.T) {
	for kind, put := range oddKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.host(s.home, "git init -q lib; cd lib; git commit -q --allow-empty -m lib; cd ../app; git submodule --quiet add ../lib lib; git commit -qm sub; git worktree add -q wt; git tag then; git gc -q; git branch loose; echo x >>a; git stash -q")
			c := s.stage(s.top, "r1")
			s.box(c, s.top, "echo one >>a; git commit -qam two; echo y >>a; git stash -q; git worktree add -q new; git switch -q --detach; git merge -q --no-commit -s ours loose~1 || true; git repack -q; git -C lib commit -q --allow-empty -m in; git bisect start >/dev/null")
			box := filepath.Join(c.path, boxFolder)
			names := []string{
				"HEAD", "index", "packed-refs", "config", "shallow", "refs/heads/main", "refs/heads/loose", "refs/stash", "refs", "refs/heads", "logs/HEAD", "logs/refs/stash", "logs", "objects", "objects/pack", "objects/info/alternates",
				"MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "SQUASH_MSG", "ORIG_HEAD", "FETCH_HEAD", "BISECT_LOG", "rebase-merge", "rebase-merge/head-name", "sequencer", "config.worktree", "commondir", "gitdir",
				"info", "info/attributes", "info/exclude", "info/grafts", "hooks", "hooks/post-checkout", "worktrees", "worktrees/wt", "worktrees/wt/HEAD", "worktrees/wt/index", "worktrees/wt/gitdir", "worktrees/wt/commondir", "worktrees/wt/logs/HEAD",
				"worktrees/new/HEAD", "worktrees/new/index", "worktrees/new/gitdir", "worktrees/new/commondir", "worktrees/new/locked", "modules", "modules/lib", "modules/lib/HEAD", "modules/lib/config", "modules/lib/index", "modules/lib/refs/heads/main", "lfs", "lfs/objects", "../../../app/new/.git",
			}
			packs, err := filepath.Glob(filepath.Join(box, "objects/pack/*"))
			if err != nil || len(packs) < 2 {
				t.Fatal(packs, err)
			}
			for _, p := range packs {
				names = append(names, "objects/pack/"+filepath.Base(p))
			}
			for _, name := range names {
				at := filepath.Join(box, name)
				if err := oddExchange(c, at, put); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if locks := s.host(s.top, "find .git -name '*.lock' -o -name 'inner-new*'"); locks != "" {
					t.Errorf("%s: %s", name, locks)
				}
			}
			s.whole(s.top)
			if rep := s.cross(c, true); len(rep.Unfinished) != 1 {
				t.Errorf("%+v", rep)
			}
			if in, out := s.box(c, s.top, "git rev-parse main stash@{0} new; git -C lib rev-parse HEAD"), s.host(s.top, "git rev-parse main stash@{0} new; git -C lib rev-parse HEAD"); in != out {
				t.Errorf("inside:\n%s\noutside:\n%s", in, out)
			}
			s.whole(s.top)
		})
	}
}

// oddExchange is an exchange while something odd is in the place of a file.
func oddExchange(c *Copy, at string, put func(string) error) error {
	aside := at + ".aside"
	there := os.Rename(at, aside) == nil
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), put(at)); err != nil {
		return err
	}
	ended := make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	go func() {
		// How it ends is told by other tests; that it ends is what counts.
		_, _ = c.Cross(ctx, Crossing{})
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		return errors.New("it does not end")
	}
	if ctx.Err() != nil {
		return errors.New("it takes too long")
	}
	err := os.RemoveAll(at)
	if there {
		err = errors.Join(err, os.Rename(aside, at))
	}
	return err
}
