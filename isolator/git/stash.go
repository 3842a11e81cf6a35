package git

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
)

// The stash is the reflog of one ref. Each of its entries crosses by itself.

// stashDiffers reports whether the box's stash has other entries than the host's, which the host has not changed.
func (x *exchange) stashDiffers() bool {
	log, err := x.host.read("logs/"+stashRef, maxLog)
	if err != nil || stashDigest(log) != x.u.Stash {
		return false
	}
	host, err := readLog(log, x.u.Digits)
	if err != nil || len(host) > maxStashes {
		return false
	}
	box, err := x.boxStash(x.boxRefs.refs[stashRef])
	return err != nil || !slices.EqualFunc(host, box, func(a, b logEntry) bool { return a.New == b.New })
}

// stashed returns the values of the entries of the box's stash in the order of its log; none for another ref.
func (m *move) stashed(x *exchange) (values []string) {
	if m.name != stashRef || m.new == "" || m.to != m.name {
		return nil
	}
	list, _ := x.boxStash(m.new) // none where its log cannot be read
	for _, e := range list {
		values = append(values, e.New)
	}
	return values
}

// boxStash reads the entries of the box's stash, whose newest has to be top.
func (x *exchange) boxStash(top string) ([]logEntry, error) {
	data, err := x.box.read("logs/"+stashRef, maxLog)
	if err != nil {
		return nil, unlessMissing(err)
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
	if m.to == m.name && stashDigest(log) != x.u.Stash {
		if x.divert(m, x.inner(m.name), "was changed outside, too"); m.done {
			return nil
		}
	}
	if m.to != m.name {
		return x.transact(ctx, []*move{m})
	}
	var list []logEntry
	if m.new != "" {
		if list, err = x.boxStash(m.new); err != nil {
			x.say("the stash of the box does not cross: %v", err)
			return nil
		}
	}
	var text strings.Builder
	entries, before := map[string]bool{}, strings.Repeat("0", x.u.Digits)
	for _, e := range list {
		e.Old, before = before, e.New
		entries[e.New] = true
		text.WriteString(e.line())
	}
	if err := x.keepStashes(ctx, log, entries); err != nil {
		return err
	}
	if err := x.base.write('?', own([]*move{m})); err != nil {
		return err
	}
	if m.new == "" {
		err = x.update(ctx, []*move{m}, nil)
	} else {
		err = x.writeStash(m, text.String())
	}
	if err != nil {
		return err
	}
	x.u.Stash = stashDigest([]byte(text.String()))
	for value := range entries {
		if !bytes.Contains(log, []byte(value)) {
			x.seen.said["stash "+value] = true // made in this box: not kept when it drops it
		}
	}
	return x.moved(m)
}

// stashDigest identifies a log of the stash, "" for none.
func stashDigest(log []byte) string {
	if len(log) == 0 {
		return ""
	}
	return digest(log)
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
	values := map[string]string{}
	for _, e := range list {
		name := x.inner("refs/old/stash/" + e.New[:12])
		if !kept[e.New] && x.hostRefs[name] == "" && !x.seen.said["stash "+e.New] {
			values[name] = e.New
		}
	}
	return x.keep(ctx, values)
}
