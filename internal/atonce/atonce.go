// Package atonce calls a function for each of many things, several at a time.
package atonce

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Of calls f for each number below n, as many at a time as there are processors, and returns when
// all calls have returned. f is called from several goroutines.
func Of(n int, f func(i int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
}
