// Package escape splits what a program writes to its terminal into text, control sequences and
// control strings (ECMA-48, and ctlseqs of xterm).
//
//	p.Feed(piece)
//	for e := p.Next(); e != escape.None; e = p.Next() {
//		if e == escape.Sequence && p.Kind == '[' && p.Final == 'H' { … }
//	}
//
// Pieces may be of any size: the events are the same however a stream is cut, but that Text and
// Data come in more runs. Nothing is allocated.
//
// ESC begins something new wherever it stands, in a string too. So does the C1 byte 0x9d (OSC),
// alone or in its form in UTF-8, C2 9D, unless it continues a character. Other C1 controls are
// text.
package escape

import "bytes"

// Event says what Raw is.
type Event uint8

// Events.
const (
	None     Event = iota // the piece is at its end; Raw is the beginning of what comes next
	Text                  // characters, and control characters
	Sequence              // a whole sequence: Kind, Body and Final
	Begin                 // the introducer of a string: Kind
	Data                  // of a string
	End                   // of a string: Raw is empty where something else begins
	Broken                // a sequence that was cut off, or has a body longer than MaxBody
)

// State is where a stream stands between two pieces.
type State uint8

// Ground is outside of sequences and strings.
const (
	Ground State = iota
	inEscape
	inControl // after ESC [
	inString
	inDoubled
	inDoubledEscape
)

// MaxBody is the longest body of a sequence, in bytes.
const MaxBody = 64

const (
	esc, bel, can, sub, del = 0x1b, 0x07, 0x18, 0x1a, 0x7f
	osc                     = 0x9d
)

// Parser splits one stream. The zero value is ready.
type Parser struct {
	// StringsOnly makes control sequences, ESC [, a part of Text: whoever looks for strings alone
	// is done sooner.
	StringsOnly bool

	State State
	Kind  byte // of a string, one of ]PX^_; of a sequence, '[' or 0
	Final byte // the last byte of a sequence

	piece    []byte
	from, at int // Raw
	esc, osc int // where the next ones are in piece; before at: not known
	body     [MaxBody]byte
	n        int     // length of the body, of which MaxBody bytes are kept
	last     [3]byte // of the pieces before
}

// Feed takes the next piece, which must not change before Next has returned None.
func (p *Parser) Feed(piece []byte) {
	p.piece, p.from, p.at, p.esc, p.osc = piece, 0, 0, -1, -1
}

// Raw returns the bytes of the piece that are the event, or belong to it: a sequence may have begun
// in the piece before.
func (p *Parser) Raw() []byte { return p.piece[p.from:p.at] }

// Body returns what is between the introducer and the final byte of a sequence: parameters and
// intermediate bytes. It is valid until the next call of Next.
func (p *Parser) Body() []byte { return p.body[:min(p.n, MaxBody)] }

// Double says that the present string is a passthrough of tmux: ESC ESC is Data in it, another
// ESC is Broken, and only ESC \ ends it.
func (p *Parser) Double() { p.State = inDoubled }

// Next returns the next event of the piece.
func (p *Parser) Next() Event {
	p.from = p.at
	for p.at < len(p.piece) {
		e := None
		switch c := p.piece[p.at]; {
		case p.State >= inDoubled:
			e = p.doubled(c)
		case p.introduces(c):
			e = p.introduced(c)
		case p.State == inControl:
			e = p.control()
		case p.State == Ground:
			e = p.text()
		case p.State == inString:
			e = p.string()
		default:
			e = p.escaped(c)
		}
		if e != None {
			return e
		}
	}
	// The end of the stream so far tells a C1 byte from a part of a character.
	if n := len(p.piece); n >= len(p.last) {
		copy(p.last[:], p.piece[n-len(p.last):])
	} else {
		copy(p.last[:], p.last[n:])
		copy(p.last[len(p.last)-n:], p.piece)
	}
	return None
}

// introduces reports whether c, the next byte, begins something new wherever it stands.
func (p *Parser) introduces(c byte) bool { return c == esc || c == osc && !p.inCharacter(p.at) }

// introduced takes ESC, or OSC as a C1 byte, after it has ended what was there before.
func (p *Parser) introduced(c byte) Event {
	before := p.State
	p.State = Ground
	switch {
	case before == inString:
		return End
	case before != Ground:
		return Broken
	}
	p.at++
	if c == osc {
		return p.begin(']')
	}
	p.State, p.Kind, p.n = inEscape, 0, 0
	if p.at < len(p.piece) && p.piece[p.at] == '[' {
		return p.escaped(p.piece[p.at])
	}
	return None
}

