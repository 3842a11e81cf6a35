package box

import (
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestApart asks for so many threads that one of them would be the first of the process.
func TestApart(t *testing.T) {
	var all sync.WaitGroup
	for range 200 {
		all.Add(1)
		go apart(func() {
			defer all.Done()
			if unix.Gettid() == unix.Getpid() {
				t.Error("a job would be forked by the first thread")
			}
		})
	}
	all.Wait()
}
