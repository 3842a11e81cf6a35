package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Crossing says how an exchange is made.
type Crossing struct {
	// Final is set once the box is gone. What is held back while it runs crosses then.
	Final bool
	// Budget is how long checking what the box has stored may take; zero means a minute. What is
	// not checked in time is refused, and stays in the copy.
	Budget time.Duration
}

// budget is the default of Crossing.Budget.
const budget = time.Minute

// mostKilled is how often an exchange may fail because its git was killed. Where the computer has too little
// memory, that would happen each time.
const mostKilled = 3

var errKilled = errors.New("git was killed each time it was tried")

// Report says what an exchange did.
type Report struct {
	Moved     []Change // refs of the host that now have the box's value
	Conflicts []Change // refs that the host moved, too: the box's value is at Kept
	Refused   []Change // refs whose values the host does not take
	Held      []Change // refs that cross only when the run ends
	Lines     []string // what else a person should know
	Settings  []string // configuration, hooks and the like that the box changed, which stay in the box
	Pending   bool     // something is left to cross, so the copy is needed
	Brought   bool     // refs, HEAD or an index of the host may be the box's now
	// Interrupted says that the caller ended the exchange; the next one goes on.
	Interrupted bool
	// Unfinished names operations such as a rebase, one a line, that the next box continues (see Resume). The copy
	// is needed for them, too.
	Unfinished []string
}

// Kept reports whether the copy is still needed.
func (r Report) Kept() bool { return r.Pending || len(r.Unfinished) > 0 }

// Change is what happened to one ref.
type Change struct {
	Repo, Ref string
	Old, New  string // "" when there is none
	Kept      string // the ref below refs/inner that has the value
	Why       string
}

// Name returns the ref as it can be shown: a box can give its own refs names of four thousand bytes.
func (ch Change) Name() string { return plainText(ch.Ref, 200) }

// boxState is what the exchanges of this process remember of one repository.
type boxState struct {
	intake *intake
	said   map[string]bool // what was reported already
	late   map[string]bool // values that were not checked in time; they are tried again at the end

	host, box packed
}

// Cross brings to the host what the box did to refs, HEAD and index, with the objects they need. An
// error concerns a repository as a whole: none of its refs has moved, and the next exchange tries
// again.
func (c *Copy) Cross(ctx context.Context, o Crossing) (Report, error) {
	var rep Report
	var errs []error
	if c.meta.Killed >= mostKilled && !o.Final {
		return rep, errKilled
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Budget, budget))
	defer cancel()
	c.dropUnmade()
	units := c.meta.Units
	if c.untouched() {
		units = nil
	}
	for _, u := range units {
		if err := c.crossUnit(ctx, u, o, &rep); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u.Common, err))
		}
		c.forget(u.N)
	}
	if o.Final {
		left := c.unsettledLines()
		rep.Lines, rep.Pending = append(rep.Lines, left...), rep.Pending || len(left) > 0
	}
	rep.Interrupted = errors.Is(ctx.Err(), context.Canceled)
	if err := errors.Join(errs...); err != nil && killed(err) {
		if c.meta.Killed++; c.meta.Killed >= mostKilled {
			errs = append(errs, errKilled)
		}
	}
	c.meta.Waits = rep.Pending || len(errs) > 0
	errs = append(errs, c.save())
	return rep, errors.Join(errs...)
}

// exchange is one exchange of one repository.
type exchange struct {
	*Copy
	u         *unit
	o         Crossing
	rep       *Report
	host, box *folder
	p         *plumbing
	base      *base
	seen      *boxState
	hostRefs  refs
	boxRefs   refSet
	moves     []*move
	heads     []*move           // symbolic refs, see remoteHead
	folded    map[string]string // see fold; nil until it is asked for
	views     []*viewState
	waits     error // what another git has locked: the next exchange tries again
}

// move is a ref that the box changed.
type move struct {
	name     string
	old, new string // the value on the host now, and in the box; "" for none
	to       string // the ref that gets the value: name, or one below refs/inner
	why      string // why to is not name
	held     bool
	done     bool
}

