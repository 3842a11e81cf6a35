package launch

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

var errNoTerminal = errors.New("the program gets no terminal of its own, so that nobody could join it")

// A box changes terminals in this order:
//
//  1. the present terminal gets its modes back, and /dev/null takes its place under every
//     descriptor number that is it: whatever writes goes on, and nothing waits for it
//  2. the relay holds, between two control sequences
//  3. the old terminal is told what switches off the modes that the program set, the new
//     one what sets them, and the new one takes the place of /dev/null
//  4. the relay goes on, and the program draws again, since its size changes
type move struct {
	terminal int    // the new one, or -1 for none
	guest    int    // the connection that brought it, or -1
	old      int    // the present one, or -1
	had      int    // the connection that brought that, or -1
	words    string // for whoever has the present one
}

// lateAfter is how long the relay may take to hold until it is helped along.
const lateAfter = 100 * time.Millisecond

// goAway has the box go on without a terminal, when the one it has is gone.
func (s *session) goAway() {
	if s.join.away || s.join.moving != nil {
		return
	}
	s.moveTo(-1, -1, "")
}

// elsewhere reports whether the terminal that the box was started in is no longer the box's.
func (s *session) elsewhere() bool { return s.join.away || s.join.guest >= 0 }

// moveTo begins to exchange the terminal.
func (s *session) moveTo(terminal, guest int, words string) {
	s.endQuestion(0)
	m := &move{terminal: terminal, guest: guest, old: -1, had: s.join.guest, words: words}
	if !s.join.away && s.console.real.foreground() { // else a shell has it
		if fd, err := unix.FcntlInt(uintptr(s.console.real.fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			m.old = fd
		}
		s.restore()
	}
	s.join.guest, s.join.away = -1, true
	s.alarms.off(tryTerminal)
	put(-1, s.console.everywhere()...)
	if m.old >= 0 {
		// A relay that waits for a terminal which takes nothing goes on.
		_ = unix.IoctlSetInt(m.old, unix.TCFLSH, unix.TCOFLUSH)
		_ = unix.SetNonblock(m.old, true)
	}
	s.join.moving = m
	s.alarms.in(moveIsLate, lateAfter, s.moveLate)
	s.output.hold(s.moved)
}

// moved ends the exchange, now that the relay holds.
func (s *session) moved() {
	m, r := s.join.moving, s.output.first()
	s.join.moving = nil
	s.alarms.off(moveIsLate)
	last := r.modes.resets()
	if m.had < 0 && m.words != "" {
		last = append(append(append(last, '\n'), m.words...), '\n')
	}
	if m.old >= 0 {
		_, _ = unix.Write(m.old, last)
		_ = unix.SetNonblock(m.old, false)
	}
	if m.had >= 0 {
		_ = wire.Send(m.had, wire.Msg{Kind: wire.Released, Text: m.words})
		s.tellDetacher()
	} else if s.join.detacher >= 0 {
		s.givePrompt(m.old)
	}
	closeFds(&m.old)
	if m.terminal >= 0 {
		put(m.terminal, s.console.everywhere()...)
		unix.Close(m.terminal)
		s.join.away, s.join.guest = false, m.guest
		s.console.real.shared = false
		r.gone = false // it holds: nobody else looks
		_ = wire.WriteAll(s.console.ptys[0], r.modes.sets())
		_ = wire.Send(m.guest, wire.Msg{Kind: wire.Terminal})
	}
	s.output.goOn()
	if s.join.away {
		return
	}
	s.attach()
	s.drawAgain()
}

// moveLate follows a relay that still waits for the terminal before.
func (s *session) moveLate() {
	if s.join.moving.old >= 0 {
		_ = unix.IoctlSetInt(s.join.moving.old, unix.TCFLSH, unix.TCOFLUSH)
	}
	s.alarms.in(moveIsLate, lateAfter, s.moveLate)
}

// sets returns what gives a terminal the modes that the program has set so far.
func (m *modes) sets() []byte {
	var out []byte
	for i, d := range decModes() {
		if m.on&(1<<i) != 0 && d.n != 2026 { // it stands still only until the next picture
			out = appendMode(out, d.n, !d.usual)
		}
	}
	if s := m.screen(); m.kitty[s] > 0 || m.kittySet[s] {
		for range max(1, m.kitty[s]) {
			out = fmt.Appendf(out, "\x1b[>%du", m.kittyFlags[s])
		}
	}
	if m.otherKeys {
		out = append(out, "\x1b[>4;2m"...)
	}
	if m.keypad {
		out = append(out, "\x1b="...)
	}
	if len(m.region) > 0 {
		out = appendRegion(out, m.region)
	}
	return out
}
