package git

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The refs that an exchange sets on the host.

// carryRefs moves the host's refs, in one transaction where that is possible.
func (x *exchange) carryRefs(ctx context.Context) error {
	var todo []*move
	var stash *move
	for _, m := range x.moves {
		switch {
		case m.done || m.held:
		case m.name == stashRef:
			stash = m
		default:
			todo = append(todo, m)
		}
	}
	if len(todo) > 0 {
		if err := x.transact(ctx, todo); err != nil {
			return err
		}
	}
	if stash != nil {
		if err := x.carryStash(ctx, stash); err != nil {
			return err
		}
	}
	for _, m := range x.moves {
		x.tell(m)
	}
	return nil
}

// tell reports a ref that moved, or whose value went to another ref.
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

// transact moves refs in one transaction or, when that fails, in parts, so that one ref that
// cannot move does not stop the others.
func (x *exchange) transact(ctx context.Context, todo []*move) error {
	lost := x.lost(ctx, todo)
	if err := x.base.write('?', own(todo)); err != nil {
		return err
	}
	err := x.update(ctx, todo, lost)
	if err == nil || len(todo) == 1 && todo[0].to != todo[0].name {
		return err
	}
	// What is deleted makes room: `git branch -m a a/b`.
	slices.SortStableFunc(todo, func(a, b *move) int { return min(len(a.new), 1) - min(len(b.new), 1) })
	update := func(part []*move) error { return x.update(ctx, part, lost) }
	var elsewhere []*move
	err = inParts(ctx, todo, update, func(part []*move, why error) {
		for _, m := range part {
			if x.divert(m, x.unfit(m.name), "could not be moved: "+why.Error()); !m.done {
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

// manyRefs is how many refs are synced to the disk one by one, which takes some ten milliseconds
// each. More are synced all at once.
const manyRefs = 100

// update runs one transaction of the host's git.
func (x *exchange) update(ctx context.Context, todo []*move, lost map[string]bool) error {
	if err := x.host.mkdir("logs"); err != nil {
		return err
	}
	if err := x.commitRefs(ctx, x.transaction(todo, lost), len(todo) > manyRefs); err != nil {
		return err
	}
	return x.moved(todo...)
}

// transaction is what git-update-ref(1) is told of the moves.
func (x *exchange) transaction(todo []*move, lost map[string]bool) string {
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
	return in.String()
}

// commitRefs has git make a transaction, and waits for a lock that another git holds for a moment.
func (x *exchange) commitRefs(ctx context.Context, transaction string, many bool) (err error) {
	for try := range 4 {
		if try > 0 {
			time.Sleep(time.Duration(try) * 100 * time.Millisecond)
		}
		_, err = x.p.text(ctx, call{args: []string{"update-ref", "-m", x.message(""), "--stdin", "-z"}, in: strings.NewReader(transaction), syncLater: many})
		if err == nil || !lockedRef(err) && !killed(err) {
			break
		}
		if err := x.unlockRefs(ctx, x.host, x.base); err != nil {
			return err
		}
		if killed(err) {
			break
		}
	}
	if err == nil && many {
		err = unix.Syncfs(x.host.fd)
	}
	return err
}

// lockedRef reports whether git failed because of a lock.
func lockedRef(err error) bool { return strings.Contains(err.Error(), ".lock': File exists") }

func (x *exchange) message(text string) string {
	if text = plainText(strings.TrimSpace(text), 200); text != "" {
		text = ": " + text
	}
	return "inner " + x.meta.Run + text
}

// maxAsked is the most old values that are checked for being reachable otherwise: each takes a walk
// over the history. Beyond it all are kept.
const maxAsked = 100

// lost returns the refs whose old values would become unreachable: refs that are deleted, and refs
// without a reflog that are moved. Those values are kept in refs/inner/RUN/old.
func (x *exchange) lost(ctx context.Context, todo []*move) map[string]bool {
	left := maps.Clone(x.hostRefs)
	var olds []*move
	for _, m := range todo {
		if m.to != m.name {
			continue
		}
		left.set(m.name, m.new)
		if m.old != "" && !m.logged() {
			olds = append(olds, m)
		}
	}
	values := map[string]bool{}
	for _, value := range left {
		values[value] = true
	}
	out := map[string]bool{}
	for _, m := range olds {
		out[m.name] = len(olds) > maxAsked || !values[m.old] && !x.leadTo(ctx, m.old, values)
	}
	return out
}

// logged reports whether the old value of a ref needs not be kept: git writes it into a reflog, or it is a remote's.
func (m *move) logged() bool {
	return hasPrefix(m.name, "refs/remotes") || m.new != "" && hasPrefix(m.name, "refs/heads", "refs/notes")
}

// leadTo reports whether one of these values leads to an object. When in doubt it does not.
func (x *exchange) leadTo(ctx context.Context, oid string, values map[string]bool) bool {
	in := oid + "\n"
	n := 0
	for value := range values {
		if !isSymbolic(value) && n < maxHave {
			in += "^" + value + "\n"
			n++
		}
	}
	text, err := x.p.text(ctx, call{args: []string{"rev-list", "--objects", "--max-count=1", "--stdin"}, in: strings.NewReader(in)})
	return err == nil && text == ""
}

// keep sets refs below refs/inner, whatever they were.
func (x *exchange) keep(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	var in strings.Builder
	for name, value := range values {
		fmt.Fprintf(&in, "update %s\x00%s\x00\x00", name, value)
	}
	return x.p.run(ctx, call{args: []string{"update-ref", "--stdin", "-z"}, in: strings.NewReader(in.String())})
}