func (c *Copy) crossUnit(ctx context.Context, u *unit, o Crossing, rep *Report) (err error) {
	x := &exchange{Copy: c, u: u, o: o, rep: rep}
	if x.host, x.box, err = c.openUnit(u); err != nil {
		return err
	}
	defer x.host.close()
	defer x.box.close()
	if err = x.remember(); err != nil {
		return err
	}
	if !x.box.has("refs") && !x.box.has("objects") {
		if o.Final {
			x.say("%s: the box removed its git directory; outside it is as it was", u.Common)
		}
		return nil
	}
	if err := x.compare(ctx); err != nil {
		return err
	}
	if len(x.moves)+len(x.heads) > 0 || slices.ContainsFunc(x.views, (*viewState).changed) {
		if err := x.carry(ctx); err != nil {
			return err
		}
	}
	if !o.Final {
		return x.waits
	}
	x.sayStays()
	return errors.Join(x.last(ctx), x.waits)
}

// compare finds out what box and host have changed since the last exchange.
func (x *exchange) compare(ctx context.Context) (err error) {
	if x.boxRefs, err = readRefs(x.box, x.u.Digits, &x.seen.box); err != nil {
		return err
	}
	set, err := readRefs(x.host, x.u.Digits, &x.seen.host)
	if err != nil {
		return err
	}
	x.hostRefs = set.refs
	if x.o.Final {
		x.newModules(ctx)
	}
	if err := x.findViews(); err != nil {
		return err
	}
	return x.findMoves()
}

// remember takes up what is known of the repository from the last exchange.
func (x *exchange) remember() (err error) {
	if x.base = x.bases[x.u.N]; x.base == nil {
		if x.base, err = x.loadBase(x.u); err != nil {
			return err
		}
		x.bases[x.u.N] = x.base
	}
	if x.seen = x.Copy.seen[x.u.N]; x.seen == nil {
		x.seen = &boxState{said: map[string]bool{}, late: map[string]bool{}}
		x.Copy.seen[x.u.N] = x.seen
	}
	return nil
}

// sayStays tells which work trees stay as they are, and why.
func (x *exchange) sayStays() {
	for _, v := range x.views {
		switch {
		case v.unfinished != "":
			x.rep.Unfinished = append(x.rep.Unfinished, fmt.Sprintf("%s: %s; the next run of this profile here continues it", v.Top, v.stays))
		case v.gone:
		case v.stays != "" && (v.changed() || v.boxDigest == ""):
			x.say("%s: %s", v.Top, v.stays)
		}
	}
}

// carry brings objects, then refs, then what belongs to the work trees, so that the repository is
// consistent at every moment.
func (x *exchange) carry(ctx context.Context) (err error) {
	x.rep.Brought = true
	if x.p, err = x.newPlumbing(x.u, x.host); err != nil {
		return err
	}
	defer x.p.store.close()
	if err := x.carryObjects(ctx); err != nil {
		return err
	}
	if err := x.carryRefs(ctx); err != nil {
		return err
	}
	if err := x.carryRemoteHeads(); err != nil {
		return err
	}
	for _, v := range x.views {
		if err := x.carryView(v); errors.Is(err, ErrLocked) {
			x.waits = errors.Join(x.waits, err)
		} else if err != nil {
			x.say("%s: %v", v.Top, err)
		}
	}
	return nil
}

// say adds a line to the report, once in the life of this process.
func (x *exchange) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !x.seen.said[line] {
		x.seen.said[line] = true
		x.rep.Lines = append(x.rep.Lines, line)
	}
}

// inner returns the ref below refs/inner that keeps a value of this run.
func (x *exchange) inner(name string) string {
	return "refs/inner/" + x.meta.Run + "/" + strings.TrimPrefix(name, "refs/")
}

// unfit returns the ref below refs/inner for a value whose own name the host cannot have.
func (x *exchange) unfit(name string) string {
	return "refs/inner/" + x.meta.Run + "/refused/" + digest([]byte(name))[:12]
}

// ours reports whether a ref of the host still has the value it had when box and host last agreed,
// or the one that inner was about to set when it was killed.
func (x *exchange) ours(name, value string) bool {
	meant, was := x.base.meant[name]
	return x.base.refs[name] == value || was && meant == value
}

func (x *exchange) setting(what string) {
	if x.o.Final && !slices.Contains(x.rep.Settings, what) {
		x.rep.Settings = append(x.rep.Settings, what)
	}
}
