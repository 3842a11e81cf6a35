package runlog_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/runlog/records"
)

// written makes a log of n lines and returns its folder.
func written(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "logs")
	for i := range n {
		if err := Append(dir, Event{Type: EventRefused, Command: fmt.Sprintf("cmd%d", i+1), Code: 126, Reason: "because"}); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func linesOf(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(strings.Lines(string(data)))
}

func put(t *testing.T, path string, lines ...string) {
	t.Helper()
	text := strings.Join(lines, "")
	if !strings.HasSuffix(text, "\n") && text != "" && !strings.HasSuffix(text, "torn") {
		text += "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func verdict(t *testing.T, dir string) records.Verdict {
	t.Helper()
	v, err := records.Verify(dir)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// forged is a line that follows prev as one of this log would.
func forged(prev string, seq int64) string {
	e := Event{Seq: seq, Prev: Sum([]byte(strings.TrimSuffix(prev, "\n"))), Time: time.Now(), Type: EventBypass, Command: "forged"}
	return string(Line(e)) + "\n"
}

// What was done to a log shows, also after more was written; the same log
// untouched is whole.
func TestTampering(t *testing.T) {
	const n = 8
	log := func(dir string) string { return filepath.Join(dir, AuditFile) }
	head := func(dir string) string { return filepath.Join(dir, HeadFile) }
	for _, tt := range []struct {
		name  string
		do    func(t *testing.T, dir string, l []string)
		want  string
		later string // after another line; "" when the same
	}{
		{name: "edited first", want: "line 1 was edited", do: func(t *testing.T, dir string, l []string) {
			l[0] = strings.Replace(l[0], "cmd1", "cmdX", 1)
			put(t, log(dir), l...)
		}},
		{name: "edited in the middle", want: "line 4 was edited", do: func(t *testing.T, dir string, l []string) {
			l[3] = strings.Replace(l[3], "cmd4", "another", 1)
			put(t, log(dir), l...)
		}},
		{name: "edited last", want: "line 8 was edited", do: func(t *testing.T, dir string, l []string) {
			l[7] = strings.Replace(l[7], "cmd8", "cmdX", 1)
			put(t, log(dir), l...)
		}},
		{name: "edited last, another length", want: "line 8 was edited", do: func(t *testing.T, dir string, l []string) {
			l[7] = strings.Replace(l[7], "cmd8", "another", 1)
			put(t, log(dir), l...)
		}},
		{name: "edited number", want: "lines 4 to 13 are missing before line 14", do: func(t *testing.T, dir string, l []string) {
			l[3] = strings.Replace(l[3], `"seq":4`, `"seq":14`, 1)
			put(t, log(dir), l...)
		}},
		{name: "no line any more", want: "not a line of this log", do: func(t *testing.T, dir string, l []string) {
			l[3] = "nothing to see here\n"
			put(t, log(dir), l...)
		}},
		{name: "emptied line", want: "not a line of this log", do: func(t *testing.T, dir string, l []string) {
			l[3] = "\n"
			put(t, log(dir), l...)
		}},
		{name: "deleted first", want: "line 1 is missing before line 2", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), l[1:]...)
		}},
		{name: "deleted in the middle", want: "lines 4 to 5 are missing before line 6", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), append(l[:3:3], l[5:]...)...)
		}},
		{name: "deleted last", want: "line 8 is missing: the end was cut off", later: "line 8 is missing before line 9", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), l[:7]...)
		}},
		{name: "deleted all", want: "lines 1 to 8 are missing: the end was cut off", later: "lines 1 to 8 are missing before line 9", do: func(t *testing.T, dir string, _ []string) {
			put(t, log(dir))
		}},
		{name: "deleted the file", want: "lines 1 to 8 are missing: the end was cut off", later: "lines 1 to 8 are missing before line 9", do: func(t *testing.T, dir string, _ []string) {
			if err := os.Remove(log(dir)); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "swapped", want: "line 4 is missing before line 5", do: func(t *testing.T, dir string, l []string) {
			l[3], l[4] = l[4], l[3]
			put(t, log(dir), l...)
		}},
		{name: "repeated", want: "line 4 stands where line 5 belongs", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), append(append(l[:4:4], l[3]), l[4:]...)...)
		}},
		{name: "put in", want: "line 5 stands where line 6 belongs: a line was put in", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), append(append(l[:4:4], forged(l[3], 5)), l[4:]...)...)
		}},
		{name: "cut within a line", want: "line 8 is missing: the end was cut off", later: "line 8 is missing before line 9", do: func(t *testing.T, dir string, l []string) {
			put(t, log(dir), append(l[:7:7], l[7][:40]+"torn")...)
		}},
		{name: "head taken away", want: "the head is missing or damaged", later: "the head was missing or damaged when line 9 was written", do: func(t *testing.T, dir string, _ []string) {
			if err := os.Remove(head(dir)); err != nil {
				t.Fatal(err)
			}
		}},
		{name: "head emptied and the end cut", want: "the head is missing or damaged", later: "the head was missing or damaged when line 8 was written", do: func(t *testing.T, dir string, l []string) {
			put(t, head(dir))
			put(t, log(dir), l[:7]...)
		}},
		{name: "head of another log", want: "line 8 was edited", do: func(t *testing.T, dir string, _ []string) {
			other, err := os.ReadFile(head(written(t, n)))
			if err != nil {
				t.Fatal(err)
			}
			put(t, head(dir), string(other))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := written(t, n)
			if v := verdict(t, dir); v.Fault != nil || v.Lines != n || v.First != 1 || v.Last != n || len(v.Notes) != 0 {
				t.Fatalf("untouched: %+v %+v", v, v.Fault)
			}
			tt.do(t, dir, linesOf(t, log(dir)))
			v := verdict(t, dir)
			if v.Fault == nil || !strings.Contains(v.Fault.What, tt.want) {
				t.Errorf("%+v, want %q", v.Fault, tt.want)
			}
			if err := Append(dir, Event{Type: EventBypass}); err != nil {
				t.Fatal(err)
			}
			v = verdict(t, dir)
			want := tt.later
			if want == "" {
				want = tt.want
			}
			if v.Fault == nil || !strings.Contains(v.Fault.What, want) {
				t.Errorf("later: %+v, want %q", v.Fault, want)
			}
		})
	}
}

