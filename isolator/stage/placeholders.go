package stage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
)

// A file that the box must not create can only be mounted over, and a mount needs
// something to be mounted on: a placeholder in a folder of the host. The last run that
// needs it removes it; after a crash the next sweep does.
//
// The journal is one file per user, whatever the environment of a run says, so
// that two runs never remove each other's placeholders. It is written before one
// is made. Each line is a quoted path, a quoted content (or "dir") and the
// quoted folder of a run that needs it.

// entry is one line of the journal.
type entry struct{ path, what, run string }

// MakePlaceholders creates each one that does not exist: a file with content, or an
// empty folder when content is nil. Its parent must be a real folder: no link
// is followed. A folder that cannot be written needs no protection and is left
// alone.
func (r *Run) MakePlaceholders(places ...host.Placeholder) error {
	if len(places) == 0 && len(r.notes) == 0 {
		return nil
	}
	return withJournal(r.journal, func(entries []entry, write func([]entry) error) ([]entry, error) {
		entries, r.notes = append(entries, r.notes...), nil
		made := map[string]bool{}
		for _, l := range entries {
			made[l.path] = made[l.path] || !l.note()
		}
		dirs := r.held()
		var missing []host.Placeholder
		for _, p := range places {
			there, err := dirs.exists(p.Path)
			if err != nil {
				return entries, err
			}
			if !there {
				missing = append(missing, p)
			}
			if !there || made[p.Path] { // what another run made is kept for this run, too
				entries = append(entries, entry{p.Path, contentOf(p), r.Path})
			}
		}
		if len(missing) > 0 {
			if err := write(entries); err != nil {
				return entries, err
			}
		}
		for _, p := range missing {
			if err := dirs.make(p); err != nil {
				return entries, err
			}
		}
		return append(entries, r.noteStood()...), nil
	})
}

// KeepPlaceholders keeps every one below roots that another run has made until this run
// ends, too. Call it before the host is looked at: what is there then stays there, and
// a mount over it stays a mount (the kernel takes a mount off a folder that is
// removed, in every namespace).
func (r *Run) KeepPlaceholders(roots ...string) error {
	if isEmpty(r.journal) {
		return nil
	}
	inside := func(path string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return paths.Inside(root, path) })
	}
	return withJournal(r.journal, func(entries []entry, _ func([]entry) error) ([]entry, error) {
		mine := map[string]bool{}
		dirs := r.held()
		for _, l := range entries {
			if !inside(l.path) || mine[l.path] || l.note() {
				continue
			}
			there, err := dirs.exists(l.path)
			if err == nil && there {
				mine[l.path] = true
				entries = append(entries, entry{l.path, l.what, r.Path})
			}
		}
		return entries, nil
	})
}

func contentOf(p host.Placeholder) string {
	if p.Content == nil {
		return "dir"
	}
	return strconv.Quote(string(p.Content))
}

// parents are the open folders that placeholders are in. A run keeps them open to its end: where
// somebody renames the project meanwhile, what was made in it is still found.
type parents map[string]int

func (r *Run) held() parents {
	if r.dirs == nil {
		r.dirs = parents{}
	}
	return r.dirs
}

func (d parents) of(path string) (int, error) {
	dir := filepath.Dir(path)
	if fd, ok := d[dir]; ok {
		return fd, nil
	}
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("%q: %w", dir, err)
	}
	d[dir] = fd
	return fd, nil
}

func (d parents) close() {
	for _, fd := range d {
		unix.Close(fd)
	}
}

func (d parents) exists(path string) (bool, error) {
	parent, err := d.of(path)
	if errors.Is(err, unix.ENOENT) {
		return false, nil // its folder is to be made, too
	}
	if err != nil {
		return false, err
	}
	var st unix.Stat_t
	return unix.Fstatat(parent, filepath.Base(path), &st, unix.AT_SYMLINK_NOFOLLOW) == nil, nil
}

