package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// The objects that an exchange brings to the host, and what keeps one from it.

// maxHave is the most values of the host's refs at which the walk over the box's history stops.
const maxHave = 4096

// have returns values that the host has: its branches first.
func (x *exchange) have() []string {
	have := objectList{most: maxHave, known: map[string]bool{}}
	for _, v := range x.views {
		have.add(v.hostHead)
	}
	for _, m := range x.moves {
		have.add(x.hostRefs[m.name])
	}
	for _, prefix := range []string{"refs/heads/", "refs/stash", "refs/remotes/", "refs/"} {
		for name, value := range x.hostRefs {
			if strings.HasPrefix(name, prefix) {
				have.add(value)
			}
		}
	}
	return have.list
}

// objectList collects at most that many names of objects, those that are not known yet.
type objectList struct {
	most  int
	known map[string]bool
	list  []string
}

// add takes values of refs and HEADs. One that is empty or the name of a ref is no object.
func (l *objectList) add(values ...string) {
	for _, value := range values {
		if value != "" && !isSymbolic(value) && !l.known[value] && len(l.list) < l.most {
			l.known[value] = true
			l.list = append(l.list, value)
		}
	}
}

// tips returns the values whose objects the host needs: those that its refs do not have yet.
func (x *exchange) tips() []string {
	tips := objectList{most: math.MaxInt, known: map[string]bool{}}
	for _, value := range x.hostRefs {
		tips.known[value] = true
	}
	for _, m := range x.moves {
		if !m.done {
			tips.add(m.new)
		}
		tips.add(m.stashed(x)...)
	}
	for _, v := range x.views {
		tips.add(v.boxHead)
		tips.add(v.objects...)
	}
	return tips.list
}

// carryObjects brings the objects that the new values need. A value that cannot be brought is refused
// without the others.
func (x *exchange) carryObjects(ctx context.Context) error {
	if err := x.wantObjects(ctx); err != nil {
		return err
	}
	bad, have := map[string]string{}, x.have()
	if err := x.bringAll(ctx, x.tips(), have, bad); err != nil {
		return err
	}
	if err := x.holdLinks(ctx, have, bad); err != nil {
		return err
	}
	x.refuse(bad)
	return nil
}

// bringAll brings what these values need, and notes in bad why one cannot be brought. What was not checked in time is
// not tried again before the end.
func (x *exchange) bringAll(ctx context.Context, tips, have []string, bad map[string]string) error {
	if !x.o.Final {
		tips = slices.DeleteFunc(tips, func(tip string) bool {
			if x.seen.late[tip] {
				bad[tip] = errLate.Error()
			}
			return x.seen.late[tip]
		})
	}
	if len(tips) == 0 {
		return nil
	}
	switch err := x.take(ctx); {
	case errors.Is(err, errLate):
		x.notBrought(tips, err, bad)
		return nil
	case err != nil:
		return err
	}
	return inParts(ctx, tips, func(part []string) error { return x.bring(ctx, part, have) }, func(part []string, why error) {
		x.notBrought(part, why, bad)
	})
}

// notBrought notes why these values could not be brought.
func (x *exchange) notBrought(tips []string, why error, bad map[string]string) {
	if x.seen.intake.late && !errors.Is(why, errLate) {
		why = fmt.Errorf("%w: a part of what it needs was not looked at", errLate)
	}
	for _, tip := range tips {
		bad[tip] = why.Error()
		if errors.Is(why, errLate) && !x.o.Final {
			x.seen.late[tip] = true
		}
	}
}

// mostParts bounds the tries of inParts. A box can make a hundred thousand refs that all fail.
const mostParts = 200

// inParts calls do with a list and, where that fails, with its halves, so that one item that fails does not stop
// the others. After mostParts tries everything that is left counts as failed. An error that goes away by itself (see
// Passing) ends it, since it would come again for every part.
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
	ctx, cancel := portion(ctx)
	defer cancel()
	b, err := x.gather(ctx, tips, have)
	if err != nil {
		return err
	}
	defer b.close()
	return x.store(ctx, b)
}

// noSpace reports whether an exchange failed because the disk is full.
func noSpace(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "no space left") || strings.Contains(text, "quota exceeded")
}

// Passing reports whether an exchange failed for a reason that may go away by itself, so that the next call tries
// again: the disk is full, another git is at work, or a git that inner started was killed.
func Passing(err error) bool {
	if errors.Is(err, errKilled) {
		return false
	}
	return killed(err) || errors.Is(err, ErrLocked) || noSpace(err)
}

