package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// The notifying filter tells of the calls of its table, on every machine, and of
// no other; an unknown machine passes, for the box's own filter to judge.
func TestNotify(t *testing.T) {
	for _, goarch := range []string{"amd64", "arm64", "386", "arm"} {
		f, err := Notify(goarch)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range machines(goarch) {
			told := 0
			for nr := range uint32(480) {
				got, err := run(f, m.audit, nr, [6]uint64{})
				if err != nil {
					t.Fatal(err)
				}
				c, ok := Notified(goarch, m.audit, int32(nr))
				if want := map[bool]uint32{true: retNotify, false: retAllow}[ok]; got != want {
					t.Errorf("%s arch %#x nr %d (%s): %#x, want %#x", goarch, m.audit, nr, c.Name, got, want)
				}
				if ok {
					told++
				}
			}
			if told < 15 {
				t.Errorf("%s arch %#x: tells of %d calls only", goarch, m.audit, told)
			}
		}
		if got, err := run(f, 0x1234, 2, [6]uint64{}); err != nil || got != retAllow {
			t.Errorf("another machine: %#x %v", got, err)
		}
	}
	if _, err := Notify("riscv64"); err == nil {
		t.Error("a filter for a machine without numbers")
	}
	if c, ok := Notified("amd64", 0xc000003e, 257); !ok || c.Name != "openat" || c.Dir != 0 || c.Path != 1 || c.Flags != 2 || unix.SYS_OPENAT <= 0 {
		t.Errorf("%+v %v", c, ok)
	}
}
