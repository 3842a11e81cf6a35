package copytree

import (
	"context"
	"runtime"
	"sync"
)

// crew calls functions, several at a time.
type crew struct {
	outer  context.Context
	ctx    context.Context // ends with the first error
	cancel context.CancelCauseFunc
	slots  chan struct{}
	all    sync.WaitGroup
}

func newCrew(ctx context.Context) *crew {
	inner, cancel := context.WithCancelCause(ctx)
	// A few more than there are processors: one may wait for the disk.
	return &crew{outer: ctx, ctx: inner, cancel: cancel, slots: make(chan struct{}, runtime.GOMAXPROCS(0)+2)}
}

// do calls f in a goroutine of its own, or here when there are enough. f may call do. After an error
// nothing more is called.
func (w *crew) do(f func() error) {
	call := func() {
		if w.ctx.Err() != nil {
			return
		}
		if err := f(); err != nil {
			w.cancel(err)
		}
	}
	select {
	case w.slots <- struct{}{}:
		w.all.Go(func() {
			call()
			<-w.slots
		})
	default:
		call()
	}
}

// wait returns when all calls have, with the first error, or that of the context.
func (w *crew) wait() error {
	w.all.Wait()
	if err := w.outer.Err(); err != nil {
		return err
	}
	return context.Cause(w.ctx)
}
