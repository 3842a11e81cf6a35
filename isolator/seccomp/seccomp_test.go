package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// run interprets a filter as the kernel does, refusing what its checker would
// (kernel/seccomp.c, net/core/filter.c).
func run(filter []byte, arch, nr uint32, args [6]uint64) (uint32, error) {
	var data [64]byte
	binary.LittleEndian.PutUint32(data[0:], nr)
	binary.LittleEndian.PutUint32(data[4:], arch)
	for i, a := range args {
		binary.LittleEndian.PutUint64(data[16+8*i:], a)
	}
	n := len(filter) / 8
	if len(filter)%8 != 0 || n == 0 || n > 4096 { // BPF_MAXINSNS
		return 0, fmt.Errorf("%d bytes", len(filter))
	}
	var a uint32
	for pc := 0; pc < n; {
		i := filter[8*pc:]
		op, yes, no, k := binary.LittleEndian.Uint16(i), int(i[2]), int(i[3]), binary.LittleEndian.Uint32(i[4:])
		pc++
		when := func(cond bool) {
			if cond {
				pc += yes
			} else {
				pc += no
			}
		}
		switch op {
		case 0x20: // ld [k]
			if k%4 != 0 || k > 60 {
				return 0, fmt.Errorf("load of %d", k)
			}
			a = binary.LittleEndian.Uint32(data[k:])
		case 0x05:
			pc += int(k)
		case 0x15:
			when(a == k)
		case 0x35:
			when(a >= k)
		case 0x45:
			when(a&k != 0)
		case 0x06:
			return k, nil
		default:
			return 0, fmt.Errorf("operation %#x", op)
		}
	}
	return 0, fmt.Errorf("ran out of its end")
}

const (
	x64  = 0xc000003e
	x86  = 0x40000003
	a64  = 0xc00000b7
	a32  = 0x40000028
	mips = 0x40000008
)

func arg(n int, v uint64) (a [6]uint64) { a[n] = v; return a }

func two(v0, v2 uint64) [6]uint64 { return [6]uint64{v0, 0, v2} }

// what names an answer.
func what(v uint32) string {
	switch {
	case v == retAllow:
		return "allow"
	case v&0xffff0000 == retErrno:
		return map[uint32]string{1: "EPERM", 38: "ENOSYS", 93: "EPROTONOSUPPORT", 97: "EAFNOSUPPORT"}[v&0xffff]
	}
	return fmt.Sprintf("%#x", v)
}

