// Package seccomp builds the filter of system calls of a box (seccomp(2)), as
// the bytes bwrap takes.
//
// It promises that the calls of its rules are refused with the errno given
// there, by every way into the kernel a program has: the architecture is looked
// at first, so the 32-bit entry of the same machine has rules of its own (int 0x80
// reaches TIOCSTI too), x32 has none of its calls, and any other architecture
// none at all.
//
// What it does not: it is a list of what is refused, and a call that is not on it
// passes. Arguments behind pointers cannot be seen. Programs of 32-bit x86 that
// make sockets through socketcall make none.
//
// The filter is a classic BPF program (linux/filter.h): one block per
// architecture, in it a search for the call. Linux since 5.11 remembers for which
// calls it always says yes, and does not run it for them.
package seccomp

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// Options say which filter.
type Options struct {
	Arch       string // GOARCH of the machine
	Containers bool   // may make user namespaces and mount in them
}

// What a filter sees: offsets into struct seccomp_data.
const (
	offNr   = 0
	offArch = 4
	offArgs = 16 // 8 bytes each, the low half first on every machine below
)

// Answers.
const (
	retAllow = 0x7fff0000
	retErrno = 0x00050000
)

const (
	enosys = 38
	// x32 is set in the numbers of x32 calls. On amd64, every number from here on is refused,
	// except noCall.
	x32 = 0x40000000
	// noCall is the number -1, to which a tracer changes a call in order to skip it.
	noCall = 0xffffffff
)

// machine is one way into the kernel: the value of its architecture
// (linux/audit.h) and its column of numbers.
type machine struct {
	audit  uint32
	column int
}

func machines(goarch string) []machine {
	x86, arm32 := machine{0x40000003, i386}, machine{0x40000028, arm}
	switch goarch {
	case "amd64":
		return []machine{{0xc000003e, amd64}, x86}
	case "386":
		return []machine{x86}
	case "arm64":
		return []machine{{0xc00000b7, arm64}, arm32}
	case "arm":
		return []machine{arm32}
	}
	return nil
}

// Known reports whether there are filters for an architecture.
func Known(goarch string) bool { return len(machines(goarch)) > 0 }

// Filter returns the filter, instructions of struct sock_filter one after the
// other.
func Filter(o Options) ([]byte, error) {
	all := machines(o.Arch)
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no system call filter for %s", o.Arch)
	}
	list, table := rules(o), numbers()
	code := []instruction{load(offArch)}
	for _, m := range all {
		code = append(code, m.only(m.block(list, table))...)
	}
	return assemble(append(code, refuse(enosys))), nil
}

// only returns a block that is skipped for calls of other machines.
func (m machine) only(block []instruction) []instruction {
	return append([]instruction{equal(m.audit, 1, 0), jump(len(block))}, block...)
}

func assemble(code []instruction) []byte {
	var out []byte
	for _, i := range code {
		out = binary.LittleEndian.AppendUint16(out, i.op)
		out = append(out, i.yes, i.no)
		out = binary.LittleEndian.AppendUint32(out, i.k)
	}
	return out
}

// block answers every call of one machine.
func (m machine) block(all []rule, table map[string][4]int32) []instruction {
	var steps []step
	done := map[string]bool{}
	for i, r := range all {
		nr := table[r.call][m.column]
		if nr < 0 || done[r.call] {
			continue
		}
		answer := r.code()
		if len(r.tests) > 0 {
			done[r.call] = true
			for _, same := range all[i+1:] {
				if same.call == r.call {
					answer = append(answer, same.code()...)
				}
			}
			answer = append(answer, allow())
		}
		steps = append(steps, step{uint32(nr), answer})
	}
	code := []instruction{load(offNr)}
	if m.column == amd64 {
		code = append(code, atLeast(x32, 0, 2), equal(noCall, 1, 0), refuse(enosys))
	}
	return append(code, sorted(steps)...)
}

// sorted looks for the call among steps in any order.
func sorted(steps []step) []instruction {
	slices.SortFunc(steps, func(x, y step) int { return cmp.Compare(x.nr, y.nr) })
	return choose(nil, steps)
}

// step is the answer to one call.
type step struct {
	nr   uint32
	code []instruction
}

// choose halves the calls until there are few: linear, a call that nobody
// refuses would be compared with all of them, by the kernel too when it finds
// out which calls those are.
func choose(code []instruction, steps []step) []instruction {
	if len(steps) > 4 {
		half, over := len(steps)/2, len(code)+2
		code = choose(append(code, atLeast(steps[half].nr, 0, 1), jump(0)), steps[:half])
		code[over-1] = jump(len(code) - over)
		return choose(code, steps[half:])
	}
	for _, s := range steps {
		code = append(code, equal(s.nr, 0, uint8(len(s.code))))
		code = append(code, s.code...)
	}
	return append(code, allow())
}

// code answers when all tests hold, and otherwise falls out of its end.
func (r rule) code() []instruction {
	code := []instruction{refuse(uint32(r.errno))}
	for i := len(r.tests) - 1; i >= 0; i-- {
		code = append(r.tests[i].code(len(code)), code...)
	}
	return code
}

// code returns the instructions of the test. When it does not hold, they skip the rest instructions
// that follow.
func (t test) code(rest int) []instruction {
	code := []instruction{load(offArgs + 8*uint32(t.arg))}
	n := len(t.values)
	for i, v := range t.values {
		left := uint8(n - 1 - i) // instructions of this test still to come
		last := i == n-1
		switch t.op {
		case isOneOf: // found: go on; not the last: look further
			no := uint8(0)
			if last {
				no = uint8(rest)
			}
			code = append(code, equal(v, left, no))
		case isNoneOf:
			code = append(code, equal(v, left+uint8(rest), 0))
		case hasAny:
			code = append(code, anyBit(v, 0, uint8(rest)))
		}
	}
	return code
}

// instruction is struct sock_filter. Jumps are counted from the next one.
type instruction struct {
	op      uint16
	yes, no uint8
	k       uint32
}

// Operations of linux/bpf_common.h.
func load(offset uint32) instruction { return instruction{op: 0x20, k: offset} }    // LD W ABS
func jump(n int) instruction         { return instruction{op: 0x05, k: uint32(n)} } // JMP JA
func allow() instruction             { return instruction{op: 0x06, k: retAllow} }  // RET K
func refuse(errno uint32) instruction {
	return instruction{op: 0x06, k: retErrno | errno}
}
func equal(v uint32, yes, no uint8) instruction   { return instruction{0x15, yes, no, v} } // JMP JEQ K
func atLeast(v uint32, yes, no uint8) instruction { return instruction{0x35, yes, no, v} } // JMP JGE K
func anyBit(v uint32, yes, no uint8) instruction  { return instruction{0x45, yes, no, v} } // JMP JSET K
