// Package deep makes room on a stack at once. The runtime begins with a few kilobytes and doubles them as calls go
// deeper: each time it copies what is there, and reads tables of the program to find the pointers in it. A start of
// inner would pay a third of a millisecond for that.
package deep

// Stack gives the goroutine that calls it, while little is on its stack, one for a start.
func Stack() { _ = frame(false) }

// frame has a frame of the size of room. Only the way that nobody goes clears it.
//
//go:noinline
func frame(clear bool) byte {
	if !clear {
		return 0
	}
	var room [100 << 10]byte
	return room[len(none)]
}

var none string
