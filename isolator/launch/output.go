package launch

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/launch/wire"
)

// output is what copies to the person what the box writes: a relay for each of its terminals,
// in the order of console.ptys, and one for each pipe that stands in for a stream.
type output struct {
	relays  []*relay
	pumps   []*relay
	running int // relays and pumps that have not ended

	abandoned bool // a signal came while only output was left to write
}

// start starts a relay.
func (o *output) start(r *relay) {
	o.running++
	go func() {
		r.run()
		close(r.over)
		r.loop.do(func() { o.running-- })
	}()
}

// first is the relay of the first terminal, the only one that is held.
func (o *output) first() *relay { return o.relays[0] }

// hold has the first relay write nothing, from the end of a control sequence on; then the loop does
// something, unless goOn has ended that, or another hold has come.
func (o *output) hold(then func()) {
	o.first().hold.Store(&then)
	o.first().in.do(func() {})
}

func (o *output) goOn() {
	o.first().hold.Store(nil)
	o.first().in.do(func() {})
}

// end has the relays pass on what is in the terminals' buffers, and end: the program has ended,
// and nothing else of the box runs on. A pipe may still be written to until all is gone.
func (o *output) end(all bool) {
	for _, r := range o.relays {
		r.in.do(r.stop)
	}
	if all {
		for _, r := range o.pumps {
			r.in.do(r.stop)
		}
	}
}

// settle waits until what the stopped job has written is on the real terminal, a second at
// most.
func (o *output) settle() {
	limit := time.After(time.Second)
	for _, r := range o.relays {
		idle := make(chan struct{})
		r.in.do(func() {
			r.drain(-1)
			close(idle)
		})
		select {
		case <-idle:
		case <-r.over:
		case <-limit:
			return
		}
	}
}

// askedWithin is how long after its question a terminal may answer.
const askedWithin = 5 * time.Second

// asked reports whether the box has asked its first terminal something that the real one may
// still be answering.
func (o *output) asked() bool {
	return len(o.relays) > 0 && !o.first().gone && time.Since(time.Unix(0, o.first().asked.Load())) < askedWithin
}

// resets switches off on the real terminals what the program has left on. A relay that hangs on
// its terminal still owns the rest.
func (o *output) resets() {
	for _, r := range o.relays {
		if o.running == 0 && !r.gone {
			_ = wire.WriteAll(r.out, r.modes.resets())
		}
	}
}

// close lets go of what no relay uses any more.
func (o *output) close() {
	if o.running > 0 {
		return // the leaked goroutine still uses them; the process is about to end
	}
	for _, r := range append(o.relays, o.pumps...) {
		unix.Close(r.master)
		r.in.close()
	}
	o.relays, o.pumps = nil, nil
}

// openPipe makes the pipe that stands in for standard output or error, and returns the end that
// the program gets.
func (o *output) openPipe(i, to int, in *inbox, watch Watcher) (int, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return -1, fmt.Errorf("pipe2: %w", err)
	}
	_ = unix.SetNonblock(pipe[0], true)
	r, err := newRelay(&relay{master: pipe[0], out: to, loop: in, watch: watch, plain: true, release: i == 1 && isPipe(to)})
	if err != nil {
		wire.CloseAll(pipe[:])
		return -1, err
	}
	o.pumps = append(o.pumps, r)
	return pipe[1], nil
}

func sameFile(a, b int) bool {
	var sa, sb unix.Stat_t
	return unix.Fstat(a, &sa) == nil && unix.Fstat(b, &sb) == nil && sa.Dev == sb.Dev && sa.Ino == sb.Ino
}
