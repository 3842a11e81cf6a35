package atonce

import (
	"sync/atomic"
	"testing"
)

// TestOf: each number once, for none and for more than there are processors.
func TestOf(t *testing.T) {
	for _, n := range []int{0, 1, 1000} {
		called := make([]atomic.Int32, n)
		Of(n, func(i int) { called[i].Add(1) })
		for i := range called {
			if got := called[i].Load(); got != 1 {
				t.Errorf("%d of %d: called %d times", i, n, got)
			}
		}
	}
}