// Numbers are written out: they are from the kernel's tables, not from ours.
func TestFilter(t *testing.T) {
	const high = 1 << 32
	for _, c := range []struct {
		name     string
		arch, nr uint32
		args     [6]uint64
		// the answers of the default filter, and that of containers
		def, containers string
	}{
		{"read", x64, 0, arg(0, 5), "allow", "allow"},
		{"read of 386", x86, 3, arg(0, 5), "allow", "allow"},
		{"TIOCSTI", x64, 16, arg(1, 0x5412), "EPERM", "EPERM"},
		{"TIOCSTI with a high bit", x64, 16, arg(1, high|0x5412), "EPERM", "EPERM"},
		{"TIOCLINUX with high bits", x64, 16, arg(1, 0xffffffff00000000|0x541c), "EPERM", "EPERM"},
		{"TIOCSTI by int 0x80", x86, 54, arg(1, 0x5412), "EPERM", "EPERM"},
		{"TIOCSTI in another argument", x64, 16, arg(2, 0x5412), "allow", "allow"},
		{"TCGETS", x64, 16, arg(1, 0x5401), "allow", "allow"},
		{"TCGETS of 386", x86, 54, arg(1, 0x5401), "allow", "allow"},
		{"x32 ioctl", x64, 0x40000000 + 514, arg(1, 0x5401), "ENOSYS", "ENOSYS"},
		{"x32 read", x64, 0x40000000, arg(0, 5), "ENOSYS", "ENOSYS"},
		{"beyond x32", x64, 0x80000000, arg(0, 5), "ENOSYS", "ENOSYS"},
		{"skipped by a tracer", x64, 0xffffffff, arg(0, 5), "allow", "allow"},
		{"another machine", mips, 0, arg(0, 5), "ENOSYS", "ENOSYS"},
		{"a machine that is not there", a64, 0, arg(0, 5), "ENOSYS", "ENOSYS"},
		{"keyctl", x64, 250, arg(0, 1), "ENOSYS", "ENOSYS"},
		{"keyctl of 386", x86, 288, arg(0, 1), "ENOSYS", "ENOSYS"},
		{"io_uring_setup", x64, 425, arg(0, 1), "ENOSYS", "ENOSYS"},
		{"bpf", x64, 321, arg(0, 1), "EPERM", "EPERM"},
		{"clone of a thread", x64, 56, arg(0, 0x3d0f00), "allow", "allow"},
		{"clone of a user namespace", x64, 56, arg(0, 0x10000011), "EPERM", "allow"},
		{"clone of a user namespace, 386", x86, 120, arg(0, 0x10000011), "EPERM", "allow"},
		{"clone3", x64, 435, arg(0, 1), "ENOSYS", "allow"},
		{"unshare of files", x64, 272, arg(0, 0x400), "allow", "allow"},
		{"unshare of the user", x64, 272, arg(0, high|0x10000000), "EPERM", "allow"},
		{"mount", x64, 165, arg(0, 1), "EPERM", "allow"},
		{"umount of 386", x86, 22, arg(0, 1), "EPERM", "allow"},
		{"chmod 755", x64, 90, arg(1, 0o755), "allow", "allow"},
		{"chmod g+s", x64, 90, arg(1, 0o2755), "allow", "allow"},
		{"chmod u+s", x64, 90, arg(1, 0o4755), "EPERM", "allow"},
		{"chmod u+s of 386", x86, 15, arg(1, 0o4755), "EPERM", "allow"},
		{"fchmod u+s, a high bit", x64, 91, arg(1, high|0o4700), "EPERM", "allow"},
		{"fchmodat u+s", x64, 268, arg(2, 0o4755), "EPERM", "allow"},
		{"fchmodat of the descriptor 0o4000", x64, 268, arg(1, 0o4000), "allow", "allow"},
		{"fchmodat2 u+s", x64, 452, arg(2, 0o6755), "EPERM", "allow"},
		{"fsopen", x64, 430, arg(0, 1), "ENOSYS", "allow"},
		{"unix socket", x64, 41, two(1, 0), "allow", "allow"},
		{"inet socket", x64, 41, two(2, 6), "allow", "allow"},
		{"inet6 socket of 386", x86, 359, two(10, 6), "allow", "allow"},
		{"vsock", x64, 41, two(40, 0), "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"vsock with a high bit", x64, 41, two(high|40, 0), "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"packet", x64, 41, two(17, 0), "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"a cipher of the kernel", x64, 41, two(38, 0), "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"netlink route", x64, 41, two(16, 0), "allow", "allow"},
		{"netlink netfilter", x64, 41, two(16, 12), "EPROTONOSUPPORT", "allow"},
		{"netlink audit, high bits", x64, 41, two(high|16, high|9), "EPROTONOSUPPORT", "allow"},
		{"inet with the number of netfilter", x64, 41, two(2, 12), "allow", "allow"},
		{"socketpair", x64, 53, two(1, 0), "allow", "allow"},
		{"socketpair of TIPC", x64, 53, two(30, 0), "EAFNOSUPPORT", "EAFNOSUPPORT"},
		{"socketcall: socket", x86, 102, arg(0, 1), "ENOSYS", "ENOSYS"},
		{"socketcall: connect", x86, 102, arg(0, 3), "allow", "allow"},
		{"personality: query", x64, 135, arg(0, 0xffffffff), "allow", "allow"},
		{"personality: plain", x64, 135, arg(0, 0), "allow", "allow"},
		{"personality: setarch i686", x64, 135, arg(0, 0x8), "allow", "allow"},
		{"personality: no randomisation", x64, 135, arg(0, 0x40000), "EPERM", "EPERM"},
		{"personality: setarch i686 -R", x64, 135, arg(0, 0x40008), "EPERM", "EPERM"},
		{"personality: readable is executable", x64, 135, arg(0, 0x400000), "EPERM", "EPERM"},
		{"ptrace", x64, 101, arg(0, 1), "allow", "allow"},
		{"ptrace of 386", x86, 26, arg(0, 1), "allow", "allow"},
		{"pidfd_getfd", x64, 438, arg(0, 1), "allow", "allow"},
		// 435 of one table is not clone3's by accident: 26 is msync here.
		{"msync", x64, 26, arg(0, 1), "allow", "allow"},
	} {
		for i, want := range []string{c.def, c.containers} {
			f, err := Filter(Options{Arch: "amd64", Containers: i == 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := run(f, c.arch, c.nr, c.args)
			if err != nil {
				t.Fatal(err)
			}
			if what(got) != want {
				t.Errorf("%s, filter %d: %s, want %s", c.name, i, what(got), want)
			}
		}
	}
	for _, c := range []struct {
		name     string
		arch, nr uint32
		args     [6]uint64
		want     string
	}{
		{"read", a64, 63, arg(0, 1), "allow"},
		{"TIOCSTI", a64, 29, arg(1, 0x5412), "EPERM"},
		{"TIOCSTI of 32 bits", a32, 54, arg(1, 0x5412), "EPERM"},
		{"clone of a user namespace", a64, 220, arg(0, 0x10000011), "EPERM"},
		{"fchmodat u+s", a64, 53, arg(2, 0o4755), "EPERM"},
		{"fchmod u+s of 32 bits", a32, 94, arg(1, 0o4755), "EPERM"},
		{"vsock", a64, 198, two(40, 0), "EAFNOSUPPORT"},
		{"x86 has no place here", x64, 0, arg(0, 1), "ENOSYS"},
		{"a number as large as x32's, of 32 bits", a32, 0x40000000, arg(0, 1), "allow"},
	} {
		f, err := Filter(Options{Arch: "arm64"})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := run(f, c.arch, c.nr, c.args); err != nil || what(got) != c.want {
			t.Errorf("arm64, %s: %s, %v, want %s", c.name, what(got), err, c.want)
		}
	}
	if _, err := Filter(Options{Arch: "riscv64"}); err == nil || Known("riscv64") {
		t.Error("a filter for a machine nobody has looked at")
	}
}

// Every call that rules name is in the table of numbers, and every number names
// a call of some rule.
func TestNumbers(t *testing.T) {
	named := map[string]bool{}
	for _, r := range rules(Options{}) {
		named[r.call] = true
		if _, ok := numbers()[r.call]; !ok {
			t.Errorf("%s has no number", r.call)
		}
	}
	for name, row := range numbers() {
		if !named[name] {
			t.Errorf("%s is in no rule", name)
		}
		if slices.Max(row[:]) < 0 {
			t.Errorf("%s exists nowhere", name)
		}
	}
}

// reading is what a filter should say, read from the rules without any program.
type reading struct {
	o       Options
	rules   []rule
	numbers map[string][4]int32
}

func newReading(o Options) reading { return reading{o, rules(o), numbers()} }

func (r reading) answer(arch, nr uint32, args [6]uint64) uint32 {
	column := -1
	for _, m := range machines(r.o.Arch) {
		if m.audit == arch {
			column = m.column
		}
	}
	if column < 0 || (column == amd64 && nr >= 0x40000000 && nr != 0xffffffff) {
		return retErrno | 38
	}
	for _, r1 := range r.rules {
		if n := r.numbers[r1.call][column]; n < 0 || uint32(n) != nr {
			continue
		}
		all := true
		for _, x := range r1.tests {
			v := uint32(args[x.arg])
			switch x.op {
			case isOneOf:
				all = all && slices.Contains(x.values, v)
			case isNoneOf:
				all = all && !slices.Contains(x.values, v)
			case hasAny:
				all = all && v&x.values[0] != 0
			}
		}
		if all {
			return retErrno | uint32(r1.errno)
		}
	}
	return retAllow
}

func FuzzFilter(f *testing.F) {
	f.Add(uint8(0), uint32(x64), uint32(16), uint64(0), uint64(0x5412), uint64(0))
	f.Add(uint8(1), uint32(x86), uint32(54), uint64(0), uint64(1<<32|0x541c), uint64(0))
	f.Add(uint8(2), uint32(x64), uint32(41), uint64(16), uint64(3), uint64(12))
	f.Add(uint8(4), uint32(a64), uint32(198), uint64(40), uint64(3), uint64(12))
	f.Add(uint8(0), uint32(x64), uint32(135), uint64(0x40008), uint64(3), uint64(12))
	filters := map[Options][]byte{}
	f.Fuzz(func(t *testing.T, which uint8, arch, nr uint32, a0, a1, a2 uint64) {
		o := Options{Arch: []string{"amd64", "arm64", "386", "arm"}[which>>2&3], Containers: which&2 != 0}
		if filters[o] == nil {
			var err error
			if filters[o], err = Filter(o); err != nil {
				t.Fatal(err)
			}
		}
		if which&0x80 != 0 { // mostly calls that there are, of machines that there are
			arch = []uint32{x64, x86, a64, a32}[arch%4]
			nr %= 512
		}
		args := [6]uint64{a0, a1, a2}
		got, err := run(filters[o], arch, nr, args)
		if want := newReading(o).answer(arch, nr, args); err != nil || got != want {
			t.Errorf("%+v arch %#x nr %d args %#x: %s (%v), want %s", o, arch, nr, args, what(got), err, what(want))
		}
	})
}

// Every call of every machine, with arguments at the edges of the tests.
func TestEveryCall(t *testing.T) {
	var args [][6]uint64
	for _, v := range []uint64{0, 8, 16, 40, 0x5412, 0x541c, 0x40008, 0x10000000, 0xffffffff, 1<<32 | 1} {
		for _, w := range []uint64{4, 12} {
			args = append(args, [6]uint64{v, v, w})
		}
	}
	for _, goarch := range []string{"amd64", "arm64", "386", "arm"} {
		for bits := range 4 {
			o := Options{Arch: goarch, Containers: bits&2 != 0}
			f, err := Filter(o)
			if err != nil {
				t.Fatal(err)
			}
			r := newReading(o)
			for _, m := range machines(goarch) {
				want := map[uint32]bool{}
				for nr := range uint32(480) {
					for _, a := range args {
						got, err := run(f, m.audit, nr, a)
						if w := r.answer(m.audit, nr, a); err != nil || got != w {
							t.Fatalf("%+v arch %#x nr %d args %#x: %s (%v), want %s", o, m.audit, nr, a, what(got), err, what(w))
						}
						want[got] = true
					}
				}
				if len(want) < 4 {
					t.Errorf("%+v arch %#x: only %d kinds of answers", o, m.audit, len(want))
				}
			}
		}
	}
}

func BenchmarkFilter(b *testing.B) {
	for b.Loop() {
		if _, err := Filter(Options{Arch: "amd64"}); err != nil {
			b.Fatal(err)
		}
	}
}
