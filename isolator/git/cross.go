package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Crossing says how an exchange is made.
type Crossing struct {
	// Final is set once the box is gone: what is held back while it runs crosses then.
	Final bool
	// Gitlink reports whether git outside may enter the repository at a path of a work tree: it
	// is the host's, or was made harmless. It is asked when Final is set. nil says no.
	Gitlink func(top, path string) bool
	// Budget is how long it may take to look at what the box has stored; zero means a minute.
	// What there is no time for is refused, and stays in the copy.
	Budget time.Duration
}

// budget is the time of an exchange, see Crossing.
const budget = time.Minute

// mostKilled is how often an exchange may fail because a git of it was killed: where the computer has not
// enough memory for it, it would be so each time.
const mostKilled = 3

var errKilled = errors.New("git was killed each time it was tried")

// Report is what an exchange did.
type Report struct {
	Moved     []Change // refs of the host that have the box's value now
	Conflicts []Change // refs that the host moved, too: the box's value is at Kept
	Refused   []Change // refs that the host does not take
	Held      []Change // refs that cross at the end
	Lines     []string // what else a person should know
	Settings  []string // what the box changed in configuration, hooks and the like, which stays with it
	Pending   bool     // something is left to cross, so the copy is needed
	// Interrupted says that the caller ended it: the next exchange goes on.
	Interrupted bool
	// Unfinished are operations like a rebase, each in a line, that the next box continues, see Resume. The copy
	// is needed for them, too.
	Unfinished []string
}

// Kept reports whether the copy is needed any more.
func (r Report) Kept() bool { return r.Pending || len(r.Unfinished) > 0 }

// Change is one ref.
type Change struct {
	Repo, Ref string
	Old, New  string // "" when there is none
	Kept      string // a ref of refs/inner that has the value
	Why       string
}

// Name is the ref as it can be shown: a box can give one of its own four thousand bytes.
func (ch Change) Name() string { return plainText(ch.Ref, 200) }

// boxState is what was read of a box, and said of it, by the exchanges of this process.
type boxState struct {
	intake *intake
	said   map[string]bool
	late   map[string]bool // values that there was no time for: they are tried again at the end

	host, box packed
}

// Cross gives the host what the box did to refs, HEAD and index, and the objects they need. An
// error is of the exchange as a whole: then no ref of that repository has moved, and the next
// exchange tries again.
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
	heads     []*move // symbolic refs, see remoteHead
	views     []*viewState
	waits     error // of what another git holds the lock: the next exchange tries again
}

