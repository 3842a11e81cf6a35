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
	onWay   map[string]bool    // the covered places, and, as false, what leads to them
	whole   bool               // all has been watched since, and nothing was missed
	made    map[string]bool    // places where the box may have made what is there
}

// watch watches the folders that lead to some places of the box, as they are now.
func (m *moves) watch(root int, places []string) {
	m.whole = false
	if m.fd < 0 {
		fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
		if err != nil {
			return
		}
		m.fd, m.onWay = fd, map[string]bool{}
		for _, p := range places {
			for q := p; q != "/"; q = filepath.Dir(q) {
				m.onWay[q] = m.onWay[q] || q == p
			}
		}
	}
	old := m.folders
	m.whole, m.folders = true, map[int32][]string{}
	parents := map[string]bool{}
	for p := range m.onWay {
		parents[filepath.Dir(p)] = true
	}
	// A folder comes before those in it: one that is replaced meanwhile is seen in the first.
	for _, dir := range slices.Sorted(maps.Keys(parents)) {
		switch watch, err := m.add(root, dir); {
		case err == nil:
			m.folders[watch] = append(m.folders[watch], dir)
		case !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR):
			m.whole = false
		}
	}
	for watch := range old {
		if m.folders[watch] == nil {
			_, _ = unix.InotifyRmWatch(m.fd, uint32(watch)) // it is elsewhere now, or gone
		}
	}
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
func (m *moves) concerns(watch int32, mask uint32, name string) (open bool) {
	if mask&unix.IN_Q_OVERFLOW != 0 {
		m.whole = false
		return true
	}
	for _, dir := range m.folders[watch] {
		p := paths.Join(dir, name)
		if _, leads := m.onWay[p]; !leads {
			continue
		}
		open = true
		for place, covered := range m.onWay {
			if covered && paths.Below(p, place) && !(p == place && renamedOver(mask)) {
				m.mayBeMade(place)
			}
		}
	}
	return open
}

// renamedOver reports whether an event at a covered place is of a file that the host has renamed
// over it. The box cannot rename to it, and it was free at no time. A folder takes the place of an
// empty one alone, which is as good as none.
func renamedOver(mask uint32) bool { return mask&(unix.IN_MOVED_TO|unix.IN_ISDIR) == unix.IN_MOVED_TO }

// mayBeMade notes places that were free for a time, or of which nobody saw whether they were.
func (m *moves) mayBeMade(places ...string) {
	if m.made == nil {
		m.made = map[string]bool{}
	}
	for _, p := range places {
		m.made[p] = true
	}
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
