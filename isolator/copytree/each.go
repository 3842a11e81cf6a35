package copytree

import (
	"context"
	"runtime"
	"sync"
)

// Each calls f for everything in a list, several at a time, then for all that it returned, and so on until
// nothing is left. It returns the first error, or that of the context; nothing more is called then.
func Each[T any](ctx context.Context, list []T, f func(T) ([]T, error)) error {
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0)+2) // a few more than processors: one may wait for the disk
	var mu sync.Mutex
	for len(list) > 0 && inner.Err() == nil {
		var next []T
		var all sync.WaitGroup
		for _, x := range list {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				if inner.Err() != nil {
					return
				}
				more, err := f(x)
				if err != nil {
					cancel(err)
				}
				mu.Lock()
				defer mu.Unlock()
				next = append(next, more...)
			})
		}
		all.Wait()
		list = next
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return context.Cause(inner)
}