// move is a ref that the box changed.
type move struct {
	name     string
	old, new string // of the host now, of the box; "" for none
	to       string // the ref that gets the value: name, or one of refs/inner
	why      string // it is not to be name
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
	if x.base = c.bases[u.N]; x.base == nil {
		if x.base, err = c.loadBase(u); err != nil {
			return err
		}
		c.bases[u.N] = x.base
	}
	if x.seen = c.seen[u.N]; x.seen == nil {
		x.seen = &boxState{said: map[string]bool{}, late: map[string]bool{}}
		c.seen[u.N] = x.seen
	}
	if !x.box.has("refs") && !x.box.has("objects") {
		if o.Final {
			x.say("%s: the box removed its git directory; outside it is as it was", u.Common)
		}
		return nil
	}
	if x.boxRefs, err = readRefs(x.box, u.Digits, &x.seen.box); err != nil {
		return err
	}
	set, err := readRefs(x.host, u.Digits, &x.seen.host)
	if err != nil {
		return err
	}
	x.hostRefs = set.refs
	if o.Final {
		x.newModules(ctx)
	}
	if err := x.findViews(); err != nil {
		return err
	}
	if err := x.findMoves(); err != nil {
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
	for _, v := range x.views {
		switch {
		case v.unfinished != "":
			rep.Unfinished = append(rep.Unfinished, fmt.Sprintf("%s: %s; the next run of this profile here continues it", v.Top, v.stays))
		case v.gone:
		case v.stays != "" && (v.changed() || v.boxDigest == ""):
			x.say("%s: %s", v.Top, v.stays)
		}
	}
	return errors.Join(x.last(ctx), x.waits)
}

// carry brings objects, then refs, then what belongs to the work trees: whatever is there
// at any moment is whole.
func (x *exchange) carry(ctx context.Context) (err error) {
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

// say adds a line to the report, once in the life of a copy.
func (x *exchange) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if !x.seen.said[line] {
		x.seen.said[line] = true
		x.rep.Lines = append(x.rep.Lines, line)
	}
}

// inner returns the place of a ref for what is kept of this run.
func (x *exchange) inner(name string) string {
	return "refs/inner/" + x.meta.Run + "/" + strings.TrimPrefix(name, "refs/")
}

// unfit returns the place for the value of a ref whose name the host cannot have.
func (x *exchange) unfit(name string) string {
	return "refs/inner/" + x.meta.Run + "/refused/" + digest([]byte(name))[:12]
}

// ours reports whether the host has for a ref what it had when box and host last agreed, or what
// inner was about to give it when it was killed.
func (x *exchange) ours(name, value string) bool {
	meant, was := x.base.meant[name]
	return x.base.refs[name] == value || was && meant == value
}

// findMoves compares the box's refs with those of the last exchange.
func (x *exchange) findMoves() error {
	names := map[string]bool{}
	for name, value := range x.boxRefs.refs {
		if x.base.refs[name] != value {
			names[name] = true
		}
	}
	for name := range x.base.refs {
		if _, has := x.boxRefs.refs[name]; !has && x.boxRefs.odd[name] == "" {
			names[name] = true
		}
	}
	if len(names)+len(x.boxRefs.odd) > maxMoves {
		return fmt.Errorf("the box changed %d refs, and no more than %d cross", len(names)+len(x.boxRefs.odd), maxMoves)
	}
	for name, why := range x.boxRefs.odd {
		x.say("the box's ref %s %s, and does not cross", plainText(name, 200), why)
	}
	var folded map[string]string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		m := &move{name: name, old: x.hostRefs[name], new: x.boxRefs.refs[name], to: name}
		_, known := x.base.refs[name]
		_, symOld := symbolic(m.old)
		_, symNew := symbolic(m.new)
		_, symBase := symbolic(x.base.refs[name])
		switch {
		case hasPrefix(name, "refs/bisect", "refs/worktree", "refs/rewritten"):
			continue // of one worktree, and of an operation
		case m.old == m.new:
			if err := x.base.write('=', map[string]string{name: m.new}); err != nil {
				x.say("%v", err)
			}
			continue
		case symOld || symNew || symBase:
			if x.remoteHead(m) {
				x.heads = append(x.heads, m)
			} else {
				x.setting("the symbolic ref " + plainText(name, 200))
			}
			continue
		case hasPrefix(name, "refs/replace", "refs/inner"):
			m.why = "is in a place that git or inner gives a meaning of its own"
		case !known:
			if m.why = refName(name); m.why == "" {
				if folded == nil {
					folded = x.fold()
				}
				if twin := folded[strings.ToLower(name)]; twin != name && twin != "" {
					m.why = "differs from " + plainText(twin, 200) + " by case only"
				}
			}
		}
		x.place(m)
		x.moves = append(x.moves, m)
	}
	// Entries below the newest come and go without a new value of the ref.
	if top := x.hostRefs[stashRef]; top != "" && top == x.boxRefs.refs[stashRef] && top == x.base.refs[stashRef] && x.stashDiffers() {
		x.moves = append(x.moves, &move{name: stashRef, old: top, new: top, to: stashRef})
	}
	return nil
}

// Most refs that a box may have changed. Each takes a kilobyte of memory while it crosses.
const maxMoves = 250_000

// stashDiffers reports whether the box has other entries in its stash than the host, who changed none.
func (x *exchange) stashDiffers() bool {
	log, err := x.host.read("logs/"+stashRef, maxLog)
	if err != nil || digest(log) != x.u.Stash {
		return false
	}
	host, err := readLog(log, x.u.Digits)
	if err != nil || len(host) > maxStashes {
		return false
	}
	box, err := x.boxStash(x.boxRefs.refs[stashRef])
	return err != nil || !slices.EqualFunc(host, box, func(a, b logEntry) bool { return a.New == b.New })
}

// fold has the names of the host's and of the box's refs by what they are without
// regard to case. The host's come before the box's.
func (x *exchange) fold() map[string]string {
	out := make(map[string]string, len(x.hostRefs))
	for _, name := range slices.Sorted(maps.Keys(x.boxRefs.refs)) {
		if lower := strings.ToLower(name); out[lower] == "" {
			out[lower] = name
		}
	}
	for name := range x.hostRefs {
		out[strings.ToLower(name)] = name
	}
	return out
}