func (d parents) make(p host.Placeholder) error {
	parent, err := d.of(p.Path)
	if err != nil {
		return err
	}
	err = create(parent, filepath.Base(p.Path), p.Content)
	switch {
	case errors.Is(err, unix.EEXIST), errors.Is(err, unix.EACCES), errors.Is(err, unix.EROFS), errors.Is(err, unix.EPERM):
		return nil
	case err != nil:
		return fmt.Errorf("%q: %w", p.Path, err)
	}
	return nil
}

func create(parent int, name string, content []byte) error {
	if content == nil {
		return unix.Mkdirat(parent, name, 0o755)
	}
	// All of it or nothing, whenever inner is killed. Not every file system can make a file
	// without a name.
	if fd, err := unix.Openat(parent, ".", unix.O_WRONLY|unix.O_TMPFILE|unix.O_CLOEXEC, 0o644); err == nil {
		_, err = unix.Write(fd, content)
		if err == nil {
			err = unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), parent, name, unix.AT_SYMLINK_FOLLOW)
		}
		unix.Close(fd)
		if err == nil || errors.Is(err, unix.EEXIST) {
			return err
		}
	}
	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, content)
	return errors.Join(err, unix.Close(fd))
}

// removePlaceholders removes every one that no living run but except needs. What
// is not as it was made, or not empty, stays: it is somebody's. One that cannot be
// removed stays in the journal for the next sweep, and its error is in stuck. dirs are
// the open folders of placeholders, as far as except has them.
func removePlaceholders(journal, except string, dirs parents) (stuck []error, err error) {
	if isEmpty(journal) {
		return nil, nil
	}
	err = withJournal(journal, func(entries []entry, _ func([]entry) error) ([]entry, error) {
		living := livingRuns()
		kept := func(l entry) bool { return l.run != except && (l.note() || living(l.run)) }
		needed := map[string]bool{}
		for _, l := range entries {
			needed[l.path] = needed[l.path] || !l.note() && kept(l)
		}
		var keep []entry
		var failed []string
		// What was made in a placeholder is removed before it.
		for _, l := range slices.Backward(entries) {
			switch {
			case kept(l):
				keep = append(keep, l)
			case l.note(), needed[l.path], slices.Contains(failed, l.path):
			case slices.ContainsFunc(failed, func(p string) bool { return paths.Inside(l.path, p) }):
				keep = append(keep, l)
			default:
				if err := removePlaceholder(l, dirs); err != nil {
					keep, failed, stuck = append(keep, l), append(failed, l.path), append(stuck, err)
				}
			}
		}
		slices.Reverse(keep)
		return keep, nil
	})
	return stuck, err
}

// livingRuns returns alive, which asks once for each run.
func livingRuns() func(run string) bool {
	known := map[string]bool{}
	return func(run string) bool {
		is, asked := known[run]
		if !asked {
			is = alive(run)
			known[run] = is
		}
		return is
	}
}

// removePlaceholder removes one, unless it is somebody's by now. The error is one that may
// be over at the next try.
func removePlaceholder(l entry, dirs parents) error {
	parent, name := unix.AT_FDCWD, l.path
	if fd, ok := dirs[filepath.Dir(l.path)]; ok {
		parent, name = fd, filepath.Base(l.path)
	}
	var err error
	if l.what == "dir" {
		err = unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	} else {
		err = removeFile(parent, name, l.what)
	}
	if err == nil || notOurs(err) {
		return nil
	}
	return &fs.PathError{Op: "remove", Path: l.path, Err: err}
}

// removeFile removes a file that has the quoted content.
func removeFile(parent int, name, content string) error {
	want, err := strconv.Unquote(content)
	if err != nil {
		return fs.ErrInvalid
	}
	got, err := readRegular(parent, name)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix([]byte(want), got) { // the beginning of it is what a killed run wrote
		return fs.ErrInvalid
	}
	return unix.Unlinkat(parent, name, 0)
}

// notOurs reports whether an error says that nothing is in the place of a placeholder, or
// something else.
func notOurs(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENXIO, unix.ENOTEMPTY, unix.EEXIST, fs.ErrInvalid}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// readRegular reads a file that is no link, pipe or device, as far as a placeholder is long.
func readRegular(parent int, name string) ([]byte, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	return io.ReadAll(io.LimitReader(f, 1<<16))
}

