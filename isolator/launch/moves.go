package launch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/wire"
)

// A mount stays on what it was made on, and moves along when the host renames that, or a folder
// on the way to it. The old place is open then, and the table of mounts raises no event. So the
// folders on the way to the covered places are watched, too (inotify(7)).

const (
	// watchAfter is when that begins. The kernel lets whoever has watched a folder wait for some
	// milliseconds when it stops (7 of them, measured with Linux 6.18), so a program that has
	// ended by then was not watched.
	watchAfter = 20 * time.Millisecond
	// movesRest is how long events lie unread after some were read. So they cost little where
	// thousands of files are made in such a folder.
	movesRest = 3 * time.Millisecond
	// unwatchedEvery is how often the table is read where a folder cannot be watched.
	unwatchedEvery = 100 * time.Millisecond
)

// moves are the watched folders.
type moves struct {
	fd      int                // of inotify; -1 before anything is watched
	folders map[int32][]string // by their watches, as box paths: one folder may be mounted at two places
	onWay   map[string]bool    // the covered places, and what leads to them
}

// watch watches the folders that lead to some places of the box, as they are now. It reports
// whether all of them are watched.
func (m *moves) watch(root int, places []string) bool {
	if m.fd < 0 {
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			return false
		}
		m.fd, m.onWay = fd, map[string]bool{}
		for _, p := range places {
			for ; p != "/"; p = filepath.Dir(p) {
				m.onWay[p] = true
			}
		}
	}
	whole, old := true, m.folders
	m.folders = map[int32][]string{}
	parents := map[string]bool{}
	for p := range m.onWay {
		parents[filepath.Dir(p)] = true
	}
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		switch watch, err := m.add(root, dir); {
		case err == nil:
			m.folders[watch] = append(m.folders[watch], dir)
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
			whole = false
		}
	}
	for watch := range old {
		if m.folders[watch] == nil {
			_, _ = unix.InotifyRmWatch(m.fd, uint32(watch)) // it is elsewhere now, or gone
		}
	}
	return whole
}

// add watches a folder of the box.
func (m *moves) add(root int, dir string) (int32, error) {
	fd, err := inBox(root, dir, unix.O_DIRECTORY)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	name := fmt.Sprintf("/proc/self/fd/%d", fd)
	watch, err := unix.InotifyAddWatch(m.fd, name, unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVED_FROM|unix.IN_MOVED_TO)
	if err == unix.EACCES && unix.Access(name, unix.W_OK) != nil {
		return -1, nil // it is not read, as /root, and nothing in it is renamed by us
	}
	return int32(watch), err
}

// read reads what has happened in the folders, and reports whether a place may be open now.
func (m *moves) read() bool {
	open := false
	var buf [16 << 10]byte
	for range 32 { // as much as the kernel keeps; more may come all the time
		n, err := wire.Read(m.fd, buf[:])
		if err != nil || n <= 0 {
			break
		}
		for rest := buf[:n]; len(rest) >= unix.SizeofInotifyEvent; {
			watch, mask := int32(binary.NativeEndian.Uint32(rest)), binary.NativeEndian.Uint32(rest[4:])
			end := unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(rest[12:]))
			name, _, _ := bytes.Cut(rest[unix.SizeofInotifyEvent:end], []byte{0})
			rest = rest[end:]
			open = m.concerns(watch, mask, string(name)) || open
		}
	}
	return open
}

// concerns reports whether an event is of something that leads to a place.
func (m *moves) concerns(watch int32, mask uint32, name string) bool {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		return true
	}
	return slices.ContainsFunc(m.folders[watch], func(dir string) bool { return m.onWay[paths.Join(dir, name)] })
}

// close lets nobody wait for the kernel, see watchAfter.
func (m *moves) close() {
	if m.fd >= 0 {
		go unix.Close(m.fd) // the number is evaluated here
		m.fd = -1
	}
}

// inBox opens a path of the box, in which nothing is a link, without reading it.
func inBox(root int, p string, flags uint64) (int, error) {
	return unix.Openat2(root, "."+p, &unix.OpenHow{
		Flags: flags | unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
}