// What a crash leaves is no tampering, and the chain goes on.
func TestCrashes(t *testing.T) {
	const n = 5
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, dir string)
		note string
		next int64 // the number of the line after
	}{
		{"between the lines and the head", func(t *testing.T, dir string) {
			head, err := os.ReadFile(filepath.Join(dir, HeadFile))
			if err = errors.Join(err, Append(dir, Event{Type: EventBlocked}, Event{Type: EventExit})); err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, HeadFile), string(head))
		}, "lines 6 to 7 are beyond the head", 8},
		{"the head of a while ago", func(t *testing.T, dir string) {
			head, err := os.ReadFile(filepath.Join(dir, HeadFile))
			for range 2 {
				err = errors.Join(err, Append(dir, Event{Type: EventExit}))
			}
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, HeadFile), string(head))
		}, "lines 6 to 7 are beyond the head", 8},
		{"within a line", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, AuditFile), append(linesOf(t, filepath.Join(dir, AuditFile)), `{"seq":6,"prev":"torn`)...)
		}, "the last line has no end (21 bytes)", 7},
		{"zeroes after a power cut", func(t *testing.T, dir string) {
			put(t, filepath.Join(dir, AuditFile), append(linesOf(t, filepath.Join(dir, AuditFile)), string(make([]byte, 300))+"torn")...)
		}, "the last line has no end (304 bytes)", 7},
		{"while the file was set aside", func(t *testing.T, dir string) {
			if err := os.Rename(filepath.Join(dir, AuditFile), filepath.Join(dir, AuditFile+".1")); err != nil {
				t.Fatal(err)
			}
		}, "", 6},
		{"before the head was first written", func(t *testing.T, dir string) {
			if err := errors.Join(os.Remove(filepath.Join(dir, AuditFile)), os.Truncate(filepath.Join(dir, HeadFile), 0)); err != nil {
				t.Fatal(err)
			}
		}, "", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := written(t, n)
			tt.do(t, dir)
			v := verdict(t, dir)
			if v.Fault != nil || (tt.note == "") != (len(v.Notes) == 0) || tt.note != "" && !strings.Contains(v.Notes[0], tt.note) {
				t.Errorf("%+v %+v", v, v.Fault)
			}
			for range 2 {
				if err := Append(dir, Event{Type: EventExit}); err != nil {
					t.Fatal(err)
				}
				if v = verdict(t, dir); v.Fault != nil {
					t.Errorf("afterwards: %+v", v.Fault)
				}
			}
			if v.Last != tt.next+1 {
				t.Errorf("last %d, want %d", v.Last, tt.next+1)
			}
		})
	}
}