// place decides where a value goes.
func (x *exchange) place(m *move) {
	switch {
	case m.why != "":
		m.to = x.unfit(m.name)
	case x.u.Elsewhere[m.name]:
		m.why, m.to = "is checked out in a worktree that the box does not have", x.inner(m.name)
	case slices.ContainsFunc(x.views, func(v *viewState) bool { return v.switched() && v.hostHead == "ref: "+m.name }):
		m.why, m.to = "was checked out outside meanwhile", x.inner(m.name)
	case !x.ours(m.name, m.old):
		m.why, m.to = "was moved outside, too", x.inner(m.name)
	}
	if m.to != m.name {
		m.old = x.hostRefs[m.to]
		m.done = m.new == "" || m.old == m.new // nothing is deleted there
	}
}

func (x *exchange) setting(what string) {
	if x.o.Final && !slices.Contains(x.rep.Settings, what) {
		x.rep.Settings = append(x.rep.Settings, what)
	}
}

// Most values of the host's refs that the walk over the box's history is told to stop at.
const maxHave = 4096

// have are values that the host has: its branches first.
func (x *exchange) have() []string {
	seen := map[string]bool{}
	var out []string
	add := func(value string) {
		if _, sym := symbolic(value); value != "" && !sym && !seen[value] && len(out) < maxHave {
			seen[value] = true
			out = append(out, value)
		}
	}
	for _, v := range x.views {
		add(v.hostHead)
	}
	for _, m := range x.moves {
		add(x.hostRefs[m.name])
	}
	for _, prefix := range []string{"refs/heads/", "refs/stash", "refs/remotes/", "refs/"} {
		if len(out) >= maxHave {
			break
		}
		for name, value := range x.hostRefs {
			if strings.HasPrefix(name, prefix) {
				add(value)
			}
		}
	}
	return out
}

// tips are the values that have to be reachable outside when this is done: those the host's refs
// do not have yet.
func (x *exchange) tips() []string {
	known := map[string]bool{}
	for _, value := range x.hostRefs {
		known[value] = true
	}
	var out []string
	add := func(value string) {
		if _, sym := symbolic(value); value != "" && !sym && !known[value] {
			known[value] = true
			out = append(out, value)
		}
	}
	for _, m := range x.moves {
		if !m.done {
			add(m.new)
		}
	}
	for _, v := range x.views {
		add(v.boxHead)
		for _, oid := range v.objects {
			add(oid)
		}
	}
	return out
}

// carryObjects brings what the new values need. A value that cannot be brought is refused, the others
// are not.
func (x *exchange) carryObjects(ctx context.Context) error {
	if err := x.wantObjects(ctx); err != nil {
		return err
	}
	tips := x.tips()
	for _, m := range x.moves {
		for _, e := range m.stashes(x) {
			tips = append(tips, e.New)
		}
	}
	bad, have := map[string]string{}, x.have()
	if len(tips) > 0 {
		if x.seen.intake == nil {
			in, err := x.newIntake(x.u)
			if err != nil {
				return err
			}
			x.seen.intake = in
		}
		refused := func(part []string, why error) {
			if x.seen.intake.late && !errors.Is(why, errLate) {
				why = fmt.Errorf("%w: a part of what it needs was not looked at", errLate)
			}
			for _, tip := range part {
				bad[tip] = why.Error()
				if errors.Is(why, errLate) && !x.o.Final {
					x.seen.late[tip] = true
				}
			}
		}
		tips = slices.DeleteFunc(tips, func(tip string) bool {
			tried := x.seen.late[tip] && !x.o.Final
			if tried {
				bad[tip] = errLate.Error()
			}
			return tried
		})
		if len(tips) > 0 {
			if err := x.seen.intake.take(ctx, x.Copy, x.p, x.box, x.u.Digits); errors.Is(err, errLate) {
				refused(tips, err)
				tips = nil
			} else if err != nil {
				return err
			}
		}
		if err := inParts(ctx, tips, func(part []string) error { return x.bring(ctx, part, have) }, refused); err != nil {
			return err
		}
	}
	if err := x.holdLinks(ctx, have, bad); err != nil {
		return err
	}
	x.refuse(bad)
	return nil
}

// mostParts is how often something is tried that fails. A box can make a hundred thousand refs that all fail.
const mostParts = 200