// withJournal changes the journal under its lock. change can have it written
// before it returns.
func withJournal(journal string, change func(entries []entry, write func([]entry) error) ([]entry, error)) error {
	if err := os.MkdirAll(filepath.Dir(journal), 0o700); err != nil {
		return err
	}
	gate, err := lockFile(journal+".lock", syscall.LOCK_EX)
	if err != nil {
		return err
	}
	defer gate.Close()
	entries, err := readJournal(journal)
	if err != nil {
		return err
	}
	written := slices.Clone(entries)
	write := func(l []entry) error {
		if slices.Equal(l, written) {
			return nil
		}
		written = slices.Clone(l)
		return writeJournal(journal, l)
	}
	entries, err = change(entries, write)
	return errors.Join(err, write(entries))
}

// maxJournal is the largest journal that is read: some hundred runs at once with a few
// hundred placeholders each.
const maxJournal = 64 << 20

func readJournal(journal string) ([]entry, error) {
	f, _, err := files.Open(journal, files.NoLinks)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := own(f); err != nil {
		return nil, fmt.Errorf("%q: %w", journal, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxJournal:
		// What is not read would be forgotten, and stay on the host for ever.
		return nil, fmt.Errorf("%q has more than %d MiB", journal, maxJournal>>20)
	}
	var entries []entry
	for line := range strings.Lines(string(data)) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(part) != 3 {
			continue // torn by a power cut
		}
		path, err1 := strconv.Unquote(part[0])
		run, err2 := strconv.Unquote(part[2])
		if err1 == nil && err2 == nil {
			entries = append(entries, entry{path, part[1], run})
		}
	}
	return entries, nil
}

func writeJournal(journal string, entries []entry) error {
	var b []byte
	for _, l := range entries {
		b = append(strconv.AppendQuote(b, l.path), '\t')
		b = append(append(b, l.what...), '\t')
		b = append(strconv.AppendQuote(b, l.run), '\n')
	}
	if writeOver(journal, b) {
		return nil
	}
	if len(b) == 0 {
		return os.Remove(journal)
	}
	return files.Replace(journal, b, 0o600)
}

// onePage is how much of a file the kernel writes as a whole, whoever is killed meanwhile.
const onePage = 4096

// writeOver writes a journal over the one that is there: a new file for each run is what ext4
// is slow at. What is longer of the old one becomes empty lines, by the same write. It
// reports whether it has done so.
func writeOver(journal string, data []byte) bool {
	fd, err := unix.Open(journal, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return len(data) == 0 && err == unix.ENOENT
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 || int(st.Uid) != os.Getuid() ||
		len(data) > 0 && max(st.Size, int64(len(data))) > onePage {
		return false
	}
	if len(data) == 0 {
		return unix.Ftruncate(fd, 0) == nil // there is nothing in it to look at, see isEmpty
	}
	if more := int(st.Size) - len(data); more > 0 {
		data = append(data, bytes.Repeat([]byte("\n"), more)...)
	}
	n, err := unix.Pwrite(fd, data, 0)
	return err == nil && n == len(data)
}

// Pending reports whether a journal names something that a living run needs. It does when
// it cannot be read.
func Pending(journal string) bool {
	entries, err := readJournal(journal)
	living := livingRuns()
	return err != nil || slices.ContainsFunc(entries, func(l entry) bool { return living(l.run) })
}

// isEmpty reports whether a journal is not there or empty.
func isEmpty(journal string) bool {
	var st unix.Stat_t
	err := unix.Lstat(journal, &st)
	return err == unix.ENOENT || err == nil && st.Size == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// own refuses an open file that is not a regular one of the user's own.
func own(f *os.File) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || !fi.Mode().IsRegular() || int(st.Uid) != os.Getuid() {
		return errors.New("not a file of yours")
	}
	return nil
}

// alive reports whether the run that staged dir still holds its lock. A lock that cannot be
// asked, for lack of descriptors for instance, counts as held: what is alive is never swept.
func alive(dir string) bool {
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
	}
	defer lock.Close()
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
