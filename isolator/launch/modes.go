package launch

import (
	"bytes"
	"strconv"
)

// modes follows what a program does to the terminal beyond text, so that what
// it left switched on can be switched off again: a program that is killed
// leaves the mouse reporting, the cursor hidden, the keyboard in another
// protocol. It reads the output stream as it passes, in pieces of any size.
type modes struct {
	state scanState
	buf   [maxSeq]byte // of the sequence being read: what follows ESC [
	n     int

	on         uint32  // bit i: decModes[i] is not in its usual state
	kitty      [2]int  // keyboard protocol pushes, per screen: main, alternate
	kittySet   [2]bool // flags set without a push
	kittyFlags [2]int  // the last that were pushed or set
	otherKeys  bool    // modifyOtherKeys
	keypad     bool    // application keypad
	coloured   bool    // text attributes
	region     []byte  // the lines that scroll, as they were set (DECSTBM); empty: all

	kind byte // of the string being read: what follows ESC
	asks bool // something has passed that terminals answer; whoever looks takes it back
}

type scanState uint8

const (
	ground    scanState = iota
	escape              // after ESC
	csi                 // after ESC [
	str                 // in an OSC, DCS, SOS, PM or APC string
	strEscape           // after ESC in one: the end, or a nested sequence
)

// maxSeq is the longest control sequence that is looked at.
const maxSeq = 64

// decMode is a private mode (CSI ? n h sets, l resets) and whether it is
// usually set. The list holds what agents and full-screen programs use.
type decMode struct {
	n     int
	usual bool
}

// Bits of the modes that select the alternate screen: the first three below.
const altBits = 1<<0 | 1<<1 | 1<<2

func decModes() [17]decMode {
	return [17]decMode{
		{1049, false},
		{1047, false},
		{47, false},
		{2026, false}, // synchronised output: the screen stands still
		{1000, false}, // mouse
		{1002, false},
		{1003, false},
		{1005, false},
		{1006, false},
		{1015, false},
		{1016, false},
		{1004, false}, // focus events
		{2004, false}, // bracketed paste
		{2031, false}, // colour scheme reports
		{1, false},    // cursor keys
		{7, true},     // wrap
		{25, true},    // cursor
	}
}

// scan takes the next piece of output.
func (m *modes) scan(p []byte) {
	m.asks = m.asks || asksByControl(p)
	for len(p) > 0 {
		switch m.state {
		case ground:
			i := bytes.IndexByte(p, 0x1b)
			if i < 0 {
				return
			}
			p = p[i+1:]
			m.state = escape
		case escape, strEscape:
			m.afterEscape(p[0])
			p = p[1:]
		case csi:
			p = m.inSequence(p)
		case str:
			p = m.inString(p)
		}
	}
}

// inSequence takes what belongs to a control sequence, and returns the rest.
func (m *modes) inSequence(p []byte) []byte {
	i := 0
	for i < len(p) && p[i] >= 0x20 && p[i] < 0x40 {
		i++
	}
	body := p[:i]
	if m.n > 0 || i == len(p) { // it comes in pieces
		m.n += copy(m.buf[m.n:], body)
		body = m.buf[:m.n]
	}
	if i == len(p) {
		return nil
	}
	switch c := p[i]; {
	case c >= 0x40:
		m.state = ground
		if len(body) < maxSeq {
			m.sequence(body, c)
		}
	case c == 0x1b:
		m.state = escape
	case c == 0x18 || c == 0x1a: // CAN and SUB abort
		m.state = ground
	default: // another control character acts in the middle
		m.n = copy(m.buf[:], body)
	}
	return p[i+1:]
}