// killed reports whether a git was killed, by a person or by the kernel because memory ran out.
func killed(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signal() == syscall.SIGKILL // -1 for one that exited
}

// refuse marks the refs and work trees that need an object that was refused.
func (x *exchange) refuse(bad map[string]string) {
	for _, m := range x.moves {
		if why := whyBad(bad, append(m.stashed(x), m.new)); why != "" {
			x.refuseMove(m, why)
		}
	}
	for _, v := range x.views {
		if why := bad[v.boxHead]; why != "" {
			v.stays = "its HEAD needs objects that cannot cross: " + why
		}
		if why := whyBad(bad, v.objects); why != "" {
			v.stays = "its index needs objects that cannot cross: " + why
		}
	}
}

// whyBad says why the last of these objects that was refused was refused, or "".
func whyBad(bad map[string]string, list []string) string {
	for _, oid := range slices.Backward(list) {
		if why := bad[oid]; why != "" {
			return why
		}
	}
	return ""
}

// refuseMove reports a ref whose value was refused, once.
func (x *exchange) refuseMove(m *move, why string) {
	m.done = true
	x.rep.Pending = true // the copy is where it is to be found
	key := m.name + m.new
	if x.seen.said[key] || x.seen.late[m.new] && !x.o.Final { // what is late is tried again at the end
		return
	}
	x.seen.said[key] = true
	x.rep.Refused = append(x.rep.Refused, Change{Repo: x.u.Common, Ref: m.name, New: m.new, Why: why})
}

// claim is what a ref or a HEAD of the box is about to name on the host, and how it is held back.
type claim struct {
	values []string
	hold   func(why string)
}

// claims lists those that were not refused.
func (x *exchange) claims(bad map[string]string) (list []claim) {
	for _, m := range x.moves {
		if m.done || m.new == "" || bad[m.new] != "" {
			continue
		}
		list = append(list, claim{append(m.stashed(x), m.new), func(why string) {
			m.held = true
			x.rep.Held = append(x.rep.Held, Change{Repo: x.u.Common, Ref: m.name, New: m.new, Why: heldWhy(why)})
			x.rep.Pending = true
		}})
	}
	for _, v := range x.views {
		if head := resolve(v.boxHead, x.boxRefs.refs); head != "" && v.boxHead != v.hostHead && bad[head] == "" {
			list = append(list, claim{[]string{head}, func(why string) { v.stays = "its HEAD " + why }})
		}
	}
	return list
}

// holdLinks holds back values that would make the host's git enter a repository that it does not enter now: `git stash`
// and `git reset --hard` put what a branch has into the index, and git enters the repositories that the index names. The
// commit need not be the box's: the host's own history may have a submodule that is gone, and the box can put something
// in its place.
func (x *exchange) holdLinks(ctx context.Context, have []string, bad map[string]string) error {
	list := x.claims(bad)
	if len(list) == 0 {
		return nil
	}
	var fault error
	err := inParts(ctx, list, func(part []claim) error { return x.foreign(ctx, part, have) }, func(part []claim, why error) {
		if !errors.As(why, new(foreignLink)) && !errors.Is(why, errLate) {
			fault = why
		}
		for _, c := range part {
			c.hold(why.Error())
		}
	})
	return errors.Join(err, fault)
}

// foreign returns a foreignLink if one of these values brings a repository that git outside may not enter.
func (x *exchange) foreign(ctx context.Context, part []claim, have []string) error {
	var values []string
	for _, c := range part {
		values = append(values, c.values...)
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

// heldWhy says in a sentence why a ref waits.
func heldWhy(why string) string {
	if strings.HasPrefix(why, "brings ") {
		return "it " + why + ", which git outside would enter"
	}
	return why
}

// foreignLink names a repository that a commit would make the host's git enter.
type foreignLink string

func (f foreignLink) Error() string { return string(f) }

// mayLink reports whether the host's git may enter a repository at a path in each of the box's work trees:
// one that the host has, where it is or where nothing is, or one that inner made.
func (x *exchange) mayLink(path string) bool {
	linked := func(v *viewState) bool { return v.hostIndex().gitlinks()[path] }
	known := slices.ContainsFunc(x.views, linked)
	for _, v := range x.views {
		_, err := os.Lstat(filepath.Join(v.Top, path))
		absent := known && errors.Is(err, os.ErrNotExist)
		if !linked(v) && !absent && (!x.o.Final || treePath(path) != "" || !x.mayEnter(v.Top, path)) {
			return false
		}
	}
	return len(x.views) > 0
}
