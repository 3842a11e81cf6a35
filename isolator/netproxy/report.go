package netproxy

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxHosts bounds what a program can make the proxy remember by asking for ever
// new names. What is beyond shares one entry.
const maxHosts = 4096

// record is what is known of a target.
type record struct {
	up, down atomic.Int64

	mu   sync.Mutex
	host Host // but for its name and the bytes
	told []Kind
}

// record returns what is known of a target.
func (p *Proxy) record(to Target) *record {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts[to] == nil && len(p.hosts) >= maxHosts {
		to = Target{}
	}
	if p.hosts[to] == nil {
		p.hosts[to] = &record{}
	}
	return p.hosts[to]
}

// note changes what is known.
func (r *record) note(change func(*Host)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.host)
}

// told counts a fault and tells the owner of the proxy about a refusal the first
// time.
func (p *Proxy) told(to Target, f *Refusal) {
	r, first := p.record(to), false
	r.note(func(h *Host) {
		if h.Reason = f.Reason; f.Kind == "" {
			h.Failed++
			return
		}
		if h.Refused++; h.Refused == 1 {
			h.FirstRefused = time.Now()
		}
		if first = !slices.Contains(r.told, f.Kind); first {
			r.told = append(r.told, f.Kind)
		}
	})
	if first && p.o.Refused != nil {
		p.o.Refused(*f)
	}
}

// Report returns what became of the requests until now, sorted by host and port.
func (p *Proxy) Report() []Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Host, 0, len(p.hosts))
	for to, r := range p.hosts {
		r.note(func(h *Host) {
			h.Host, h.Port, h.Up, h.Down = to.Host, to.Port, r.up.Load(), r.down.Load()
			list = append(list, *h)
		})
	}
	slices.SortFunc(list, func(a, b Host) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return list
}
