package git

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain is also a process that crosses one copy, to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("INNER_TEST_GIT_CROSS"); dir != "" {
		c, err := Reopen(dir, nil)
		if err == nil {
			_, err = c.Cross(context.Background(), Crossing{Final: true})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestKilled kills an exchange at random moments. The host's repository is whole each time, and what had
// not crossed crosses with the next call. INNER_TEST_GIT_KILLS is how often.
func TestKilled(t *testing.T) {
	times := 12
	if n, err := strconv.Atoi(os.Getenv("INNER_TEST_GIT_KILLS")); err == nil {
		times = n
	}
	s := newFixture(t)
	s.objects = filepath.Join(s.home, "objects")
	var longest time.Duration
	killed := 0
	for i := range times {
		name := "k" + strconv.Itoa(i)
		c := s.stage(s.top, name)
		s.direct(c, s.top, fmt.Sprintf(`for j in $(seq %d); do echo %d.$j >>a; git commit -qam %d.$j; done; git branch b%d; git branch -f moves; echo s >>a; git stash -q; echo i >i%d; git add i%d; git pack-refs --all`,
			1+rand.IntN(45), i, i, i, i, i))
		if i > 0 {
			s.direct(c, s.top, fmt.Sprintf("git branch -D b%d", i-1))
		}
		want := s.direct(c, s.top, crashState)
		c.Close()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "INNER_TEST_GIT_CROSS="+c.path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		wait := 150 * time.Millisecond
		if longest > 0 {
			wait = longest
		}
		select {
		case <-done:
			longest = max(longest, time.Since(begin))
		case <-time.After(time.Duration(rand.Int64N(int64(wait)))):
			killed++
			_ = cmd.Process.Kill()
			<-done
		}
		// A git that had been started finishes what it does.
		var left []Left
		for try := 0; try < 100 && len(left) == 0; try++ {
			var err error
			if left, err = Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(c.path); err != nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		for _, l := range left {
			if !l.Gone || l.Err != nil || len(l.Report.Conflicts)+len(l.Report.Lines) > 0 {
				t.Fatalf("%d: %+v", i, l)
			}
		}
		if got := s.host(s.top, crashState); got != want {
			t.Fatalf("%d: outside:\n%s\nin the box:\n%s", i, got, want)
		}
		s.whole(s.top)
		if out := s.host(s.top, "git status --porcelain"); strings.Contains(out, "D ") {
			t.Errorf("%d: %s", i, out)
		}
	}
	t.Logf("%d of %d killed", killed, times)
}

const crashState = "git for-each-ref --format='%(objectname) %(refname)' | grep -v refs/inner; git stash list --format=%H; git ls-files -s; git symbolic-ref HEAD"

// TestFileSizeLimit is a host that cannot store the objects.
func TestFileSizeLimit(t *testing.T) {
	s := newFixture(t)
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "head -c 3000000 /dev/urandom >big; git add big; git commit -qm big; git branch other")
	before := s.host(s.top, "git for-each-ref; git ls-files -s; find .git | sort")
	c.Close()
	cmd := exec.Command("bash", "-c", `ulimit -f 1000; exec "$0"`, os.Args[0])
	cmd.Env = append(os.Environ(), "INNER_TEST_GIT_CROSS="+c.path)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("it crossed: %s", out)
	}
	if after := s.host(s.top, "git for-each-ref; git ls-files -s; find .git | sort"); after != before {
		t.Errorf("outside:\n%s\nbefore:\n%s", after, before)
	}
	left, err := Recover(context.Background(), filepath.Join(s.home, "runs"), Crossing{}, nil)
	t.Logf("%+v", left)
	if err != nil || len(left) != 1 || !left[0].Gone {
		t.Errorf("%+v %v", left, err)
	}
	if got := s.host(s.top, "git log -1 --format=%s other"); got != "big\n" {
		t.Error(got)
	}
	s.whole(s.top)
}
