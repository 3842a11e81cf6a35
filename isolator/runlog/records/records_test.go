package records

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/enr/inner/isolator/runlog"
)

func begin(t *testing.T, dir, id string) *runlog.Run {
	t.Helper()
	f, err := runlog.Make(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Begin(runlog.Start{Run: id, Profile: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(n int) string { return fmt.Sprintf("20260101-%06d-abcdef", n) }

// pieces cuts text at random places, within characters too.
func pieces(text []byte) [][]byte {
	var out [][]byte
	for len(text) > 0 {
		n := min(len(text), 1+rand.IntN(7))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

func TestRecordOfARun(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "a", "logs")
	live, ended, dropped := begin(t, dir, names(4)), begin(t, dir, names(2)), begin(t, dir, names(1))
	defer live.Close()
	// What is left of a run when its owner is killed: no end, and no lock.
	if err := os.CopyFS(filepath.Join(dir, names(3)), os.DirFS(live.Path())); err != nil {
		t.Error(err)
	}
	c := ended.Output(runlog.Header{}, nil)
	c.Output([]byte("text"))
	got, err := c.Close()
	if err != nil || *got != (runlog.Captured{File: "output.log", Seen: 4, Kept: 4}) {
		t.Errorf("%+v, %v", got, err)
	}
	if err := errors.Join(ended.End(runlog.End{Code: 7, Output: got}), ended.Close(), dropped.Close()); err != nil {
		t.Error(err)
	}
	list, err := List([]string{dir, filepath.Join(dir, "none")})
	if err != nil {
		t.Error(err)
	}
	var states []string
	for _, r := range list {
		states = append(states, r.ID+" "+r.State)
	}
	want := []string{names(4) + " running", names(3) + " killed", names(2) + " ended"}
	if !slices.Equal(states, want) {
		t.Errorf("%q, want %q", states, want)
	}
	if r := list[2]; r.End.Code != 7 || r.Start.Profile != "p" || r.Size == 0 {
		t.Errorf("%+v", r)
	}
	for path, mode := range map[string]fs.FileMode{"": 0o700, names(2): 0o700, names(2) + "/run.jsonl": 0o600, names(2) + "/output.log": 0o600} {
		if fi, err := os.Lstat(filepath.Join(dir, path)); err != nil || fi.Mode().Perm() != mode {
			t.Errorf("%q: %v %v", path, fi.Mode(), err)
		}
	}
	if err := list[0].Remove(); err == nil {
		t.Error("a run that goes on was removed")
	}
	if err := list[1].Remove(); err != nil {
		t.Error(err)
	}
}

func TestRecording(t *testing.T) {
	text := []byte("plain \x1b[31mred\x1b[0m \"q\\\" \u00e4\u20ac\U0001f600 \x00\x7f\r\n\u2028 <&> the-secret-value end")
	for range 100 {
		r := begin(t, t.TempDir()+"/logs", names(1))
		c, err := r.Cast(runlog.Header{Width: 80, Height: 24, Env: map[string]string{"TERM": "x"}}, time.Now(), []string{"the-secret-value"})
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range pieces(text) {
			c.Output(p)
			if i == 3 {
				c.Resize(30, 100)
				c.Resize(30, 100)
			}
		}
		got, err := c.Close()
		if err != nil || got.Seen != int64(len(text)) || got.Cut {
			t.Fatalf("%+v, %v", got, err)
		}
		data, err := os.ReadFile(filepath.Join(r.Path(), runlog.CastFile))
		if err != nil || int64(len(data)) != got.Kept || !utf8.Valid(data) {
			t.Fatalf("%q %v", data, err)
		}
		var played strings.Builder
		sizes, last := 0, time.Duration(0)
		first := true
		err = ReadCast(bytes.NewReader(data), func(s CastEvent) error {
			if first && (s.Cols != 80 || s.Rows != 24) {
				t.Errorf("it begins with %+v", s)
			}
			first = false
			if s.When < last {
				t.Errorf("%v after %v", s.When, last)
			}
			last = s.When
			played.WriteString(s.Output)
			if s.Cols == 100 && s.Rows == 30 {
				sizes++
			}
			return nil
		})
		want := strings.Replace(string(text), "the-secret-value", "***", 1)
		if err != nil || sizes != 1 || played.String() != want {
			t.Fatalf("%d %q %v", sizes, played.String(), err)
		}
		_ = r.Close()
	}
}

// What is no text becomes text; a torn last line is passed over.
func TestBadRecordings(t *testing.T) {
	var out strings.Builder
	r := begin(t, t.TempDir()+"/logs", names(1))
	defer r.Close()
	c, err := r.Cast(runlog.Header{}, time.Now(), nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Output([]byte("a\xffb\xc3"))
	if _, err := c.Close(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(r.Path(), runlog.CastFile))
	if err != nil {
		t.Fatal(err)
	}
	err = ReadCast(bytes.NewReader(data), func(s CastEvent) error {
		out.WriteString(s.Output + "|")
		return nil
	})
	if got, want := out.String(), "|a\ufffdb|\ufffd|"; err != nil || got != want {
		t.Errorf("%q, want %q (%v)", got, want, err)
	}
	for text, want := range map[string]string{
		"": "the recording is empty", "{}": "not a recording (asciicast v2)", "[1]": "not a recording (asciicast v2)",
		"{\"version\":2}\n[0.1,\"o\",\"x\"]\n[0.2,\"o\",\"y":                                                  "x",
		"{\"version\":2}\n[\"a\",\"o\",\"x\"]\n[0.2,\"r\",\"wide\"]\n[0.2,\"m\",\"mark\"]\n[0.2,\"o\",\"y\"]": "y",
	} {
		var out strings.Builder
		err := ReadCast(strings.NewReader(text), func(s CastEvent) error {
			out.WriteString(s.Output)
			return nil
		})
		if err != nil {
			out.WriteString(err.Error())
		}
		if out.String() != want {
			t.Errorf("%q: %q, want %q", text, out.String(), want)
		}
	}
}

// What lies in a folder is not believed to be what it is called.
func TestNotWhatItIsCalled(t *testing.T) {
	real := t.TempDir()
	id := names(1)
	if err := errors.Join(os.Mkdir(filepath.Join(real, id), 0o700), os.Symlink("/etc/passwd", filepath.Join(real, id, runlog.RecordFile)), syscall.Mkfifo(filepath.Join(real, id, runlog.OutputFile), 0o600)); err != nil {
		t.Fatal(err)
	}
	list, err := List([]string{real})
	if err != nil || len(list) != 1 || list[0].State != Unknown {
		t.Errorf("%+v, %v", list, err)
	}
	if _, _, err := list[0].Output(); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a FIFO is no output: %v", err)
	}
}
