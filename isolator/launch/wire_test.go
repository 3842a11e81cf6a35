package launch

import (
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
)

func TestSpecRoundTrip(t *testing.T) {
	in := &spec{
		Full: true, Ptys: 2, Stdio: [3]uint8{1, 0, 2}, Ignored: 1<<63 | 3,
		Winsize: [maxPtys]unix.Winsize{{Row: 1, Col: 2, Xpixel: 3, Ypixel: 65535}, {Row: 9}},
		Termios: unix.Termios{Iflag: 1, Oflag: 2, Cflag: 3, Lflag: 1 << 31, Line: 5, Ispeed: 6, Ospeed: 7},
		Program: "/bin/x", Dir: "/a b\nc", Argv: []string{"", "\xff", "x"}, Env: []string{"A=b"},
		Landlock: &plan.Landlock{Signals: true, Writes: true, Writable: []string{"/a", "/b c"}, Files: true, Readable: []string{"/usr"}},
		Listen:   []uint16{61080, 1}, Dispense: true, Observe: true, Trial: true,
		Fills: []plan.Fill{{Dest: "/x y", Room: 1 << 40}, {Dest: "/z", Room: 4096}}, FillFD: 11,
		Rlimits:   limits.Values{Files: 64, FileSize: 1 << 40, Pids: 7},
		Container: &containerSpec{Engine: "podman", Mounts: []plan.ContainerMount{{Path: "/a b", Write: true}, {Path: "/t", Tmpfs: true}}, Filter: []byte{1, 0, 255}, UID: 1000, NoNet: true},
	}
	in.Termios.Cc[unix.VINTR] = 3
	out, err := decodeSpec(in.encode())
	if err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("got %+v, %v", out, err)
	}
	b := in.encode()
	for i := range b {
		if _, err := decodeSpec(b[:i]); err == nil {
			t.Errorf("accepted when cut at %d of %d", i, len(b))
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add((&spec{Argv: []string{"a"}, Env: []string{"B=c"}}).encode())
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = decodeSpec(b) })
}

// Whatever arrives on the socket, the launcher neither fails nor believes in
// an end before a start, and keeps no descriptor it did not ask for.
func TestHostileMessages(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[1])
	null, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	before := openFiles(t)
	s := &session{sock: pair[0], errPipe: -1, wakeR: -1, wakeW: -1, pid: -1, pidfd: -1, real: tty{fd: -1}, ptys: []int{1}, released: true}
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		msg := make([]byte, r.IntN(maxMessage+100)+1)
		for i := range msg {
			msg[i] = byte(r.Uint32())
		}
		msg[0] = "RXMEELNxyz\x00"[r.IntN(11)] // all but start and stop
		var fds []int
		for range r.IntN(4) {
			fds = append(fds, int(null.Fd()))
		}
		if err := sendMsg(pair[1], msg, fds...); err != nil {
			t.Fatal(err)
		}
		s.readMessages()
	}
	if s.started || s.ended || len(s.relays) > 0 {
		t.Errorf("believed: %+v", s)
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
	if err := sendMsg(pair[1], []byte{msgEnded, 0, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	s.readMessages()
	if s.ended {
		t.Error("ended without having started")
	}
	s.closeSock()
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestCleanLine(t *testing.T) {
	for in, want := range map[string]string{
		" text\n":                "text",
		"a\x1b[31mb\r\nc\x00":    `a\x1b[31mb\x0d\x0ac\x00`,
		"\u009b31m":              `\u009b31m`,
		"caf\xe9":                `caf\xe9`,
		strings.Repeat("é", 900): strings.Repeat("é", 200) + "...",
	} {
		if got := cleanLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBwrapReason(t *testing.T) {
	for in, want := range map[string]string{
		"bwrap: No permissions to create new namespace\n":       "No permissions to create new namespace",
		"ld.so: warning\nbwrap: Can't find source path /x: y\n": "Can't find source path /x: y",
		"something else\n\n": "something else",
		"":                   "bwrap ended with code 0 and no message",
	} {
		if got := bwrapReason([]byte(in), 0); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := bwrapReason(nil, 9); got != "bwrap was killed by signal 9 (killed)" {
		t.Errorf("%q", got)
	}
}
