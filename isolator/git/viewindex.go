package git

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// The index of a work tree, on the host and in the box.

// hostIndexOf compares the host's index with the one that box and host agreed on. It does not read
// the file when that is the same: it may have half a million entries.
func (x *exchange) hostIndexOf(s *viewState) {
	st, err := x.host.stat(s.file("index"))
	if errors.Is(err, fs.ErrNotExist) {
		st = unix.Stat_t{}
	}
	s.hostStat = st
	if fileID(st, false) == s.HostFile {
		s.hostDigest = s.Index
		return
	}
	s.hostDigest = orNone(x.hostIndexRead(s).digest())
	x.agreed(s)
	// In a form that is not read, split or sparse, only the very same file is unchanged.
	if s.hostChanged = s.hostDigest != s.Index || s.hostIndex == nil && st.Ino != 0; !s.hostChanged {
		s.HostFile = fileID(st, false)
	}
}

// agreed finds the digest of the index that box and host agreed on, where only the file is known.
func (x *exchange) agreed(s *viewState) {
	if s.Index != "" {
		return
	}
	ix := s.hostIndex
	if !s.hostRead || fileID(s.hostStat, false) != s.HostFile {
		ix, _ = readIndex(x.state, x.baseIndex(s.view), x.u.Digits/2)
	}
	s.Index = orNone(ix.digest())
	s.Box = s.Index
	if s.hostDigest == "" {
		s.hostDigest = s.Index
	}
}

func orNone(digest string) string {
	if digest == "" {
		return "none"
	}
	return digest
}

// hostIndexRead returns the host's index, nil when it cannot be read. It is not older than hostStat.
func (x *exchange) hostIndexRead(s *viewState) *index {
	if !s.hostRead {
		s.hostRead = true
		s.hostIndex, _ = readIndex(x.host, s.file("index"), x.u.Digits/2)
	}
	return s.hostIndex
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

// baseIndex returns the name of the file that keeps the host's index as it was at the start.
func (x *exchange) baseIndex(v *view) string { return baseIndexName(x.u, v) }

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

func (x *exchange) boxIndexOf(s *viewState) error {
	st, err := x.box.stat(s.file("index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if s.boxStat = st; err == nil && s.BoxFile != "" && fileID(st, true) == s.BoxFile {
		s.boxDigest, s.boxSame = orNone(s.Box), true
		return nil
	}
	s.boxIndex, err = readIndex(x.box, s.file("index"), x.u.Digits/2)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s.boxDigest = s.boxIndex.digest()
	if s.view.Index == "" {
		x.hostIndexRead(s)
		x.agreed(s)
	}
	if s.boxDigest == s.Box {
		s.BoxFile = fileID(st, true)
	}
	return err
}

// carryIndex reports whether the host's index says what the box's does.
func (x *exchange) carryIndex(v *viewState) (ok bool, err error) {
	if v.boxIndex == nil {
		return true, nil
	}
	switch {
	case v.boxDigest == v.hostDigest:
		v.Index, v.Box, v.BoxFile = v.boxDigest, v.boxDigest, fileID(v.boxStat, true)
		return true, nil
	case !v.indexChanged():
		return true, nil // only the host's changed
	case v.hostChanged:
		v.lost = true
		x.say("%s: the index was changed outside, too, and stays as it is there", v.Top)
		return false, nil
	}
	hostIndex := x.hostIndexRead(v)
	known := hostIndex.gitlinks()
	for path := range v.boxIndex.gitlinks() {
		if !known[path] && (!x.o.Final || !x.mayEnter(v.Top, path)) {
			x.say("%s: the index of the box has the repository at %s, which git outside would enter, and stays in the box for now", v.Top, plainText(path, 200))
			x.rep.Pending = true
			return false, nil
		}
	}
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
	v.Index, v.Box, v.BoxFile = out.digest(), v.boxDigest, fileID(v.boxStat, true)
	return true, nil
}
