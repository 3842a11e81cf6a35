package launch

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// output is what copies to the person what the box writes: a relay for each of its terminals,
// in the order of console.ptys, and one for each pipe that stands in for a stream.
type output struct {
	relays []*relay
	pumps  []*relay

	abandoned bool // a signal came while only output was left to write
}

// first is the relay of the first terminal, the only one that is held.
func (o *output) first() *relay { return o.relays[0] }

func (o *output) all() []*relay { return slices.Concat(o.relays, o.pumps) }

// busy reports whether more is to be passed on.
func (o *output) busy() bool {
	return slices.ContainsFunc(o.all(), func(r *relay) bool { return !r.ended || len(r.waiting) > 0 })
}

// end has the relays pass on what is in the terminals' buffers, and end: the program has ended,
// and nothing else of the box runs on. A pipe may still be written to until all is gone.
func (o *output) end(all bool) {
	list := o.relays
	if all {
		list = o.all()
	}
	for _, r := range list {
		if !r.last {
			r.last, r.budget = true, lastOutput
		}
		for r.read() {
		}
	}
}

// settle waits until what the stopped job has written is on the real terminal, a second at
// most.
func (o *output) settle() {
	end := time.Now().Add(time.Second)
	for _, r := range o.relays {
		for r.read() || len(r.waiting) > 0 {
			left := time.Until(end)
			if left <= 0 {
				return
			}
			if len(r.waiting) > 0 {
				wire.Poll(r.out, unix.POLLOUT, int(left/time.Millisecond))
				r.flush()
			}
		}
	}
}

// askedWithin is how long after its question a terminal may answer.
const askedWithin = 5 * time.Second

// asked reports whether the box has asked its first terminal something that the real one may
// still be answering.
func (o *output) asked() bool {
	return len(o.relays) > 0 && !o.first().gone && time.Since(o.first().asked) < askedWithin
}

// resets switches off on the real terminals what the program has left on.
func (o *output) resets() {
	for _, r := range o.relays {
		if !r.gone && len(r.waiting) == 0 {
			_ = wire.WriteAll(r.out, r.modes.resets())
		}
	}
}

func (o *output) close() {
	for _, r := range o.all() {
		closeFds(&r.master, &r.out)
	}
	o.relays, o.pumps = nil, nil
}

func sameFile(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}