// inString takes what belongs to a control string, and returns the rest.
func (m *modes) inString(p []byte) []byte {
	text, rest := p, []byte(nil)
	if i := bytes.IndexAny(p, "\x1b\x07\x18\x1a"); i >= 0 {
		text, rest = p[:i], p[i+1:]
		m.state = ground
		if p[i] == 0x1b {
			m.state = strEscape
		}
	}
	// Of colours, the clipboard and so on: a question mark is the question.
	m.asks = m.asks || m.kind == ']' && bytes.IndexByte(text, '?') >= 0
	return rest
}

// asksByControl reports whether there is an ENQ, which some terminals answer, or a C1
// control in UTF-8 that can begin a question (CSI, DCS, DECID, OSC).
func asksByControl(p []byte) bool {
	if bytes.IndexByte(p, 0x05) >= 0 {
		return true
	}
	for {
		i := bytes.IndexByte(p, 0xc2)
		if i < 0 || i+1 == len(p) {
			return false
		}
		switch p = p[i+1:]; p[0] {
		case 0x90, 0x9a, 0x9b, 0x9d:
			return true
		}
	}
}

func (m *modes) afterEscape(c byte) {
	switch c {
	case '[':
		m.state, m.n = csi, 0
	case ']', 'P', 'X', '^', '_':
		m.state, m.kind = str, c
		// Settings and abilities (DECRQSS, XTGETTCAP), pictures (kitty).
		m.asks = m.asks || c == 'P' || c == '_'
	case 'Z': // DECID
		m.state, m.asks = ground, true
	case 0x1b:
		m.state = escape
	case 'c': // full reset
		*m = modes{asks: m.asks}
	case '=':
		m.state, m.keypad = ground, true
	case '>':
		m.state, m.keypad = ground, false
	default:
		// Also an intermediate byte, as in ESC ( B: the next one is read as
		// text, which is harmless.
		m.state = ground
	}
}

// sequence takes a whole control sequence: its parameter and intermediate
// bytes and its final byte.
func (m *modes) sequence(body []byte, final byte) {
	if final == 'm' && (len(body) == 0 || body[0] <= ';') {
		m.coloured = sgr(m.coloured, body)
		return
	}
	var prefix, middle byte
	if len(body) > 0 && body[0] >= '<' && body[0] <= '?' {
		prefix, body = body[0], body[1:]
	}
	if n := len(body); n > 0 && body[n-1] < 0x30 {
		middle = body[n-1]
	}
	what, _, _ := param(body)
	m.asks = m.asks || answered(prefix, middle, final, what)
	if prefix != 0 {
		m.private(prefix, body, final)
		return
	}
	switch {
	case final == 'r' && middle == 0:
		m.region = bytes.Clone(body)
	case final == 'p' && string(body) == "!":
		m.softReset()
	}
}

// private takes a control sequence that has a prefix.
func (m *modes) private(prefix byte, body []byte, final byte) {
	switch final {
	case 'h', 'l':
		for more := prefix == '?'; more; {
			var v int
			v, body, more = param(body)
			m.dec(v, final == 'h')
		}
	case 'm', 'n':
		what, rest, _ := param(body)
		level, _, _ := param(rest)
		if prefix == '>' && what == 4 {
			m.otherKeys = final == 'm' && level > 0
		}
	case 'u':
		m.keyboard(prefix, body)
	}
}

func (m *modes) softReset() {
	m.coloured, m.keypad, m.region = false, false, nil
	for _, n := range []int{1, 2004} {
		m.dec(n, false)
	}
	m.dec(25, true)
}

// answered reports whether terminals answer a control sequence (ctlseqs of xterm, the
// keyboard protocol of kitty).
func answered(prefix, middle, final byte, what int) bool {
	switch final {
	case 'c', 'x': // DA1 to DA3, DECREQTPARM
		return true
	case 't': // the window's size and titles; 22 and 23 save and restore them
		return what >= 11 && what <= 21
	case 'n': // DSR, DECXCPR; with > it sets
		return prefix != '>'
	case 'm', 'S': // XTQMODKEYS, XTSMGRAPHICS
		return prefix == '?'
	case 'q': // XTVERSION
		return prefix == '>'
	case 'u': // the keyboard protocol, DECRQTSR
		return prefix == '?' || middle != 0
	case 'p', 'w', 'y', 'v', '|', '}', '~': // DECRQM, DECRQPSR, DECRQCRA, DECRQLP
		return middle != 0
	}
	return false
}

