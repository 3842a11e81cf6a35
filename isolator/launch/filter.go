package launch

import (
	"bytes"
	"io"
)

// filter takes out of the box's output what would change or read the person's
// clipboard, and passes on everything else as it is:
//
//   - OSC 52 (xterm), OSC 5522 (kitty) and OSC 1337;Copy (iTerm2), however they
//     are introduced (ESC ], the C1 byte 0x9d, its UTF-8 form C2 9D), padded or
//     terminated;
//   - the same inside a tmux passthrough (ESC P tmux; … ESC \, each ESC in it
//     doubled). A passthrough that begins a sequence and does not end it is
//     taken out as well: two of those could make up the whole.
//
// It looks for the beginning of those sequences wherever they stand, within other
// strings too, so no terminal has another idea than the filter of where a string
// ends. A DCS string that is interrupted by a new sequence is ended first, because
// GNU screen hands the contents of every DCS on to the terminal outside.
//
// Pieces may be of any size. What is undecided at the end of a piece is held.
type filter struct {
	state filterState
	held  []byte // undecided, not passed on yet
	out   []byte // reused between calls
	last  [3]byte
	num   uint32 // of an OSC; terminals let it wrap around
	over  bool   // a passthrough is taken out whatever it holds
}

// NoClipboard returns a writer that passes on to w what is written, less what would
// change or read the person's clipboard.
func NoClipboard(w io.Writer) io.Writer { return clipless{w, &filter{}} }

type clipless struct {
	to     io.Writer
	filter *filter
}

