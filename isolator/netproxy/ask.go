package netproxy

import (
	"context"
	"sync"
)

// maxQuestions is how many questions may be open at once, and maxAnswers how many
// are kept: a program must not be able to fill a memory with names.
const (
	maxQuestions = 64
	maxAnswers   = 4096
)

// answers are what the person said, or is being asked.
type answers struct {
	mu   sync.Mutex
	open int
	kept map[Target]*answer
}

type answer struct {
	done chan struct{}
	yes  bool // valid when done is closed
}

// ask returns what the person says about a target. Requests for one target share
// one question. The reason is for the program when the answer is no.
func (p *Proxy) ask(ctx context.Context, to Target) (yes bool, reason string) {
	if p.o.Ask == nil {
		return false, "and there is nobody to ask"
	}
	q := &p.answers
	q.mu.Lock()
	a := q.kept[to]
	if a == nil {
		if q.open >= maxQuestions || len(q.kept) >= maxAnswers {
			q.mu.Unlock()
			return false, "and there are too many questions"
		}
		if q.kept == nil {
			q.kept = map[Target]*answer{}
		}
		a = &answer{done: make(chan struct{})}
		q.kept[to] = a
		q.open++
		go func() { // not waited for by Close: a person may take long
			said := p.o.Ask(p.ctx, to)
			q.mu.Lock()
			a.yes = said != No
			if said == Once {
				delete(q.kept, to)
			}
			q.open--
			q.mu.Unlock()
			close(a.done)
		}()
	}
	q.mu.Unlock()
	select {
	case <-a.done:
		return a.yes, "and was not allowed when asked"
	case <-ctx.Done():
		return false, "and nobody answered"
	}
}