// inParts does something with a list and, where that fails, with the halves of it: what fails is no reason for the rest.
// When it was tried too often, all that is left has failed. What would fail again for all of them ends it.
func inParts[T any](ctx context.Context, list []T, do func([]T) error, failed func([]T, error)) error {
	tries := 0
	var part func(list []T) error
	part = func(list []T) error {
		if ctx.Err() != nil {
			failed(list, late(ctx))
			return nil
		}
		err := do(list)
		tries++
		switch {
		case err == nil:
			return nil
		case Passing(err):
			return err
		case len(list) == 1 || tries >= mostParts:
			failed(list, err)
			return nil
		}
		if err := part(list[:len(list)/2]); err != nil {
			return err
		}
		return part(list[len(list)/2:])
	}
	return part(list)
}

func (x *exchange) bring(ctx context.Context, tips, have []string) error {
	if len(tips) == 0 {
		return nil
	}
	ctx, cancel := portion(ctx)
	defer cancel()
	b, err := x.seen.intake.gather(ctx, x.Copy, x.p, x.u, tips, have)
	if err != nil {
		return err
	}
	return b.store(ctx, x.Copy, x.p)
}

// noSpace reports whether an exchange failed for want of room on the disk.
func noSpace(err error) bool {
	return strings.Contains(err.Error(), "No space left") || strings.Contains(err.Error(), "no space left") || strings.Contains(err.Error(), "quota exceeded")
}

// Passing reports whether an exchange failed for a reason that goes away by itself, so that the next call tries again: the
// disk is full, another git is at work, a git of ours was killed.
func Passing(err error) bool {
	if errors.Is(err, errKilled) {
		return false
	}
	return killed(err) || errors.Is(err, ErrLocked) || noSpace(err)
}

// killed reports whether a git was killed, by the kernel for want of memory or by somebody.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// refuse marks what needs an object that did not come.
func (x *exchange) refuse(bad map[string]string) {
	for _, m := range x.moves {
		why, refused := bad[m.new]
		if !refused {
			for _, e := range m.stashes(x) {
				if w, r := bad[e.New]; r {
					why, refused = w, true
				}
			}
		}
		if refused {
			m.done = true
			x.rep.Pending = true // the copy is where it is to be found
			key := m.name + m.new
			if x.seen.late[m.new] && !x.o.Final {
				continue // it is tried again at the end
			}
			if !x.seen.said[key] {
				x.seen.said[key] = true
				x.rep.Refused = append(x.rep.Refused, Change{Repo: x.u.Common, Ref: m.name, New: m.new, Why: why})
			}
		}
	}
	for _, v := range x.views {
		if why, refused := bad[v.boxHead]; refused {
			v.stays = "its HEAD needs objects that cannot cross: " + why
		}
		for _, oid := range v.objects {
			if why, refused := bad[oid]; refused {
				v.stays = "its index needs objects that cannot cross: " + why
			}
		}
	}
}

// holdLinks holds values back with which the host's git would look for a repository where it does not now: its `git stash`
// and `git reset --hard` take what a branch has into the index, and git enters the places that the index has. The commit need
// not be the box's: the host's own history may have a submodule that is gone, and the box can make something in its place.
func (x *exchange) holdLinks(ctx context.Context, have []string, bad map[string]string) error {
	type bringer struct {
		values []string
		hold   func(why string)
	}
	var list []bringer
	for _, m := range x.moves {
		if m.done || m.new == "" || bad[m.new] != "" {
			continue
		}
		values := []string{m.new}
		for _, e := range m.stashes(x) {
			values = append(values, e.New)
		}
		list = append(list, bringer{values, func(why string) {
			m.held = true
			x.rep.Held = append(x.rep.Held, Change{Repo: x.u.Common, Ref: m.name, New: m.new, Why: heldWhy(why)})
			x.rep.Pending = true
		}})
	}
	for _, v := range x.views {
		if head := resolve(v.boxHead, x.boxRefs.refs); head != "" && v.boxHead != v.hostHead && bad[head] == "" {
			list = append(list, bringer{[]string{head}, func(why string) { v.stays = "its HEAD " + why }})
		}
	}
	if len(list) == 0 {
		return nil
	}
	foreign := func(part []bringer) error {
		var values []string
		for _, b := range part {
			values = append(values, b.values...)
		}
		ctx, cancel := portion(ctx)
		defer cancel()
		found, err := x.gitlinks(ctx, values, have)
		if err != nil {
			return err
		}
		for _, path := range slices.Sorted(maps.Keys(found)) {
			if !x.mayLink(path) {
				return foreignLink("brings the repository at " + plainText(path, 200))
			}
		}
		return nil
	}
	var fault error
	err := inParts(ctx, list, foreign, func(part []bringer, why error) {
		if !errors.As(why, new(foreignLink)) && !errors.Is(why, errLate) {
			fault = why
		}
		for _, b := range part {
			b.hold(why.Error())
		}
	})
	return errors.Join(err, fault)
}

