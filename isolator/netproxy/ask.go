package netproxy

import "context"

// maxQuestions is how many questions may be open at once, and maxAnswers how many
// are kept: a program must not be able to fill a memory with names.
const (
	maxQuestions = 64
	maxAnswers   = 4096
)

// answer is what the person said about a target, or is being asked.
type answer struct {
	done   chan struct{}
	yes    bool   // valid when done is closed
	settle func() // takes the question back
}

// ask returns what the person says about a target. Requests for one target share
// one question. The reason is for the program when the answer is no.
func (p *Proxy) ask(ctx context.Context, to Target) (yes bool, reason string) {
	if p.o.Ask == nil {
		return false, "and there is nobody to ask"
	}
	p.asking.Lock()
	a := p.answers[to]
	if a == nil {
		if p.questions >= maxQuestions || len(p.answers) >= maxAnswers {
			p.asking.Unlock()
			return false, "and there are too many questions"
		}
		asked, settle := context.WithCancel(p.ctx)
		a = &answer{done: make(chan struct{}), settle: settle}
		p.answers[to] = a
		p.questions++
		go func() { // not waited for by Close: a person may take long
			said := p.o.Ask(asked, to)
			settle()
			p.asking.Lock()
			a.yes = said != No
			if said == Once {
				delete(p.answers, to)
			}
			p.questions--
			p.asking.Unlock()
			close(a.done)
		}()
	}
	p.asking.Unlock()
	select {
	case <-a.done:
		return a.yes, "and was not allowed when asked"
	case <-ctx.Done():
		return false, "and nobody answered"
	}
}