func (c clipless) Write(p []byte) (int, error) {
	if _, err := c.to.Write(c.filter.pass(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

type filterState uint8

const (
	fltPlain   filterState = iota
	fltEsc                 // after ESC
	fltNumber              // after the introducer of an OSC
	fltWord                // after "1337;", up to four letters
	fltDrop                // in a sequence that is taken out
	fltDropEsc             // after ESC in one
	fltDCS                 // after ESC P, as long as it can be a passthrough
	fltDCSBody             // in another DCS
	fltDCSEsc              // after ESC in one
	fltTmux                // in a passthrough, all of it held
	fltTmuxEsc             // after ESC in one
)

const (
	oscXterm, oscKitty, oscITerm = 52, 5522, 1337

	tmuxPrefix = "tmux;"
	// maxTmux bounds a passthrough: what is longer is taken out. Images come in
	// pieces of some kilobytes.
	maxTmux = 1 << 20
	// maxNumber bounds the digits of an OSC that are held. A longer number is
	// nobody's, and is taken out.
	maxNumber = 128
)

// pass returns what of p may be written now. It is valid until the next call.
func (f *filter) pass(p []byte) []byte {
	if f.state == fltPlain && bytes.IndexByte(p, 0x1b) < 0 && bytes.IndexByte(p, 0x9d) < 0 {
		f.remember(p)
		return p
	}
	f.out = f.out[:0]
	esc, c1 := -1, -1 // where the next ones are
	for i := 0; i < len(p); i++ {
		// Text and control sequences (ESC [) are passed on at once.
		if f.state == fltPlain || f.state == fltDCSBody {
			from := i
			for {
				if esc < i {
					esc = next(p, i, 0x1b)
				}
				if c1 < i {
					c1 = next(p, i, 0x9d)
				}
				i = min(esc, c1)
				if f.state == fltPlain && i+1 < len(p) && p[i] == 0x1b && p[i+1] == '[' {
					i += 2
					continue
				}
				break
			}
			f.out = append(f.out, p[from:i]...)
			if i == len(p) {
				break
			}
		}
		f.step(p[i], p[:i])
	}
	f.remember(p)
	return f.out
}

// next is where in p, from an index on, a byte stands; the length of p is nowhere.
func next(p []byte, from int, c byte) int {
	if i := bytes.IndexByte(p[from:], c); i >= 0 {
		return from + i
	}
	return len(p)
}

// idle reports whether nothing is begun.
func (f *filter) idle() bool { return f.state == fltPlain }

// remember keeps the end of the stream, which tells a C1 byte from a part of a
// character.
func (f *filter) remember(p []byte) {
	if n := len(p); n >= len(f.last) {
		copy(f.last[:], p[n-len(f.last):])
	} else {
		copy(f.last[:], f.last[n:])
		copy(f.last[len(f.last)-n:], p)
	}
}

// step takes one byte; before is what came before it in this piece.
func (f *filter) step(c byte, before []byte) {
	hidden := f.state == fltTmux || f.state == fltTmuxEsc || f.state == fltDrop
	if c == 0x9d && !hidden && !f.inCharacter(before) {
		// C1 OSC. The C2 of its UTF-8 form has been passed on, and alone is no
		// character.
		f.flush()
		f.begin(c)
		return
	}
	[...]func(*filter, byte){
		fltPlain: (*filter).plain, fltEsc: (*filter).afterEsc,
		fltNumber: (*filter).number, fltWord: (*filter).word,
		fltDrop: (*filter).dropped, fltDropEsc: (*filter).afterDropEsc,
		fltDCS: (*filter).dcs, fltDCSBody: (*filter).dcsBody, fltDCSEsc: (*filter).afterDCSEsc,
		fltTmux: (*filter).tmux, fltTmuxEsc: (*filter).afterTmuxEsc,
	}[f.state](f, c)
}

func (f *filter) plain(c byte) {
	if c == 0x1b {
		f.hold(fltEsc, c)
		return
	}
	f.out = append(f.out, c)
}

// restart passes on what was held, which is no sequence that is taken out, and goes on with c.
func (f *filter) restart(c byte) {
	f.flush()
	f.plain(c)
}

func (f *filter) afterEsc(c byte) {
	switch {
	case c == ']':
		f.begin(0x1b, c)
	case c == 'P':
		f.hold(fltDCS, c)
	case c == 0x00 || c == 0x7f: // nothing, wherever it stands
	case c < 0x20 && c != 0x18 && c != 0x1a && c != 0x1b:
		// A control character acts at once, and the sequence goes on.
		f.out = append(f.out, c)
	default:
		f.restart(c)
	}
}

func (f *filter) number(c byte) {
	switch {
	case c >= '0' && c <= '9' && len(f.held) < maxNumber:
		f.num = f.num*10 + uint32(c-'0')
		f.held = append(f.held, c)
	case c >= '0' && c <= '9':
		f.drop()
	case c == ';' && (f.num == oscXterm || f.num == oscKitty):
		f.drop()
	case c == ';' && f.num == oscITerm:
		f.hold(fltWord, c)
	case !skipped(c):
		f.restart(c)
	}
}

func (f *filter) word(c byte) {
	const word = "copy"
	n := len(f.held) - bytes.LastIndexByte(f.held, ';') - 1
	switch {
	case skipped(c):
	case c|0x20 == word[n] && n == len(word)-1:
		f.drop()
	case c|0x20 == word[n]:
		f.held = append(f.held, c)
	default:
		f.restart(c)
	}
}

func (f *filter) dropped(c byte) {
	switch c {
	case 0x1b:
		f.state = fltDropEsc
	case 0x07, 0x18, 0x1a, 0x9c:
		f.state = fltPlain
	}
}

func (f *filter) afterDropEsc(c byte) {
	f.state = fltPlain
	if c != '\\' { // another sequence
		f.hold(fltEsc, 0x1b)
		f.afterEsc(c)
	}
}

func (f *filter) dcs(c byte) {
	rest := bytes.TrimLeft(f.held[2:], "0123456789:;<=>? !\"#$%&'()*+,-./")
	switch {
	case skipped(c):
	case len(rest) == 0 && c >= 0x20 && c < 0x40 && len(f.held) < maxNumber:
		f.held = append(f.held, c)
	case c == tmuxPrefix[len(rest)] && len(rest) == len(tmuxPrefix)-1:
		f.hold(fltTmux, c)
		f.over = false
	case c == tmuxPrefix[len(rest)]:
		f.held = append(f.held, c)
	default:
		f.flush()
		f.state = fltDCSBody
		f.dcsBody(c)
	}
}

func (f *filter) dcsBody(c byte) {
	// Terminals differ in what else ends it; one ST too many does nothing.
	if c == 0x1b {
		f.hold(fltDCSEsc, c)
		return
	}
	f.out = append(f.out, c)
}

func (f *filter) afterDCSEsc(c byte) {
	if c == '\\' {
		f.flush()
		f.out = append(f.out, c)
		return
	}
	f.out = append(f.out, "\x1b\\"...)
	f.state = fltEsc
	f.afterEsc(c)
}

func (f *filter) tmux(c byte) {
	if c == 0x1b {
		f.state = fltTmuxEsc
		return
	}
	f.collect(c)
}

func (f *filter) afterTmuxEsc(c byte) {
	f.state = fltTmux
	if c != '\\' {
		// Not doubled, it ends the string for a terminal that is not tmux.
		f.over = f.over || c != 0x1b
		f.collect(0x1b, c)
		return
	}
	if !f.over && harmless(f.held) {
		f.out = append(append(f.out, f.held...), "\x1b\\"...)
	}
	f.held, f.state = f.held[:0], fltPlain
}

// skipped reports whether terminals skip a character within a string.
func skipped(c byte) bool { return c < 0x20 && !endsString(c) || c == 0x7f }

// endsString reports whether a control character ends a string.
func endsString(c byte) bool { return c == 0x07 || c == 0x18 || c == 0x1a || c == 0x1b }

// hold adds to what is undecided.
func (f *filter) hold(state filterState, c ...byte) {
	f.state = state
	f.held = append(f.held, c...)
}

// begin holds the introducer of an OSC.
func (f *filter) begin(introducer ...byte) {
	f.held, f.num = f.held[:0], 0
	f.hold(fltNumber, introducer...)
}

// flush passes on what was held.
func (f *filter) flush() {
	f.out = append(f.out, f.held...)
	f.held, f.state = f.held[:0], fltPlain
}

func (f *filter) drop() { f.held, f.state = f.held[:0], fltDrop }

func (f *filter) collect(c ...byte) {
	if f.over = f.over || len(f.held) >= maxTmux; !f.over {
		f.held = append(f.held, c...)
	}
}

// harmless reports whether a passthrough holds nothing that would be taken out, and
// nothing that is not ended. tmux hands on what follows an ESC, and not that ESC.
func harmless(passthrough []byte) bool {
	at := bytes.Index(passthrough, []byte(tmuxPrefix)) + len(tmuxPrefix)
	var inside []byte
	for i := at; i < len(passthrough); i++ {
		if passthrough[i] == 0x1b && i+1 < len(passthrough) {
			i++
		}
		inside = append(inside, passthrough[i])
	}
	var f filter
	return bytes.Equal(f.pass(inside), inside) && f.idle()
}

// inCharacter reports whether 0x9d, which came after before, continues a character of
// UTF-8: terminals that decode it see no control character there.
func (f *filter) inCharacter(before []byte) bool {
	at := func(back int) byte { // 1 is the byte before c
		if n := len(before) - back; n >= 0 {
			return before[n]
		}
		return f.last[len(f.last)+len(before)-back]
	}
	continues := func(b byte) bool { return b&0xc0 == 0x80 }
	one, two, three := at(1), at(2), at(3)
	switch {
	case one >= 0xc3 && one <= 0xdf, one >= 0xe1 && one <= 0xf3: // E0 and F4 take no such second byte
		return true
	case continues(one) && two >= 0xe0 && two <= 0xf4:
		return true
	}
	return continues(one) && continues(two) && three >= 0xf0 && three <= 0xf4
}
