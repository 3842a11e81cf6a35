package launch

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// ErrNoTerminal is why a box cannot be left alone.
var ErrNoTerminal = errors.New("the program gets no terminal of its own, so that nobody could join it")

// takenOver is what is said to whoever has lost the terminal to somebody else.
var takenOver = wire.Msg{Kind: wire.Released, Text: "taken over from another terminal"}

// moveTo exchanges the terminal for the one that a guest's connection has brought, -1 for none. bye is for whoever
// has the present one. Between two control sequences the present terminal is told what switches off the modes that the
// program has set, and the new one what sets them; it, or /dev/null, takes the place of the old one under every
// descriptor number that is it, so whatever writes goes on. The program draws again, since its size changes.
func (s *session) moveTo(terminal, guest int, bye wire.Msg) {
	if terminal < 0 && s.console.at == none {
		return
	}
	s.endQuestion(0)
	r, had := s.output.first(), s.join.guest
	r.pause()
	if s.console.at != none && s.console.real.foreground() { // else a shell has it
		s.restore()
		last := r.modes.resets()
		if bye.Text != "" {
			last = append(last, "\n\x1b[J"...) // what the program has drawn below its cursor
		}
		if had < 0 && bye.Text != "" {
			last = fmt.Appendf(last, "%s\n", bye.Text)
		}
		r.say(last)
	}
	if !s.console.elsewhere() {
		s.join.taken = false
		s.alarms.in(recallTerminal, foregroundEvery, s.recall)
	}
	switch s.join.guest, s.console.real.raw = guest, false; {
	case terminal < 0:
		s.console.at = none
	case guest < 0:
		s.console.at = own
	default:
		s.console.at = guests
	}
	s.noteWhere()
	s.alarms.off(tryTerminal)
	put(terminal, s.console.everywhere()...)
	closeFds(&terminal)
	out, err := apart(s.console.ptys[0])
	if err == nil {
		put(out, r.out)
		unix.Close(out)
	}
	r.waiting, r.gone, r.held = nil, err != nil, false
	if had >= 0 {
		_ = wire.Send(had, bye)
	}
	if s.console.at != none {
		s.console.real.shared = false
		r.say(r.modes.sets())
		_ = wire.Send(guest, wire.Msg{Kind: wire.Terminal})
		s.attach()
		s.drawAgain()
	}
	if s.program.halted && bye.Kind != wire.Stopped {
		s.signalProgram(syscall.SIGCONT)
	}
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
	if m.shape > 0 {
		out = fmt.Appendf(out, "\x1b[%d q", m.shape)
	}
	if len(m.region) > 0 {
		out = appendRegion(out, m.region)
	}
	return out
}
