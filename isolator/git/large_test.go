package git

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestLarge are files that cost a box nothing and would cost inner gigabytes: an exchange takes next to no memory for them.
func TestLarge(t *testing.T) {
	for name, script := range map[string]string{
		"index":                  "truncate -s 1G .git/index",
		"index with holes":       `printf 'DIRC\0\0\0\2\0\20\0\0' >.git/index; truncate -s 100M .git/index`,
		"packed refs":            "truncate -s 1G .git/packed-refs",
		"packed refs with holes": "echo '# pack-refs with: sorted ' >.git/packed-refs; truncate -s 100M .git/packed-refs",
	} {
		t.Run(name, func(t *testing.T) {
			s := newFixture(t)
			c := s.stage(s.top, "r1")
			s.box(c, s.top, script)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			rep, err := c.Cross(context.Background(), Crossing{Final: true})
			runtime.ReadMemStats(&after)
			if err == nil && len(rep.Lines) != 1 {
				t.Errorf("%+v", rep)
			}
			if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
				t.Errorf("it took %d MiB", took>>20)
			}
			s.whole(s.top)
		})
	}
}

// TestLargeNames is an index of two megabytes that says a gigabyte of names: in version 4 each is made of the one before.
func TestLargeNames(t *testing.T) {
	const entries = 250_000
	var b bytes.Buffer
	b.WriteString("DIRC\x00\x00\x00\x04")
	_ = binary.Write(&b, binary.BigEndian, uint32(entries))
	fixed := make([]byte, statBytes+20+2)
	binary.BigEndian.PutUint32(fixed[24:], modeFile)
	binary.BigEndian.PutUint16(fixed[len(fixed)-2:], 4003)
	for n := range entries {
		b.Write(fixed)
		if n == 0 {
			b.WriteString("\x00" + strings.Repeat("x", 4000))
		} else {
			b.WriteByte(3)
		}
		b.Write([]byte{byte(n>>14) | 0x80, byte(n>>7) | 0x80, byte(n) | 0x80, 0})
	}
	b.Write(make([]byte, 20))
	if _, err := parseIndex(b.String(), 20); !errors.Is(err, errTooLarge) {
		t.Error(err)
	}
}

// TestManyMoved is a box that changed more refs than it may: one line, no git, and the host's are as they were.
func TestManyMoved(t *testing.T) {
	s := newFixture(t)
	s.slowGit(":")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, `o=$(git rev-parse HEAD); seq -f "$o refs/tags/t%07.0f" 250001 >.git/packed-refs; git branch other; git commit -q --allow-empty -m second`)
	if _, err := c.Cross(context.Background(), Crossing{Final: true}); err == nil || strings.Count(err.Error(), "\n") != 0 || !strings.Contains(err.Error(), "no more than 250000 cross") {
		t.Errorf("%.500v", err)
	}
	if len(c.bases) != 1 || len(c.seen[0].box.refs) != 0 {
		t.Error("what takes much memory is remembered")
	}
	if got := s.host(s.top, "git for-each-ref | wc -l; git log -1 --format=%s; ls ../calls 2>/dev/null || :"); got != "1\nfirst\n" {
		t.Error(got)
	}
	s.whole(s.top)
}

// TestRemoteHead is the symbolic ref that names the main branch of a remote: it is made, moved and removed as by git.
func TestRemoteHead(t *testing.T) {
	s := newFixture(t)
	s.host(s.top, "git update-ref refs/remotes/o/main HEAD; git update-ref refs/remotes/o/two HEAD; git update-ref refs/remotes/p/main HEAD; for r in o p; do git symbolic-ref refs/remotes/$r/HEAD refs/remotes/$r/main; done")
	c := s.stage(s.top, "r1")
	s.box(c, s.top, "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/two; git symbolic-ref -d refs/remotes/p/HEAD; git update-ref refs/remotes/new/main HEAD; git symbolic-ref refs/remotes/new/HEAD refs/remotes/new/main")
	s.cross(c, false)
	const list = "git for-each-ref --format='%(refname) %(symref)' refs/remotes | grep HEAD"
	if got := s.host(s.top, list); got != "refs/remotes/new/HEAD refs/remotes/new/main\nrefs/remotes/o/HEAD refs/remotes/o/two\n" {
		t.Error(got)
	}
	s.host(s.top, "git symbolic-ref refs/remotes/o/HEAD refs/remotes/o/main")
	s.box(c, s.top, "git symbolic-ref -d refs/remotes/o/HEAD")
	rep := s.cross(c, true)
	if got := s.host(s.top, list); !strings.Contains(got, "refs/remotes/o/HEAD refs/remotes/o/main\n") || !strings.Contains(strings.Join(rep.Settings, " "), "refs/remotes/o/HEAD") {
		t.Errorf("what was moved outside, too, is taken from there: %s%+v", got, rep)
	}
	s.whole(s.top)
}