// Lines that were lost are missing, whoever lost them; after a start of the
// machine that is said.
func TestLostAtRestart(t *testing.T) {
	dir := written(t, 5)
	path := filepath.Join(dir, HeadFile)
	_, h, err := ReadAudit(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !h.Whole || h.Restarted() {
		t.Fatalf("%+v", h)
	}
	h.Boot = "00000000-0000-0000-0000-000000000000"
	put(t, path, h.String())
	if v := verdict(t, dir); v.Fault != nil {
		t.Fatalf("nothing is lost: %+v", v.Fault)
	}
	put(t, filepath.Join(dir, AuditFile), linesOf(t, filepath.Join(dir, AuditFile))[:3]...)
	for _, want := range []string{"lines 4 to 5 are missing: the end was cut off, or lost when the machine stopped", "lines 4 to 5 are missing before line 6: the end was cut off, or lost when the machine stopped"} {
		if v := verdict(t, dir); v.Fault == nil || !strings.HasPrefix(v.Fault.What, want) {
			t.Errorf("%+v, want %q", v.Fault, want)
		}
		if err := Append(dir, Event{Type: EventExit}); err != nil {
			t.Fatal(err)
		}
	}
}

// Many writers at once, each a process of its own, make one chain.
func TestManyWriters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	const writers, each = 50, 4
	if os.Getenv("RUNLOG_WRITER") != "" {
		for range each {
			if err := Append(os.Getenv("RUNLOG_WRITER"), Event{Type: EventStart, Run: "r"}, Event{Type: EventExit, Run: "r"}); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make(chan error, writers)
	for i := range writers {
		wg.Go(func() {
			if i%5 > 0 { // most of them here: a process takes its time
				for range each {
					errs <- Append(dir, Event{Type: EventStart, Run: "r"}, Event{Type: EventExit, Run: "r"})
				}
				return
			}
			cmd := exec.Command(self, "-test.run=^TestManyWriters$")
			cmd.Env = append(os.Environ(), "RUNLOG_WRITER="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				errs <- fmt.Errorf("%w: %s", err, out)
			}
		})
	}
	go func() {
		wg.Wait()
		close(errs)
	}()
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if v := verdict(t, dir); v.Fault != nil || v.Lines != writers*each*2 || len(v.Notes) != 0 {
		t.Errorf("%+v %+v", v, v.Fault)
	}
	last := ""
	lines, _, err := ReadAudit(dir)
	for _, e := range lines {
		if last == EventStart && e.Type != EventExit {
			t.Errorf("line %d: the events of one Append are apart", e.Seq)
		}
		last = e.Type
	}
	if err != nil {
		t.Error(err)
	}
}

// The chain goes on from file to file, and the oldest goes.
func TestAuditRotation(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	add := func() {
		t.Helper()
		if err := AppendAtMost(dir, 1000, Event{Type: EventExit}); err != nil {
			t.Fatal(err)
		}
	}
	if err := Append(dir, Event{Type: EventExit}); err != nil {
		t.Fatal(err)
	}
	files := func() []string {
		found, _ := filepath.Glob(filepath.Join(dir, AuditFile+"*"))
		return found
	}
	for range 60 {
		add()
		if v := verdict(t, dir); v.Fault != nil || len(v.Notes) != 0 || v.Last-v.First+1 != int64(v.Lines) {
			t.Fatalf("%+v %+v", v, v.Fault)
		}
	}
	v := verdict(t, dir)
	if got := files(); len(got) != KeptAudit+1 || v.Last != 61 || v.First == 1 || v.First > 40 {
		t.Errorf("%q, lines %d to %d", got, v.First, v.Last)
	}
	for _, e := range files() {
		if fi, err := os.Stat(e); err != nil || fi.Mode().Perm() != 0o600 || fi.Size() > 2000 {
			t.Errorf("%s: %v %v", e, fi, err)
		}
	}
	// A file that is taken away shows, and so does what was done in one.
	oldest, middle := filepath.Join(dir, AuditFile+".4"), filepath.Join(dir, AuditFile+".2")
	for _, tt := range []struct {
		path, want string
		data       func([]byte) []byte
	}{
		{oldest, "missing before line", nil},
		{middle, "missing before line", nil},
		{middle, "was edited", func(b []byte) []byte { return bytes.Replace(b, []byte(`"code":0`), []byte(`"code":1`), 1) }},
	} {
		old, err := os.ReadFile(tt.path)
		if err != nil {
			t.Fatal(err)
		}
		if tt.data == nil {
			err = os.Remove(tt.path)
		} else {
			err = os.WriteFile(tt.path, tt.data(old), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if v := verdict(t, dir); v.Fault == nil || !strings.Contains(v.Fault.What, tt.want) {
			t.Errorf("%+v, want %q", v.Fault, tt.want)
		}
		put(t, tt.path, string(old))
	}
	// A crash after the oldest was struck from the head, and one among the names.
	_, h, err := ReadAudit(dir)
	if err != nil {
		t.Fatal(err)
	}
	file := func(n int) string { return fmt.Sprintf("%s.%d", filepath.Join(dir, AuditFile), n) }
	next := AuditLines("", []byte(linesOf(t, file(3))[0]))[0]
	if !next.OK {
		t.Fatal("no line")
	}
	h.First, h.Before, h.Size = next.Seq, next.Prev, 0
	put(t, filepath.Join(dir, HeadFile), h.String())
	for range 2 {
		if v := verdict(t, dir); v.Fault != nil {
			t.Errorf("%+v", v.Fault)
		}
		if err := os.Rename(file(3), file(4)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	for range 20 {
		add()
		if v := verdict(t, dir); v.Fault != nil || len(v.Notes) != 0 {
			t.Fatalf("%+v %+v", v, v.Fault)
		}
	}
}

// The lines are JSON, and nothing in them can drive a terminal.
func TestAuditLine(t *testing.T) {
	now := time.Now()
	evil := "a\x1b]0;x\x07\u009b31m\u202e\"\\\n\U0001f600\U000e0041\u00e4"
	for _, e := range []Event{
		{Seq: 1, Prev: NoLine, Time: now, Type: EventExit},
		{
			Seq: 7, Prev: NoLine, Time: now, Type: EventRefused, Run: "r", Profile: evil, Scope: "local", Path: evil, Digest: "d", Command: evil, Program: evil, Args: 3,
			Cwd: evil, Network: "off", Allow: []string{"a", evil}, Host: evil, Count: 2, Code: 3, Signal: "SIGTERM", Millis: 12, Reason: evil, Torn: 4, TornSum: "x", Lost: LostHead,
		},
	} {
		line := Line(e)
		var back Event
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		back.Time = e.Time
		if !reflect.DeepEqual(back, e) {
			t.Errorf("%+v\nwant %+v", back, e)
		}
		for _, r := range string(line) {
			if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u202e' || r == 0xe0041 {
				t.Errorf("%q in %s", r, line)
			}
		}
		if back := AuditLines("", append(line, '\n'))[0]; !back.OK || back.Seq != e.Seq || back.Prev != e.Prev {
			t.Errorf("%+v", back)
		}
	}
	dir := written(t, 0)
	if err := Append(dir, Event{Type: EventRefused, Reason: "\xff" + strings.Repeat("\u00e4", MaxText)}); err != nil {
		t.Fatal(err)
	}
	if l := linesOf(t, filepath.Join(dir, AuditFile))[0]; !json.Valid([]byte(l)) || len(l) > MaxText+400 {
		t.Errorf("%d bytes: %.80s", len(l), l)
	}
}

// No log is whole; a head without lines is one that was just made.
func TestNoAudit(t *testing.T) {
	dir := t.TempDir()
	if v := verdict(t, dir); v.Fault != nil || v.Lines != 0 {
		t.Errorf("%+v", v)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("looking left %v (%v)", entries, err)
	}
}

func BenchmarkAudit(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "logs")
	e := Event{Type: EventStart, Run: "20260101-000000-abcdef", Profile: "p", Path: "/home/u/p.toml", Digest: NoLine, Command: "claude", Program: "/usr/bin/claude", Cwd: "/home/u/src"}
	for b.Loop() {
		if err := Append(dir, e); err != nil {
			b.Fatal(err)
		}
	}
}
