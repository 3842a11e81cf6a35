package git

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The index of a work tree, on the host and in the box.

// newView returns the state of a work tree of which nothing is known yet. The host's index is read when it is asked for:
// it may have half a million entries.
func (x *exchange) newView(v *view) *viewState {
	return &viewState{view: v, hostIndex: sync.OnceValue(func() *index {
		ix, _ := readIndex(x.host, v.file("index"), x.u.Digits/2)
		return ix
	})}
}

// findHostIndex finds out whether the host's index is the one that box and host agreed on.
func (x *exchange) findHostIndex(v *viewState) {
	if st, err := x.host.stat(v.file("index")); err == nil {
		v.hostStat = st
	}
	file := fileID(v.hostStat, false)
	if file == v.HostFile {
		return
	}
	x.agree(v)
	// In a form that is not read, split or sparse, only the very same file is unchanged.
	v.hostChanged = orNone(v.hostIndex().digest()) != v.Index || v.hostIndex() == nil && file != ""
	if !v.hostChanged {
		v.HostFile = file
	}
}

// agree finds the digest of the index that box and host agreed on, where only the file is known.
func (x *exchange) agree(v *viewState) {
	if v.Index != "" {
		return
	}
	var ix *index
	if fileID(v.hostStat, false) == v.HostFile {
		ix = v.hostIndex()
	} else {
		ix, _ = readIndex(x.state, baseIndexName(x.u, v.view), x.u.Digits/2)
	}
	v.Index = orNone(ix.digest())
	v.Box = v.Index
}

func orNone(digest string) string {
	if digest == "" {
		return "none"
	}
	return digest
}

// fileID identifies a file in its present state. git never writes an index in place. In the box ctime tells
// any change, since nobody can set it; outside it does not count, because a hard link changes it.
func fileID(st unix.Stat_t, box bool) string {
	if st.Ino == 0 {
		return ""
	}
	id := fmt.Sprintf("%d %d %d.%d", st.Ino, st.Size, st.Mtim.Sec, st.Mtim.Nsec)
	if box {
		id += fmt.Sprintf(" %d.%d", st.Ctim.Sec, st.Ctim.Nsec)
	}
	return id
}

// baseIndexName returns the name of the file that keeps the host's index as it was at the start.
func baseIndexName(u *unit, v *view) string {
	return fmt.Sprintf("index.%d.%s", u.N, strings.ReplaceAll(v.Rel, "/", "."))
}

func readIndex(d *folder, name string, hashLen int) (*index, error) {
	text, err := d.readText(name)
	if err != nil {
		return nil, err
	}
	return parseIndex(text, hashLen)
}

// findBoxIndex reads the box's index, unless it is the very file that box and host agreed on.
func (x *exchange) findBoxIndex(v *viewState) error {
	st, err := x.box.stat(v.file("index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	v.boxFile = fileID(st, true)
	if err == nil && v.boxFile == v.BoxFile {
		v.boxDigest = orNone(v.Box)
		return nil
	}
	v.boxIndex, err = readIndex(x.box, v.file("index"), x.u.Digits/2)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	x.agree(v)
	if v.boxDigest = v.boxIndex.digest(); v.boxDigest == v.Box {
		v.BoxFile = v.boxFile
	}
	return err
}

// carryIndex reports whether the host's index says what the box's does.
func (x *exchange) carryIndex(v *viewState) (ok bool, err error) {
	if v.boxIndex == nil {
		return true, nil
	}
	host := v.Index
	if v.hostChanged {
		host = orNone(v.hostIndex().digest())
	}
	switch {
	case v.boxDigest == host:
		v.Index, v.Box, v.BoxFile = v.boxDigest, v.boxDigest, v.boxFile
		return true, nil
	case !v.indexChanged():
		return true, nil // only the host's changed
	case v.hostChanged:
		v.lost = true
		x.say("%s: the index was changed outside, too, and stays as it is there", v.Top)
		return false, nil
	}
	known := v.hostIndex().gitlinks()
	for path := range v.boxIndex.gitlinks() {
		if !known[path] && (!x.o.Final || !x.mayEnter(v.Top, path)) {
			x.say("%s: the index of the box has the repository at %s, which git outside would enter, and stays in the box for now", v.Top, plainText(path, 200))
			x.rep.Pending = true
			return false, nil
		}
	}
	return x.writeIndex(v)
}

// writeIndex replaces the host's index by what it takes of the box's.
func (x *exchange) writeIndex(v *viewState) (ok bool, err error) {
	hostIndex := v.hostIndex()
	out, err := v.boxIndex.taken(hostIndex, v.hostStat.Mtim.Nano(), v.Sparse)
	if err != nil {
		return false, fmt.Errorf("the index of the box stays there: %w", err)
	}
	err = x.host.locked(v.file("index"), x.meta.Run, out.format(x.u.Digits/2), fileMode, func() error {
		st, err := x.host.stat(v.file("index"))
		if errors.Is(err, fs.ErrNotExist) && hostIndex == nil {
			return nil
		}
		if err == nil && (st.Ino != v.hostStat.Ino || st.Mtim != v.hostStat.Mtim || st.Size != v.hostStat.Size) {
			return errors.New("the index was changed outside just now")
		}
		return err
	})
	if err != nil {
		return false, err
	}
	v.Index, v.Box, v.BoxFile = out.digest(), v.boxDigest, v.boxFile
	return true, nil
}
