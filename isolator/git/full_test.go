package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDiskFull is a disk without room, the host's or that of the copy: a small tmpfs in namespaces of
// its own. No ref moves, the copy stays, and everything crosses once there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	if at := os.Getenv("INNER_TEST_GIT_FULL"); at != "" {
		diskFull(t, at)
		return
	}
	for _, at := range []string{"app", "runs"} {
		t.Run(at, func(t *testing.T) {
			cmd := exec.Command("unshare", "--user", "--map-root-user", "--mount", os.Args[0], "-test.run=^TestDiskFull$", "-test.v")
			cmd.Env = append(os.Environ(), "INNER_TEST_GIT_FULL="+at)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func diskFull(t *testing.T, at string) {
	s := newFixture(t)
	small := filepath.Join(s.home, at)
	t.Cleanup(func() { s.host(s.home, "umount "+small) })
	s.host(s.home, "mkdir -p runs; mv app was; mkdir app; mount -t tmpfs -o size=64m none "+small+"; cp -a was/. app/")
	s.objects = filepath.Join(s.home, "objects")
	c := s.stage(s.top, "r1")
	s.direct(c, s.top, "head -c 9000000 /dev/urandom >big; git add big; git commit -qm big; git branch other; git tag t; echo x >>a; git stash -q")
	refs := "git for-each-ref | grep -v refs/inner; git ls-files -s; git symbolic-ref HEAD; find .git -name '*.lock' -o -name 'inner-new*'"
	before := s.host(s.top, refs)
	s.host(s.home, "head -c 100000000 /dev/zero >"+small+"/filler 2>/dev/null || :")
	for _, final := range []bool{false, true} {
		rep, err := c.Cross(context.Background(), Crossing{Final: final})
		if err == nil || !noSpace(err) {
			t.Errorf("no error of a full disk: %v %+v", err, rep)
		}
		t.Log(err)
		if after := s.host(s.top, refs); after != before {
			t.Errorf("outside:\n%s\nbefore:\n%s", after, before)
		}
	}
	s.host(s.top, "git fsck --strict --no-dangling")
	c.Close()
	s.host(s.home, "rm "+small+"/filler")
	left, err := Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{}, nil)
	if err != nil || len(left) != 1 || !left[0].Gone {
		t.Errorf("%+v %v", left, err)
	}
	if got := s.host(s.top, "git log -1 --format=%s other; git cat-file -s t:big; git stash list | wc -l"); got != "big\n9000000\n1\n" {
		t.Error(got)
	}
	s.whole(s.top)
}