func (m *modes) dec(n int, set bool) {
	for i, d := range decModes() {
		if d.n != n {
			continue
		}
		if set == d.usual {
			m.on &^= 1 << i
		} else {
			m.on |= 1 << i
		}
	}
}

// screen is 1 while the alternate screen is shown; each has its own keyboard
// stack.
func (m *modes) screen() int {
	if m.on&altBits != 0 {
		return 1
	}
	return 0
}

func (m *modes) keyboard(prefix byte, body []byte) {
	s := m.screen()
	v, rest, _ := param(body)
	switch prefix {
	case '>':
		m.kitty[s] = min(m.kitty[s]+1, 64)
		m.kittyFlags[s] = v
	case '<':
		m.kitty[s] = max(m.kitty[s]-max(v, 1), 0)
	case '=':
		how, _, _ := param(rest)
		m.kittyFlags[s] = v
		switch {
		case how <= 1:
			m.kittySet[s] = v != 0
		case how == 2 && v != 0:
			m.kittySet[s] = true
		}
	}
}

// param reads one number from a parameter list; more says that another follows.
func param(b []byte) (v int, rest []byte, more bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			v = min(v*10+int(c-'0'), 1<<20)
		case c == ';':
			return v, b[i+1:], true
		default: // a subparameter or an intermediate byte
			return v, nil, false
		}
	}
	return v, nil, false
}

// sgr returns whether text attributes are on after a CSI ... m, given whether
// they were on before.
func sgr(on bool, body []byte) bool {
	if len(body) == 0 {
		return false
	}
	for more := true; more; {
		var v int
		v, body, more = param(body)
		switch {
		case v == 0:
			on = false
		case v == 38 || v == 48 || v == 58: // a colour, with its operands
			on = true
			body, more = operands(body)
		case v >= 22 && v <= 29, v == 39, v == 49, v == 59:
			// One attribute off: others may still be on.
		default:
			on = true
		}
	}
	return on
}

// operands passes over those of a colour: three parts of it, or its number.
func operands(body []byte) (rest []byte, more bool) {
	how, rest, more := param(body)
	skip := 0
	switch how {
	case 2:
		skip = 3
	case 5:
		skip = 1
	}
	for ; skip > 0 && more; skip-- {
		_, rest, more = param(rest)
	}
	return rest, more
}

// resets returns what puts the terminal back: nothing when nothing is left on.
func (m *modes) resets() []byte {
	var out []byte
	pop := func(s int) {
		if m.kittySet[s] {
			out = append(out, "\x1b[=0u"...)
		}
		if m.kitty[s] > 0 {
			out = append(out, "\x1b[<"...)
			out = strconv.AppendInt(out, int64(m.kitty[s]), 10)
			out = append(out, 'u')
		}
	}
	if m.state != ground {
		// The output ended within a sequence, which would swallow ours.
		out = append(out, "\x1b\\"...)
	}
	alt := m.screen() == 1
	if alt {
		pop(1)
	}
	for i, d := range decModes() {
		if m.on&(1<<i) == 0 {
			continue
		}
		out = append(out, "\x1b[?"...)
		out = strconv.AppendInt(out, int64(d.n), 10)
		if d.usual {
			out = append(out, 'h')
		} else {
			out = append(out, 'l')
		}
	}
	pop(0)
	if m.otherKeys {
		out = append(out, "\x1b[>4;0m"...)
	}
	if m.keypad {
		out = append(out, "\x1b>"...)
	}
	if m.coloured {
		out = append(out, "\x1b[0m"...)
	}
	return out
}
