package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// The stash is the reflog of one ref. Each of its entries crosses by itself.

// stashDiffers reports whether the box's stash has other entries than the host's, which the host has not changed.
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

// stashes returns the entries of the box's stash in the order of its log; nil for another ref.
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

// boxStash reads the entries of the box's stash, whose newest has to be top.
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

// carryStash moves the stash and its entries, which exist only in its log. Both change under the lock
// of the ref, so that no `git stash` outside can interfere.
func (x *exchange) carryStash(ctx context.Context, m *move) error {
	log, err := x.host.read("logs/"+stashRef, maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	now := ""
	if len(log) > 0 {
		now = digest(log)
	}
	if m.to == m.name && now != x.u.Stash {
		m.why, m.to, m.old = "was changed outside, too", x.inner(m.name), x.hostRefs[x.inner(m.name)]
		if m.done = m.new == "" || m.old == m.new; m.done {
			return nil
		}
	}
	if m.to != m.name {
		return x.transact(ctx, []*move{m})
	}
	var text strings.Builder
	entries := map[string]bool{}
	if m.new != "" {
		list, err := x.boxStash(m.new)
		if err != nil {
			x.say("the stash of the box does not cross: %v", err)
			return nil
		}
		before := strings.Repeat("0", x.u.Digits)
		for _, e := range list {
			e.Old, before = before, e.New
			entries[e.New] = true
			text.WriteString(e.line())
		}
	}
	if err := x.keepStashes(ctx, log, entries); err != nil {
		return err
	}
	if err := x.base.write('?', map[string]string{m.name: m.new}); err != nil {
		return err
	}
	if m.new == "" {
		if err := x.update(ctx, []*move{m}, nil); err != nil {
			return err
		}
		x.u.Stash = ""
		return nil
	}
	if err := x.writeStash(m, text.String()); err != nil {
		return err
	}
	m.done = true
	x.hostRefs[m.name] = m.new
	x.u.Stash = digest([]byte(text.String()))
	for value := range entries {
		if !bytes.Contains(log, []byte(value)) {
			x.seen.said["stash "+value] = true // made in this box: not kept when it drops it
		}
	}
	return x.base.write('=', map[string]string{m.name: m.new})
}

// writeStash writes the ref of the stash and its log, if the ref still has its old value.
func (x *exchange) writeStash(m *move, log string) error {
	if err := errors.Join(x.host.mkdir("logs/refs"), x.host.mkdir("refs")); err != nil {
		return err
	}
	return x.host.locked(stashRef, x.meta.Run, []byte(m.new+"\n"), fileMode, func() error {
		again, err := readRefs(x.host, x.u.Digits, &packed{})
		if err != nil {
			return err
		}
		if again.refs[stashRef] != m.old {
			return errors.New("the stash was changed outside just now")
		}
		name := "logs/" + stashRef
		return x.host.replace(name, tempName(name, x.meta.Run), []byte(log))
	})
}

// keepStashes keeps the entries of the host's stash that the box dropped.
func (x *exchange) keepStashes(ctx context.Context, log []byte, kept map[string]bool) error {
	list, err := readLog(log, x.u.Digits)
	if err != nil {
		return err
	}
	var in strings.Builder
	for _, e := range list {
		name := x.inner("refs/old/stash/" + e.New[:12])
		if !kept[e.New] && x.hostRefs[name] == "" && !x.seen.said["stash "+e.New] {
			fmt.Fprintf(&in, "update %s\x00%s\x00\x00", name, e.New)
		}
	}
	if in.Len() == 0 {
		return nil
	}
	return x.p.run(ctx, call{args: []string{"update-ref", "--stdin", "-z"}, in: strings.NewReader(in.String())})
}