// heldWhy is why a ref waits, as a sentence.
func heldWhy(why string) string {
	if strings.HasPrefix(why, "brings ") {
		return "it " + why + ", which git outside would enter"
	}
	return why
}

// foreignLink says which repository a commit would have the host's git enter.
type foreignLink string

func (f foreignLink) Error() string { return string(f) }

// mayLink reports whether the host's git may find another repository at a path, in each of the box's work trees.
func (x *exchange) mayLink(path string) bool {
	for _, v := range x.views {
		if x.hostIndexRead(v).gitlinks()[path] {
			continue
		}
		if !x.o.Final || treePath(path) != "" || !x.mayEnter(v.Top, path) {
			return false
		}
	}
	return len(x.views) > 0
}

// carryRefs moves the host's refs, all at once where that is possible.
func (x *exchange) carryRefs(ctx context.Context) error {
	var todo []*move
	for _, m := range x.moves {
		if !m.done && !m.held && m.name != stashRef {
			todo = append(todo, m)
		}
	}
	if len(todo) > 0 {
		if err := x.transact(ctx, todo); err != nil {
			return err
		}
	}
	for _, m := range x.moves {
		if m.name == stashRef && !m.done && !m.held {
			if err := x.carryStash(ctx, m); err != nil {
				return err
			}
		}
	}
	for _, m := range x.moves {
		x.tell(m)
	}
	return nil
}

// tell puts a ref that moved, or went somewhere else, into the report.
func (x *exchange) tell(m *move) {
	switch key := m.name + " " + m.new + " " + m.to; {
	case m.held || x.seen.said[key]:
	case m.to != m.name:
		x.seen.said[key] = true
		ch := Change{Repo: x.u.Common, Ref: m.name, Old: x.hostRefs[m.name], New: m.new, Why: m.why}
		if m.new != "" {
			ch.Kept = m.to
		}
		x.rep.Conflicts = append(x.rep.Conflicts, ch)
	case m.done && x.hostRefs[m.name] == m.new:
		x.rep.Moved = append(x.rep.Moved, Change{Repo: x.u.Common, Ref: m.name, Old: m.old, New: m.new})
	}
}

// transact moves refs in one transaction, or each by itself when that fails: one that
// cannot move is no reason for the others.
func (x *exchange) transact(ctx context.Context, todo []*move) error {
	lost, err := x.lost(ctx, todo)
	if err != nil {
		return err
	}
	meant := map[string]string{}
	for _, m := range todo {
		if m.to == m.name {
			meant[m.name] = m.new
		}
	}
	if err := x.base.write('?', meant); err != nil {
		return err
	}
	err = x.update(ctx, todo, lost)
	if err == nil || len(todo) == 1 && todo[0].to != todo[0].name {
		return err
	}
	// What is deleted makes room: `git branch -m a a/b`.
	slices.SortStableFunc(todo, func(a, b *move) int { return min(len(a.new), 1) - min(len(b.new), 1) })
	update := func(part []*move) error { return x.update(ctx, part, lost) }
	var elsewhere []*move
	err = inParts(ctx, todo, update, func(part []*move, why error) {
		for _, m := range part {
			m.why, m.to = "could not be moved: "+why.Error(), x.unfit(m.name)
			m.old = x.hostRefs[m.to]
			if m.done = m.new == "" || m.old == m.new; !m.done {
				elsewhere = append(elsewhere, m)
			}
		}
	})
	if err != nil || len(elsewhere) == 0 {
		return err
	}
	return inParts(ctx, elsewhere, update, func(part []*move, why error) {
		x.rep.Pending = true // the copy is where they are
		x.say("%d refs of the box, %s among them: %v", len(part), plainText(part[0].name, 200), why)
	})
}

// More refs than that are brought to the disk all at once: one by one takes some ten milliseconds for each.
const manyRefs = 100

