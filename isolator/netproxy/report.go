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

// table is what is known of each target.
type table struct {
	mu    sync.Mutex
	hosts map[Target]*record
}

type record struct {
	allowed, refused, failed, up, down atomic.Int64

	mu     sync.Mutex
	origin string
	reason string
	plain  bool
	told   []Kind
	first  time.Time // of the refusals
}

// of returns the record of a target.
func (t *table) of(to Target) *record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.hosts == nil {
		t.hosts = map[Target]*record{}
	}
	r := t.hosts[to]
	if r == nil && len(t.hosts) >= maxHosts {
		to = Target{}
		r = t.hosts[to]
	}
	if r == nil {
		r = &record{}
		t.hosts[to] = r
	}
	return r
}

// from notes what allowed a target, also when no connection comes of it.
func (r *record) from(origin string) {
	r.mu.Lock()
	r.origin = origin
	r.mu.Unlock()
}

func (r *record) fail(reason string) {
	r.failed.Add(1)
	r.mu.Lock()
	r.reason = reason
	r.mu.Unlock()
}

// refuse counts a refusal and reports whether it is the first of its kind.
func (r *record) refuse(k Kind, reason string) bool {
	r.refused.Add(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reason = reason
	if r.first.IsZero() {
		r.first = time.Now()
	}
	if slices.Contains(r.told, k) {
		return false
	}
	r.told = append(r.told, k)
	return true
}

func (r *record) setPlain() {
	r.mu.Lock()
	r.plain = true
	r.mu.Unlock()
}

// Report returns what became of the requests until now, sorted by host and port.
func (p *Proxy) Report() []Host {
	p.hosts.mu.Lock()
	defer p.hosts.mu.Unlock()
	list := make([]Host, 0, len(p.hosts.hosts))
	for to, r := range p.hosts.hosts {
		r.mu.Lock()
		list = append(list, Host{
			Host: to.Host, Port: to.Port, Origin: r.origin, Allowed: r.allowed.Load(), Refused: r.refused.Load(),
			Failed: r.failed.Load(), Up: r.up.Load(), Down: r.down.Load(), Plain: r.plain, Reason: r.reason, FirstRefused: r.first,
		})
		r.mu.Unlock()
	}
	slices.SortFunc(list, func(a, b Host) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port))
	})
	return list
}
