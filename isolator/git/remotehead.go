package git

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// The symbolic ref refs/remotes/NAME/HEAD names the main branch of a remote. git makes it when it clones and, since 2.48, when
// it fetches. It crosses when it names a branch of that remote which the host has: then NAME is fit for the host.

// remoteHead reports whether the box only set or removed such a ref, and the host did not change it.
func (x *exchange) remoteHead(m *move) bool {
	remote, is := strings.CutSuffix(m.name, "/HEAD")
	_, symOld := symbolic(m.old)
	target, symNew := symbolic(m.new)
	switch {
	case !is || !hasPrefix(remote, "refs/remotes") || m.old != "" && !symOld || !x.ours(m.name, m.old):
		return false
	case m.new == "":
		return true
	}
	return symNew && hasPrefix(target, remote) && refName(target) == ""
}

// carryRemoteHeads writes them as git does, under the lock of each. It comes after the branches have crossed.
func (x *exchange) carryRemoteHeads() error {
	var errs []error
	for _, m := range x.heads {
		target, _ := symbolic(m.new)
		if m.new == m.old || m.new != "" && x.hostRefs[target] == "" {
			if m.new != "" && m.new != m.old {
				x.setting("the symbolic ref " + plainText(m.name, 200))
			}
			continue
		}
		if err := x.carryRemoteHead(m); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", plainText(m.name, 200), err))
		}
	}
	return errors.Join(errs...)
}

func (x *exchange) carryRemoteHead(m *move) error {
	if err := x.base.write('?', own([]*move{m})); err != nil {
		return err
	}
	if err := x.host.mkdir(strings.TrimSuffix(m.name, "/HEAD")); err != nil {
		return err
	}
	var data []byte
	if m.new != "" {
		data = []byte(m.new + "\n")
	}
	err := x.host.locked(m.name, x.meta.Run, data, fileMode, func() error {
		now, err := x.host.head(m.name, x.u.Digits)
		if err != nil && !errors.Is(err, fs.ErrNotExist) || now != m.old {
			return errors.New("it was changed outside just now")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return x.moved(m)
}
