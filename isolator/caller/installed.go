package caller

import "sync"

// Installed remembers which programs are on PATH.
type Installed struct {
	mu    sync.Mutex
	there map[string]bool
}

// OnPath reports whether a program is on the caller's PATH, as FindReal finds it.
func (c *Caller) OnPath(name string) bool {
	look := func() bool {
		_, err := c.FindReal(name, c.Getenv("PATH"))
		return err == nil
	}
	in := c.Installed
	if in == nil {
		return look()
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	there, known := in.there[name]
	if !known {
		if in.there == nil {
			in.there = map[string]bool{}
		}
		there = look()
		in.there[name] = there
	}
	return there
}
