package launch

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A question is put to the person on the real terminal while the program has
// the box's own one. The order:
//
//  1. what the box writes is not read any more, from the end of a control sequence on
//  2. the question is written on an empty screen, the alternate one unless the
//     program uses that and draws it again, so that nothing of either is lost for good
//  3. half a second without a key; what is typed until then was meant for the
//     program, and is kept for it
//  4. the choices are written, and one key answers
//  5. the screen is put back, and the program made to draw again
//
// The box cannot answer: keys come from the real terminal alone, and what the box
// writes meanwhile is not seen.

// Question is one question.
type Question struct {
	Text    string        // printable
	Choices string        // printable, written after Text
	Keys    string        // bytes that are an answer, in lower case
	Timeout time.Duration // from the moment it can be seen
}

// Asker puts questions, one at a time. The zero value is ready, and there is
// nobody to ask until a run with a terminal of the box's own has begun.
type Asker struct {
	mu   sync.Mutex
	box  *session      // nil when there is nobody to ask
	over chan struct{} // closed when there is nobody any more
}

// pending is a question that waits for its answer.
type pending struct {
	Question
	ctx    context.Context
	answer chan byte // 0 is none
}

// Ask returns the key that was typed. ok is false when nobody could be asked, or
// nobody answered in time.
func (a *Asker) Ask(ctx context.Context, q Question) (key byte, ok bool) {
	p := &pending{Question: q, ctx: ctx, answer: make(chan byte, 1)}
	a.mu.Lock()
	s, over := a.box, a.over
	if s != nil {
		s.inbox.do(func() {
			s.questions = append(s.questions, p)
			s.ask()
		})
	}
	a.mu.Unlock()
	if s == nil {
		return 0, false
	}
	select {
	case key = <-p.answer:
	case <-over:
	case <-ctx.Done():
		s.inbox.do(s.ask)
	}
	return key, key != 0
}

// begin has questions asked by a session, end by none. Both are safe on nil.
func (a *Asker) begin(s *session) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.box, a.over = s, make(chan struct{})
}

func (a *Asker) end() {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.box != nil {
		close(a.over)
	}
	a.box = nil
}

const (
	quietBefore = 500 * time.Millisecond // without a key, before one answers
	redrawAfter = 100 * time.Millisecond // between the two sizes that make a program draw again
)

// asked is the question on the terminal. Only the loop touches it.
type asked struct {
	*pending
	open   bool   // a key answers
	before []byte // was typed for the program
	back   []byte // puts the screen back
	redraw bool   // the program has to draw again
}

// ask takes up the next question, when there is none and it can be seen.
func (s *session) ask() {
	s.questions = slices.DeleteFunc(s.questions, func(p *pending) bool { return p.ctx.Err() != nil })
	if s.asked != nil && s.asked.ctx.Err() != nil {
		s.endQuestion(0)
	}
	if s.asked != nil || len(s.questions) == 0 || !s.wantKeys() {
		if s.runs() {
			s.noteWhere()
		}
		return
	}
	q, r := &asked{pending: s.questions[0]}, s.output.first()
	s.asked, s.questions = q, s.questions[1:]
	r.pause()
	text, back, redraw := overlay(&r.modes, q.Text)
	q.back, q.redraw = back, redraw
	r.say(text)
	s.alarms.in(questionOpens, quietBefore, s.openQuestion)
	s.alarms.in(questionEnds, q.Timeout, func() { s.settleQuestion(0) })
}

// blank takes everything off the screen, and what would hide a part of the question: origin
// mode and the character set, which come back with the cursor, margins, and a region that
// scrolls. What the program has drawn could be taken for a part of the question, or the question
// for one about something else.
const blank = "\x1b[?69l\x1b[?6l\x1b[r\x0f\x1b(B\x1b[H\x1b[0m\x1b[2J"

// overlay is what shows a question over what the program has drawn, and what
// takes it away again. redraw: the program has to draw what was under it.
func overlay(m *modes, text string) (show, back []byte, redraw bool) {
	if m.state != ground { // a sequence that was never ended would swallow ours
		show = append(show, "\x1b\\"...)
	}
	hides := []int{2026, 1000, 1002, 1003, 1004, 2031, 2048, 7, 25} // or types by itself
	for i, d := range decModes() {
		if m.on&(1<<i) == 0 || !slices.Contains(hides, d.n) {
			continue
		}
		show = appendMode(show, d.n, d.usual)
		if d.n != 2026 {
			back = appendMode(back, d.n, !d.usual)
		}
	}
	save, restore := "\x1b[?1049h", "\x1b[?1049l"
	if m.screen() == 1 {
		save, restore, redraw = "\x1b7", "\x1b[0m\x1b[2J\x1b8", true
	}
	show = append(append(show, save...), blank...)
	back = append([]byte(restore), back...)
	if len(m.region) > 0 { // which moves the cursor, too
		back = slices.Concat([]byte("\x1b["), m.region, []byte{'r'}, back)
	}
	if s := m.screen(); m.kitty[0]+m.kitty[1] > 0 || m.kittySet[s] {
		show = append(show, "\x1b[>0u"...) // keys as plain bytes
		back = append([]byte("\x1b[<u"), back...)
	}
	return append(show, text...), back, redraw
}

// openQuestion writes the choices: from now on a key answers.
func (s *session) openQuestion() {
	s.output.first().say([]byte(" " + s.asked.Choices + " "))
	s.asked.open = true
}

// readAnswer takes a key. One alone answers; more at once were pasted, or are a
// report of the terminal, and meant for the program, like all that came too early.
func (s *session) readAnswer() {
	q := s.asked
	var typed keys
	switch err := typed.fill(s.console.real.fd); {
	case err != nil:
		s.settleQuestion(0)
		s.readKeys() // finds out what is the matter
		return
	case len(typed) == 0:
		return
	case !q.open:
		s.alarms.in(questionOpens, quietBefore, s.openQuestion)
		fallthrough
	case len(typed) > 1:
		q.before = append(q.before, typed[:min(len(typed), keysBuffer-len(q.before))]...)
		return
	}
	key := bytes.ToLower(typed)[0]
	switch {
	case bytes.IndexByte([]byte(q.Keys), key) >= 0:
		s.settleQuestion(key)
	case key == 0x1b || key == 0x03 || key == 0x04: // Escape, ^C, ^D
		s.settleQuestion(0)
	}
}

// settleQuestion ends the question with an answer, 0 for none, and asks the next.
func (s *session) settleQuestion(key byte) {
	s.endQuestion(key)
	s.ask()
}

// endQuestion ends the question with an answer, 0 for none, and puts the screen back.
func (s *session) endQuestion(key byte) {
	q := s.asked
	if q == nil {
		return
	}
	s.asked = nil
	s.alarms.off(questionOpens, questionEnds)
	r := s.output.first()
	r.say(q.back)
	r.held = false
	q.answer <- key
	s.console.keys.add(q.before)
	if q.redraw {
		s.drawAgain()
	}
}

// drawAgain has the program draw all of its terminal. Programs do when the size has changed,
// and only then: the true one comes back later.
func (s *session) drawAgain() {
	w := winsize(s.console.ptys[0])
	if w.Row <= 2 || s.over() {
		return
	}
	w.Row--
	_ = unix.IoctlSetWinsize(s.output.first().master, unix.TIOCSWINSZ, &w)
	s.alarms.in(trueSize, redrawAfter, s.resize)
}

// dropQuestions ends the question, and all that wait, with no answer.
func (s *session) dropQuestions() {
	s.o.Ask.end()
	s.settleQuestion(0)
}
