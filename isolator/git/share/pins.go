package share

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// When another file has come to a name, the kernel is told ESTALE, asks for the name once more, and opens what
// it was told: once. So a second rename of the host in between would be an error of git's, which no two
// terminals have. The file that was found when the kernel asked again is therefore kept open for the one open
// that follows, and goes when the box makes a lock file: who holds a lock reads what is true then.
type pins struct {
	mu   sync.Mutex
	list map[string]pin // by name
}

// pin is a file that waits to be opened; without a handle it is a name of which ESTALE was said.
type pin struct {
	h    *handle
	file uint64
	at   time.Time
}

// pinned is how long one waits. The kernel asks at once.
const pinned = 100 * time.Millisecond

// most bounds them: a box can ask for any number of names.
const mostPins = 16

func (p *pins) put(name string, one pin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(name)
	if p.list == nil || len(p.list) >= mostPins {
		p.clear()
	}
	one.at = time.Now()
	p.list[name] = one
}

// stale notes that ESTALE was said of a name, and wanted reports whether it was.
func (p *pins) stale(name string) { p.put(name, pin{}) }

func (p *pins) wanted(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, known := p.list[name]
	return known && one.h == nil && time.Since(one.at) < pinned
}

// with calls f with the file that is kept of a name, if it is this one, and reports whether f was called. Once
// it was taken it is kept no more.
func (p *pins) with(name string, file uint64, take bool, f func(*handle)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.list[name]
	if one.h == nil || one.file != file || time.Since(one.at) >= pinned {
		return false
	}
	f(one.h)
	if take {
		delete(p.list, name)
	}
	return true
}

func (p *pins) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

func (p *pins) clear() {
	for name := range p.list {
		p.drop(name)
	}
	p.list = map[string]pin{}
}

func (p *pins) drop(name string) {
	if one := p.list[name]; one.h != nil && one.h.fd >= 0 {
		unix.Close(one.h.fd)
	}
	delete(p.list, name)
}