// update is one transaction of the host's git. A lock that another git holds for a moment is waited for.
func (x *exchange) update(ctx context.Context, todo []*move, lost map[string]bool) error {
	var in strings.Builder
	in.WriteString("start\x00")
	for _, m := range todo {
		switch {
		case m.new == "":
			fmt.Fprintf(&in, "delete %s\x00%s\x00", m.name, m.old)
		case m.old == "":
			fmt.Fprintf(&in, "create %s\x00%s\x00", m.to, m.new)
		default:
			fmt.Fprintf(&in, "update %s\x00%s\x00%s\x00", m.to, m.new, m.old)
		}
		if m.to == m.name && m.old != "" && lost[m.name] {
			if keep := x.inner("refs/old/" + strings.TrimPrefix(m.name, "refs/")); x.hostRefs[keep] != m.old {
				fmt.Fprintf(&in, "update %s\x00%s\x00\x00", keep, m.old)
			}
		}
	}
	in.WriteString("prepare\x00commit\x00")
	args := []string{"update-ref", "-m", x.message(""), "--stdin", "-z"}
	if err := x.host.mkdir("logs", folderMode); err != nil {
		return err
	}
	var err error
	for try := range 4 {
		if try > 0 {
			time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		}
		_, err = x.p.text(ctx, call{args: args, in: strings.NewReader(in.String()), syncLater: len(todo) > manyRefs})
		if err == nil || !lockedRef(err) {
			break
		}
		if err := x.unlockRefs(x.host, x.base); err != nil {
			return err
		}
	}
	if err == nil && len(todo) > manyRefs {
		err = unix.Syncfs(x.host.fd)
	}
	if err != nil {
		return err
	}
	done := map[string]string{}
	for _, m := range todo {
		m.done = true
		if m.new == "" {
			delete(x.hostRefs, m.to)
		} else {
			x.hostRefs[m.to] = m.new
		}
		if m.to == m.name {
			done[m.name] = m.new
		}
	}
	return x.base.write('=', done)
}

// lockedRef reports whether git failed because of a lock.
func lockedRef(err error) bool { return strings.Contains(err.Error(), ".lock': File exists") }

func (x *exchange) message(text string) string {
	if text = plainText(strings.TrimSpace(text), 200); text != "" {
		text = ": " + text
	}
	return "inner " + x.meta.Run + text
}

// Most old values of which it is asked whether something else leads to them: each takes a walk. More are kept anyway.
const maxAsked = 100

// lost returns the old values that nothing would lead to any more: those of refs that are deleted,
// and of refs without a log that are moved. They are kept in refs/inner/RUN/old.
func (x *exchange) lost(ctx context.Context, todo []*move) (map[string]bool, error) {
	left := maps.Clone(x.hostRefs)
	var olds []*move
	for _, m := range todo {
		if m.to != m.name {
			continue
		}
		delete(left, m.name)
		if m.new != "" {
			left[m.name] = m.new
		}
		logged := hasPrefix(m.name, "refs/heads", "refs/remotes", "refs/notes") && m.new != ""
		if m.old != "" && !logged && !hasPrefix(m.name, "refs/remotes") {
			olds = append(olds, m)
		}
	}
	out := map[string]bool{}
	if len(olds) == 0 {
		return out, nil
	}
	if len(olds) > maxAsked {
		for _, m := range olds {
			out[m.name] = true
		}
		return out, nil
	}
	values := map[string]bool{}
	for _, value := range left {
		values[value] = true
	}
	for _, m := range olds {
		if values[m.old] {
			continue
		}
		in := m.old + "\n"
		n := 0
		for value := range values {
			if _, sym := symbolic(value); !sym && n < maxHave {
				in += "^" + value + "\n"
				n++
			}
		}
		text, err := x.p.text(ctx, call{args: []string{"rev-list", "--objects", "--max-count=1", "--stdin"}, in: strings.NewReader(in)})
		if err != nil || text != "" {
			out[m.name] = true // when in doubt it is kept
		}
	}
	return out, nil
}

// stashes are the entries of the box's stash, newest first, nil for another ref.
func (m *move) stashes(x *exchange) []logEntry {
	if m.name != stashRef || m.new == "" || m.to != m.name {
		return nil
	}
	list, err := x.boxStash(m.new)
	if err != nil {
		return nil
	}
	return list
}

// boxStash reads the log that the entries of a stash are in.
func (x *exchange) boxStash(top string) ([]logEntry, error) {
	data, err := x.box.read("logs/"+stashRef, maxLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := readLog(data, x.u.Digits)
	if err != nil {
		return nil, err
	}
	if len(list) > maxStashes {
		list = list[len(list)-maxStashes:]
	}
	if len(list) > 0 && list[len(list)-1].New != top {
		return nil, errors.New("the log of the stash does not end with the stash")
	}
	return list, nil
}