func (p *Parser) begin(kind byte) Event {
	p.State, p.Kind = inString, kind
	return Begin
}

// text takes a run of text.
func (p *Parser) text() Event {
	for p.at < len(p.piece) {
		if p.esc < p.at {
			p.esc = next(p.piece, p.at, esc)
		}
		if p.osc < p.at {
			p.osc = next(p.piece, p.at, osc)
		}
		p.at = min(p.esc, p.osc)
		switch {
		case p.at == p.osc && p.at < len(p.piece) && p.inCharacter(p.at):
			p.at++
		case p.StringsOnly && p.at+1 < len(p.piece) && p.piece[p.at] == esc && p.piece[p.at+1] == '[':
			p.at += 2
		default:
			return Text
		}
	}
	return Text
}

// next returns where in b, from an index on, a byte stands; the length of b is nowhere.
func next(b []byte, from int, c byte) int {
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}

// escaped takes a byte after ESC.
func (p *Parser) escaped(c byte) Event {
	p.at++
	switch {
	case c == '[' && p.n == 0 && p.StringsOnly:
		p.State = Ground
		return Text
	case c == '[' && p.n == 0:
		p.State, p.Kind = inControl, c
		return p.control()
	case c >= 0x20 && c < 0x30:
		p.keep(p.piece[p.at-1 : p.at])
		return None
	case p.n == 0 && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'):
		return p.begin(c)
	}
	return p.final(c)
}

// control takes a run of a control sequence.
func (p *Parser) control() Event {
	at := p.at
	for p.at < len(p.piece) && p.piece[p.at]-0x20 < 0x20 {
		p.at++
	}
	p.keep(p.piece[at:p.at])
	if p.at == len(p.piece) || p.introduces(p.piece[p.at]) {
		return None
	}
	p.at++
	return p.final(p.piece[p.at-1])
}

// keep adds to the body.
func (p *Parser) keep(b []byte) {
	if p.n < MaxBody {
		copy(p.body[p.n:], b)
	}
	p.n += len(b)
}

// final takes what may end a sequence.
func (p *Parser) final(c byte) Event {
	switch {
	case c == can || c == sub:
		p.State = Ground
		return Broken
	case c < 0x20 || c == del: // acts at once, and the sequence goes on
		return None
	}
	p.State, p.Final = Ground, c
	if p.n > MaxBody {
		return Broken
	}
	return Sequence
}

// string takes a run of a string, or what ends it.
func (p *Parser) string() Event {
	for ; p.at < len(p.piece); p.at++ {
		switch c := p.piece[p.at]; {
		case c == bel || c == can || c == sub:
			if p.at > p.from {
				return Data
			}
			p.at++
			p.State = Ground
			return End
		case p.introduces(c):
			return Data
		}
	}
	return Data
}

// doubled takes what belongs to a passthrough of tmux.
func (p *Parser) doubled(c byte) Event {
	switch {
	case p.State == inDoubled && c != esc:
		p.at = next(p.piece, p.at, esc)
		return Data
	case p.State == inDoubled:
		p.at++
		p.State = inDoubledEscape
		return None
	}
	p.at++
	p.State = inDoubled
	switch c {
	case esc:
		return Data
	case '\\':
		p.State = Ground
		return End
	}
	return Broken
}

// inCharacter reports whether the byte 0x9d that stands there continues a character of UTF-8:
// terminals that decode it see no control character in it. C2 9D is the control itself.
func (p *Parser) inCharacter(at int) bool {
	before := func(n int) byte { // 1 is the byte before it
		if i := at - n; i >= 0 {
			return p.piece[i]
		}
		return p.last[len(p.last)+at-n]
	}
	continues := func(b byte) bool { return b&0xc0 == 0x80 }
	one, two, three := before(1), before(2), before(3)
	switch {
	case one >= 0xc3 && one <= 0xdf, one >= 0xe1 && one <= 0xf3: // E0 and F4 take no such second byte
		return true
	case continues(one) && two >= 0xe0 && two <= 0xf4:
		return true
	}
	return continues(one) && continues(two) && three >= 0xf0 && three <= 0xf4
}
