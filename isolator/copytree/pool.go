package copytree

import (
	"context"
	"runtime"
	"sync"
)

// each calls do for every item of work and for those that do adds to it,
// several at a time. The first error ends it.
func each[T any](ctx context.Context, work []T, do func(item T, more func(T)) error) error {
	var (
		mu      sync.Mutex
		wake    = sync.NewCond(&mu)
		busy    int
		failure error
		done    sync.WaitGroup
	)
	more := func(item T) {
		mu.Lock()
		work = append(work, item)
		mu.Unlock()
		wake.Signal()
	}
	// A few more than there are processors: one may wait for the disk.
	for range runtime.GOMAXPROCS(0) + 2 {
		done.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for failure == nil {
				if len(work) == 0 {
					if busy == 0 {
						break
					}
					wake.Wait()
					continue
				}
				item := work[len(work)-1]
				work = work[:len(work)-1]
				busy++
				mu.Unlock()
				err := ctx.Err()
				if err == nil {
					err = do(item, more)
				}
				mu.Lock()
				busy--
				if err != nil && failure == nil {
					failure = err
				}
			}
			wake.Broadcast()
		})
	}
	done.Wait()
	return failure
}
