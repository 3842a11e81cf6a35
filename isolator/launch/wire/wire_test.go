package wire

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
)

// What is said comes over as it was, and a piece of it is refused.
func TestRoundTrip(t *testing.T) {
	modes := unix.Termios{Iflag: 1, Oflag: 2, Cflag: 3, Lflag: 1 << 31, Line: 5, Ispeed: 6, Ospeed: 7}
	modes.Cc[unix.VINTR] = 3
	for _, c := range []struct{ in, out any }{
		{&Box{
			Shown:     []Shown{{Path: "/a", Dev: 1, Ino: 1 << 60}},
			Landlock:  &Landlock{Signals: true, Writes: true, Writable: []string{"/a", "/b c"}},
			Observe:   true,
			Terminals: Terminals{Sizes: []unix.Winsize{{Row: 1, Col: 2, Xpixel: 3, Ypixel: 65535}, {Row: 9}, {}}, Control: true, Modes: modes},
			Rlimits:   limits.Values{Files: 64, FileSize: 1 << 40, Pids: 7},
			Container: &Container{Engine: "podman", Mounts: []ContainerMount{{Path: "/a b", Write: true}, {Path: "/t", Tmpfs: true}}, Filter: []byte{1, 0, 255}, UID: 1000, NoNet: true},
		}, new(Box)},
		{&Job{
			Program: "/bin/x", Dir: "/a b\nc", DirElse: "/", Argv: []string{"", "\xff", "x"}, Env: []string{"A=b"},
			Ignored: 1<<63 | 3, Stdio: [3]uint8{1, 0, 2}, Waits: true, Alone: true, Trial: true,
		}, new(Job)},
	} {
		b := Encode(c.in)
		if err := Decode(b, c.out); err != nil || !reflect.DeepEqual(c.in, c.out) {
			t.Errorf("got %+v, %v", c.out, err)
		}
		for i := range b {
			if err := Decode(b[:i], c.out); err == nil {
				t.Errorf("accepted when cut at %d of %d", i, len(b))
			}
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add(Encode(&Box{Observe: true}))
	f.Add(Encode(&Job{Argv: []string{"a"}, Env: []string{"B=c"}}))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = Decode(b, new(Box)), Decode(b, new(Job))
	})
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		" text\n":                "text",
		"a\x1b[31mb\r\nc\x00":    `a\x1b[31mb\x0d\x0ac\x00`,
		"\u009b31m":              `\u009b31m`,
		"caf\xe9":                `caf\xe9`,
		strings.Repeat("é", 900): strings.Repeat("é", 200) + "...",
	} {
		if got := Line(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
