package wire

import (
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
)

func TestSpecRoundTrip(t *testing.T) {
	in := &Spec{
		Full: true, Ptys: 2, Stdio: [3]uint8{1, 0, 2}, Ignored: 1<<63 | 3,
		Winsize: [MaxPtys]unix.Winsize{{Row: 1, Col: 2, Xpixel: 3, Ypixel: 65535}, {Row: 9}},
		Termios: unix.Termios{Iflag: 1, Oflag: 2, Cflag: 3, Lflag: 1 << 31, Line: 5, Ispeed: 6, Ospeed: 7},
		Program: "/bin/x", Dir: "/a b\nc", Argv: []string{"", "\xff", "x"}, Env: []string{"A=b"},
		Landlock: &Landlock{Signals: true, Writes: true, Writable: []string{"/a", "/b c"}, Files: true, Readable: []string{"/usr"}},
		Listen:   []uint16{61080, 1}, Dispense: true, Observe: true, Trial: true,
		Fills: []Fill{{Dest: "/x y", Room: 1 << 40}, {Dest: "/z", Room: 4096}}, FillFD: 11,
		Rlimits:   limits.Values{Files: 64, FileSize: 1 << 40, Pids: 7},
		Container: &Container{Engine: "podman", Mounts: []ContainerMount{{Path: "/a b", Write: true}, {Path: "/t", Tmpfs: true}}, Filter: []byte{1, 0, 255}, UID: 1000, NoNet: true},
	}
	in.Termios.Cc[unix.VINTR] = 3
	out, err := DecodeSpec(in.Encode())
	if err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("got %+v, %v", out, err)
	}
	b := in.Encode()
	for i := range b {
		if _, err := DecodeSpec(b[:i]); err == nil {
			t.Errorf("accepted when cut at %d of %d", i, len(b))
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add((&Spec{Argv: []string{"a"}, Env: []string{"B=c"}}).Encode())
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = DecodeSpec(b) })
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
