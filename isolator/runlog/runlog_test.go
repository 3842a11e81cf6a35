package runlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func begin(t *testing.T, dir, id string) *Run {
	t.Helper()
	f, err := Make(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	r, err := f.Begin(Start{Run: id, Profile: "p"})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func names(n int) string { return fmt.Sprintf("20260101-%06d-abcdef", n) }

func TestFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	open, real, link := filepath.Join(dir, "open"), filepath.Join(dir, "real"), filepath.Join(dir, "link")
	for _, d := range []string{open, real} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(open, 0o777), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		strict bool
		want   string
	}{
		{open, true, "others can write it"},
		{open, false, "others can write it"},
		{link, true, `"link" on the way to it is a link`},
		{link + "/logs", true, `"link" on the way to it is a link`},
		{link + "/logs", false, ""},
		{real + "/logs/x", true, ""},
		{"logs", true, "not an absolute path"},
	} {
		f, err := Make(c.path, c.strict)
		if err == nil {
			f.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
}

func TestTidyRemovesTheOldest(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	live := begin(t, dir, names(0))
	defer live.Close()
	for i := 1; i <= 6; i++ {
		r := begin(t, dir, names(i))
		if err := os.WriteFile(filepath.Join(r.Path(), OutputFile), make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(r.End(End{}), r.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	left := func() string {
		entries, _ := os.ReadDir(dir)
		var out []string
		for _, e := range entries {
			out = append(out, strings.TrimPrefix(strings.TrimSuffix(e.Name(), "-abcdef"), "20260101-00000"))
		}
		return strings.Join(out, " ")
	}
	f, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	last := begin(t, dir, names(7))
	defer last.Close()
	if err := last.Tidy(0, time.Since(time.Date(2026, 1, 1, 0, 0, 1, 500e6, time.Local))); err != nil || left() != "0 2 3 4 5 6 7 mine" {
		t.Errorf("after a run that leaves little, what is too old goes: %q %v", left(), err)
	}
	for _, c := range []struct {
		runs  int
		total int64
		keep  time.Duration
		want  string
	}{
		{100, 1 << 20, 0, "0 2 3 4 5 6 7 mine"},
		{100, 1 << 20, time.Until(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)), "0 2 3 4 5 6 7 mine"},
		{5, 1 << 20, 0, "0 3 4 5 6 7 mine"},
		{100, 4500, 0, "0 4 5 6 7 mine"},
		{100, 1 << 20, time.Since(time.Date(2026, 1, 1, 0, 0, 4, 500e6, time.Local)), "0 5 6 7 mine"},
		{0, 0, 0, "0 7 mine"},
	} {
		ids, err := f.Runs()
		if err != nil {
			t.Fatal(err)
		}
		if err := f.tidy(ids, c.runs, c.total, c.keep); err != nil || left() != c.want {
			t.Errorf("%d runs, %d bytes: %q %v, want %q", c.runs, c.total, left(), err, c.want)
		}
	}
}

// pieces cuts text at random places, within characters too.
func pieces(text []byte) [][]byte {
	var out [][]byte
	for len(text) > 0 {
		n := min(len(text), 1+rand.IntN(7))
		out, text = append(out, text[:n]), text[n:]
	}
	return out
}

func TestSecretsAreNotKept(t *testing.T) {
	env := []string{"API_KEY=sk-123456789", "API_KEY_2=sk-1234567890", "OTHER=visible-text", "TOKEN=short", "EMPTY_TOKEN="}
	secrets := Secrets(env, func(name string) bool { return strings.Contains(name, "KEY") || strings.Contains(name, "TOKEN") })
	secrets = append(secrets, "abcdefabc")
	text := []byte("a sk-123456789 b sk-1234567890 c sk-12345 short visible-text abcdefabcdefabc sk-sk-1234567890sk-12345678")
	const want = "a *** b *** c sk-12345 short visible-text ***defabc sk-***sk-12345678"
	for range 200 {
		r := redactor{secrets: ordered(secrets)}
		var got []byte
		for _, p := range pieces(text) {
			got = append(got, r.pass(p, false)...)
		}
		if got = append(got, r.pass(nil, true)...); string(got) != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}

// TestSecretsOfSeveralLines finds a key as a terminal shows it, and a value without the end of
// line that it has in the environment.
func TestSecretsOfSeveralLines(t *testing.T) {
	const key = "-----BEGIN KEY-----\nAAAABBBBCCCC\n-----END KEY-----\n"
	for name, shown := range map[string]string{
		"through a pipe": key, "on a terminal": strings.ReplaceAll(key, "\n", "\r\n"), "without its end": strings.TrimSpace(key),
	} {
		r := redactor{secrets: ordered([]string{key})}
		got := string(append(r.pass([]byte("x "+shown), false), r.pass(nil, true)...))
		if strings.TrimSpace(got) != "x ***" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestOutputIsCutAtItsLimit(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		r := begin(t, t.TempDir()+"/logs", names(1))
		c := r.Output(Header{}, nil)
		if recorded {
			var err error
			if c, err = r.Cast(Header{Width: 1, Height: 1}, time.Now(), nil); err != nil {
				t.Fatal(err)
			}
		}
		line := []byte(strings.Repeat("x", 1023) + "\n")
		const lines = MaxOutput/1024 + 1000
		for range lines {
			c.Output(line)
		}
		got, err := c.Close()
		if err != nil || !got.Cut || got.Seen != lines*1024 || got.Kept > MaxOutput {
			t.Errorf("%+v, %v", got, err)
		}
		data, _ := os.ReadFile(filepath.Join(r.Path(), got.File))
		if int64(len(data)) != got.Kept || len(data) == 0 || data[len(data)-1] != '\n' {
			t.Errorf("recorded %v: %d bytes, Kept %d", recorded, len(data), got.Kept)
		}
		_ = r.Close()
	}
}

// A disk that takes no more costs the program nothing.
func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	r := begin(t, t.TempDir()+"/logs", names(1))
	defer r.Close()
	c := r.Output(Header{}, nil)
	c.open = func() (*os.File, error) { return full, nil }
	for range 100 {
		c.Output([]byte("text"))
	}
	got, err := c.Close()
	if err == nil || got.Error != syscall.ENOSPC.Error() || !got.Cut || got.Seen != 400 {
		t.Errorf("%+v, %v", got, err)
	}
	c = r.Output(Header{}, nil)
	c.open = func() (*os.File, error) { return nil, fs.ErrPermission }
	c.Output([]byte("text"))
	if got, err := c.Close(); err == nil || got.Error == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// The sizes of a terminal are in what it was shown.
func TestSizes(t *testing.T) {
	r := begin(t, t.TempDir()+"/logs", names(1))
	defer r.Close()
	c := r.Output(Header{Width: 80, Height: 24}, nil)
	c.Resize(24, 80)
	c.Resize(25, 90)
	c.Output([]byte("text"))
	c.Resize(25, 90)
	c.Resize(30, 100)
	if _, err := c.Close(); err != nil {
		t.Error(err)
	}
	data, err := os.ReadFile(filepath.Join(r.Path(), OutputFile))
	if err != nil || string(data) != "\x1b[8;25;90ttext\x1b[8;30;100t" {
		t.Errorf("%q %v", data, err)
	}
	if c, err := r.Output(Header{Width: 80, Height: 24}, nil).Close(); c != nil || err != nil {
		t.Errorf("without output: %+v %v", c, err)
	}
}

// The lines are those of encoding/json.
func TestLines(t *testing.T) {
	now := time.Now()
	for _, s := range []Start{
		{Event: "start", Time: now},
		{"start", now, "r", "v1", 7, "p \"q\\", "/\x01\u00e4\xff", "local", "d", "c", "/p", 3, "/c", "/w", "/pr", "off", []string{"a", "b"}, []string{"claude"}, true},
	} {
		compareLine(t, line(s), s)
	}
	for _, e := range []End{
		{Event: "end", Time: now},
		{"end", now, 3, "SIGTERM", true, []string{"memory limit 2 GiB reached"}, 12, map[string]int{"pip": 2, "a\"b": 1}, []Host{{Host: "a.test", Port: 443, Origin: "network_allow", Allowed: 1, Refused: 2, Failed: 3, Up: 4, Down: 5, Plain: true, Reason: "r"}, {Host: "b.test", Port: 80, Refused: 1}}, 7, &Captured{"output.log", 1, 2, true, "e"}, &Changes{[]string{"/a", "/b"}, []string{"/c"}, 4, true}, []string{"/m"}, []string{"/n"}, []Ref{{"/r", "refs/heads/a", "1", "2"}, {Repo: "/r", Ref: "refs/tags/b", Old: "1"}}, 8, []string{"host:a"}},
		{Event: "end", Changes: &Changes{}, Output: &Captured{}},
	} {
		compareLine(t, line(e), e)
	}
}

func compareLine(t *testing.T, got []byte, v any) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	// The same value, not the same escapes.
	var a, b any
	if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want, &b)); err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%s\nwant %s (%v)", got, want, err)
	}
}

func TestFolders(t *testing.T) {
	home := filepath.Join(t.TempDir(), "logs")
	for _, f := range []string{"/a", home, "/b", "/a"} {
		if err := Remember(home, f); err != nil {
			t.Fatal(err)
		}
	}
	if got := Folders(home); !slices.Equal(got, []string{home, "/a", "/b"}) {
		t.Errorf("%q", got)
	}
}

func TestIsRun(t *testing.T) {
	for name, want := range map[string]bool{
		"20260730-120000-0af9c3": true, "": false, "20260730-120000-0aF9c3": false, "20260730-120000-0af9c": false,
		"20260730_120000-0af9c3": false, "../../..-120000-0af9c3": false, "2026073a-120000-0af9c3": false,
	} {
		if isRun(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

func BenchmarkCapture(b *testing.B) {
	for _, recorded := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorded=%v", recorded), func(b *testing.B) {
			c := &Capture{cast: recorded, redact: redactor{secrets: ordered([]string{"some-secret-value"})}}
			p := []byte(strings.Repeat("the quick brown fox \x1b[31m\u00e4\x1b[m\r\n", 130))[:4096]
			b.SetBytes(int64(len(p)))
			for b.Loop() {
				_ = c.output(p, false)
			}
		})
	}
}

// What a run pays for its record, when nothing is captured.
func BenchmarkRecord(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "logs")
	i := 0
	for b.Loop() {
		f, err := Make(dir, false)
		if err != nil {
			b.Fatal(err)
		}
		i++
		r, err := f.Begin(Start{Run: fmt.Sprintf("20260101-%06d-abcdef", i)})
		if err != nil {
			b.Fatal(err)
		}
		c := r.Output(Header{}, nil)
		if _, err := c.Close(); err != nil {
			b.Fatal(err)
		}
		if err := errors.Join(r.End(End{}), r.Tidy(0, 0), r.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
