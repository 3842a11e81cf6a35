package git

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"
)

// TestCost says what staging and crossing cost. It fails only when they are out of all proportion.
func TestCost(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds large repositories")
	}
	for _, size := range []struct {
		name        string
		files, refs int
	}{{"300 files", 300, 0}, {"50,000 files", 50_000, 0}, {"100,000 refs", 300, 100_000}} {
		t.Run(size.name, func(t *testing.T) {
			s := newFixture(t)
			s.objects = filepath.Join(s.home, "objects")
			// The files themselves are not needed, and making them takes minutes.
			s.host(s.top, fmt.Sprintf("b=$(git rev-parse HEAD:a); seq -f \"100644 $b\tx/%%06.0f\" %d | git update-index --add --index-info; git commit -qm many; git gc -q", size.files))
			if size.refs > 0 {
				s.host(s.top, fmt.Sprintf("o=$(git rev-parse HEAD); git pack-refs --all; seq -f \"$o refs/tags/t%%06.0f\" %d >>.git/packed-refs", size.refs))
			}
			begin := time.Now()
			r, err := Find(s.top)
			if err != nil {
				t.Fatal(err)
			}
			found := time.Since(begin)
			begin = time.Now()
			c := s.stage(r.Top, "r1")
			staged := time.Since(begin)
			begin = time.Now()
			if _, err := c.Hold(); err != nil {
				t.Fatal(err)
			}
			held := time.Since(begin)
			var took []time.Duration
			for i := range 4 {
				s.direct(c, s.top, fmt.Sprintf("echo %d >a; git add a; git commit -qm %d", i, i))
				begin = time.Now()
				if rep, err := c.Cross(context.Background(), Crossing{}); err != nil || len(rep.Moved) != 1 {
					t.Fatalf("%+v %v", rep, err)
				}
				took = append(took, time.Since(begin))
			}
			begin = time.Now()
			s.cross(c, false)
			t.Logf("find %s, stage %s, hold %s, a commit crosses in %s, nothing in %s", found.Round(10*time.Microsecond), staged.Round(10*time.Microsecond), held.Round(10*time.Microsecond), took, time.Since(begin))
			if staged > 5*time.Second || took[3] > 10*time.Second {
				t.Error("far too long")
			}
		})
	}
}
