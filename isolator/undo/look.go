package undo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
)

// Bounds of what is kept. What is beyond is left out, and said.
const (
	MaxFile = 10 << 20  // bytes of one file
	MaxAll  = 500 << 20 // bytes of all contents that a look stores
	maxPath = 3000      // bytes of a folder's path
)

// made are folders that tools make again: what is in them is no work of anybody.
var made = []string{
	"node_modules", "bower_components", "__pycache__", ".venv", "venv", ".tox", ".nox", ".gradle",
	".pnpm-store", ".next", ".nuxt", ".turbo", ".mypy_cache", ".pytest_cache", ".ruff_cache",
}

// rebuilt reports whether a folder is one of them: by its name, or, for target, by the build file beside it.
func rebuilt(name string, beside []files.Entry) bool {
	if name == "target" {
		return slices.ContainsFunc(beside, func(e files.Entry) bool {
			return slices.Contains([]string{"Cargo.toml", "pom.xml", "build.sbt"}, e.Name)
		})
	}
	return slices.Contains(made, name)
}

func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// looker looks at a project: it walks through the folders, and then reads what is not known. No link is
// followed, nothing but folders and regular files is opened.
type looker struct {
	top   int
	store *Store
	old   tree // what is known of it
	// After a run, what the run closed to its own user is opened.
	after bool
	skip  map[string][]string // names that are no part of it, by their folder
	read  atomic.Bool         // a file was read
	walks sync.WaitGroup      // also those of an early walk: what follows takes no lock

	mu   sync.Mutex // guards what follows
	more *sync.Cond // todo, busy or err is another
	todo []string   // folders
	busy int        // how many are walked through
	err  error      // ends the walk
	now  tree
	new  []string // folders with something that is not known
}

func (p Project) looker(old tree, after bool) (*looker, error) {
	fd, err := changes.OpenDir(p.Top)
	if err != nil {
		return nil, err
	}
	l := &looker{top: fd, old: old, after: after, skip: map[string][]string{".": {".inner"}}, todo: []string{"."}}
	l.more = sync.NewCond(&l.mu)
	l.now = tree{sure: moment(), folders: make(map[string]listing, len(old.folders))}
	l.without(p.Skip)
	return l, nil
}

// without has places be no part of the project.
func (l *looker) without(skip []Path) {
	for _, rel := range skip {
		up, name := path.Dir(string(rel)), path.Base(string(rel))
		l.skip[up], l.new = append(l.skip[up], name), append(l.new, up)
		maps.DeleteFunc(l.now.folders, func(dir string, _ listing) bool { return paths.Below(string(rel), dir) })
	}
}

// walk walks through the folders that nobody walks through yet, until all were. Several may do so at a time.
func (l *looker) walk() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && len(l.todo)+l.busy > 0 {
		if len(l.todo) == 0 {
			l.more.Wait()
			continue
		}
		dir := l.todo[0]
		l.todo = l.todo[1:]
		l.busy++
		l.mu.Unlock()
		below, err := l.folder(dir)
		l.mu.Lock()
		l.busy--
		l.err = cmp.Or(l.err, err)
		for _, dir := range below {
			if _, done := l.now.folders[dir]; !done {
				l.todo = append(l.todo, dir)
			}
		}
		l.more.Broadcast()
	}
}

// stop ends a walk.
func (l *looker) stop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = cmp.Or(l.err, why)
	l.more.Broadcast()
}

// end walks to the end.
func (l *looker) end() {
	for range runtime.GOMAXPROCS(0) + 1 { // one may wait for the disk
		l.walks.Go(l.walk)
	}
	l.walks.Wait()
}

// again walks once more through the folders in which something was made or removed since the walk began: inner makes
// placeholders for a run. What is not in them any more is forgotten.
func (l *looker) again() {
	changed := map[string]map[string]bool{} // what folders are in them
	for dir := range l.now.folders {
		var st unix.Stat_t
		if unix.Fstatat(l.top, dir, &st, unix.AT_SYMLINK_NOFOLLOW) != nil || !l.now.tells(copytree.StateOf(st)) {
			changed[dir] = map[string]bool{}
		}
	}
	for dir := range changed {
		delete(l.now.folders, dir)
		l.todo = append(l.todo, dir)
	}
	l.end()
	for dir, is := range changed {
		for name, e := range l.now.folders[dir].all() {
			is[name] = e.Mode.IsDir()
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(l.now.folders)) { // what a folder is in comes before it
		up := path.Dir(dir)
		_, there := l.now.folders[up]
		if is := changed[up]; dir != "." && (!there || is != nil && !is[path.Base(dir)]) {
			delete(l.now.folders, dir)
		}
	}
}

// finish walks to the end, and puts the contents that are not known. The result is what was known itself when
// nothing is different.
func (l *looker) finish(ctx context.Context, s *Store, early bool, skip []Path) (tree, error) {
	defer context.AfterFunc(ctx, func() { l.stop(context.Cause(ctx)) })()
	l.end()
	if early {
		l.again()
	}
	l.store = s
	l.without(skip)
	err := l.err
	if slices.Sort(l.new); err == nil {
		l.new = slices.Compact(l.new)
		err = copytree.Each(ctx, l.new, l.contents)
	}
	switch {
	case err != nil:
		return tree{}, errors.Join(err, s.flush())
	case !l.read.Load() && maps.Equal(l.now.folders, l.old.folders):
		return l.old, nil
	}
	return l.now, nil
}

// look looks at a project, and puts the contents that are not known.
func (p Project) look(ctx context.Context, s *Store, old tree, after bool) (tree, error) {
	l, err := p.looker(old, after)
	if err != nil {
		return tree{}, err
	}
	defer unix.Close(l.top)
	return l.finish(ctx, s, false, nil)
}

// Early is a walk through a project that begins while it is not yet known what its run can change.
type Early struct {
	*looker
	Top   string
	known string // the manifest that it goes by
	begun time.Time
	Stop  func() // ends it, also one that [Begin] went on with
}

// fresh is how old a walk may be: what somebody changes after it counts as the run's.
const fresh = time.Second

// Walk begins a walk, or returns nil. It leaves a processor to those who began it. [Begin] goes on with it.
func (p Project) Walk() *Early {
	e := &Early{Top: p.Top, known: files.Identity(unix.AT_FDCWD, p.manifest()), begun: time.Now()}
	var err error
	if e.looker, err = p.looker(readManifest(p.manifest()), false); err != nil {
		return nil
	}
	for range max(1, runtime.GOMAXPROCS(0)-1) {
		e.walks.Go(e.walk)
	}
	e.Stop = sync.OnceFunc(func() {
		e.stop(context.Canceled)
		e.walks.Wait()
		unix.Close(e.top)
	})
	return e
}

// ready reports whether a walk has gone by what is known now, and is young enough.
func (e *Early) ready(p Project) bool {
	return e != nil && time.Since(e.begun) < fresh && e.known == files.Identity(unix.AT_FDCWD, p.manifest())
}

// seen has the store hold what a look put, and then the manifest say so.
func (p Project) seen(s *Store, now *tree) error {
	if err := s.flush(); err != nil || now.written {
		return err
	}
	now.written = true
	return now.write(p.manifest())
}

// moment is the time as files know it, in nanoseconds: what changes from now on has this time or a later one.
func moment() int64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts)
	return ts.Nano()
}

// folder looks at what is in one folder, and returns the folders there. One that cannot be read is left out.
func (l *looker) folder(dir string) (below []string, err error) {
	if len(dir) > maxPath {
		return nil, nil
	}
	fd, err := copytree.Open(l.top, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	var names []files.Entry
	if err == nil {
		defer unix.Close(fd)
		names, err = files.List(fd, nil)
	}
	switch {
	case err != nil && dir == ".":
		return nil, err
	case err != nil:
		return nil, nil
	}
	old := l.old.folders[dir]
	states, sure, skip := make([]byte, 0, len(old.states)), true, l.skip[dir]
	unread := old.withoutID() // but for those that have none
	for _, e := range names {
		var st unix.Stat_t
		name := e.Name
		if slices.Contains(skip, name) || unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue // inner's own, or gone
		}
		s := copytree.StateOf(st)
		switch {
		case isGit(name): // no more than that it is there
			s = copytree.State{Mode: fs.ModeDir, Ino: s.Ino}
			if isEmpty(fd, name) { // inner's placeholder, which is another one in each run
				s.Ino = 0
			}
		case s.Mode.IsDir():
			rel := path.Join(dir, name)
			_, known := l.old.folders[rel]
			if !known && rebuilt(name, names) { // else a box would have it left out by a build file
				break
			}
			below = append(below, rel)
			if l.after && s.Mode&0o500 != 0o500 {
				s.Mode = opened(fd, name, s.Mode)
			}
			s = copytree.State{Mode: s.Mode}
		default:
			sure = sure && l.old.tells(s)
		}
		if s.Mode.IsDir() || unreadable(s) {
			unread--
		}
		states = appendState(states, name, s)
	}
	now := old
	known := sure && (unread <= 0 || l.after) && string(states) == old.states
	if !known {
		now = listing{string(states), strings.Repeat("\x00", len(names)*idBytes)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now.folders[dir] = now; !known {
		l.new = append(l.new, dir)
	}
	return below, nil
}

// isEmpty reports whether nothing is in a folder.
func isEmpty(dir int, name string) bool {
	f, err := copytree.Enter(dir, name)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err == io.EOF
}

// opened opens a folder that the run closed to its own user, and returns its mode since.
func opened(dir int, name string, mode fs.FileMode) fs.FileMode {
	if f, err := copytree.Enter(dir, name); err == nil {
		defer f.Close()
		if fi, err := f.Stat(); err == nil {
			return fi.Mode()
		}
	}
	return mode
}

// tells reports whether the content of a file that has this state again is the same: it did not change in the moment
// of the look, nor in the two seconds that are one for a file system that has no finer times.
func (t tree) tells(s copytree.State) bool {
	if s.Ctime%1e6 == 0 {
		s.Ctime += 2e9
	}
	return s.Ctime < t.sure
}

// unreadable reports whether nothing is kept of what is in a file.
func unreadable(s copytree.State) bool { return s.Mode&fs.ModeIrregular != 0 || s.Size > MaxFile }

// contents finds or reads what is in the files of a folder.
func (l *looker) contents(dir string) ([]string, error) {
	l.mu.Lock()
	names, there := l.now.folders[dir]
	l.mu.Unlock()
	if !there { // it is skipped
		return nil, nil
	}
	fd, err := copytree.Open(l.top, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil { // somebody else has removed or closed it meanwhile
		l.mu.Lock()
		delete(l.now.folders, dir)
		l.mu.Unlock()
		return nil, nil
	}
	defer unix.Close(fd)
	old := maps.Collect(l.old.folders[dir].all())
	states, ids := make([]byte, 0, len(names.states)), make([]byte, 0, len(names.ids))
	for name, e := range names.all() {
		was := old[name]
		known := was.ID != (index.ID{}) || l.after || unreadable(e.State) // else there was no room for it, or no right
		switch {
		case slices.Contains(l.skip[dir], name):
			e.Mode = 0
		case known && was.State == e.State && l.old.tells(e.State):
			e.ID = was.ID
		case e.Mode&(fs.ModeDir|fs.ModeIrregular) == 0:
			e = l.content(fd, name, e.Size, was.ID)
		}
		if e.Mode != 0 {
			states, ids = appendState(states, name, e.State), append(ids, e.ID[:]...)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now.folders[dir] = listing{string(states), string(ids)}
	return nil, nil
}

// content reads a file or the target of a link, stores what it was not before, and says what it was then.
func (l *looker) content(dir int, name string, size int64, was index.ID) (e Entry) {
	var data []byte
	kind, errRead := fs.FileMode(0), error(unix.EFBIG)
	if size <= MaxFile && l.store.size.Load()+size <= MaxAll {
		data, errRead = copytree.Read(dir, name, MaxFile)
	}
	if l.after && errors.Is(errRead, unix.EACCES) {
		if f, _, errOpen := copytree.Closed(dir, name); errOpen == nil {
			f.Close()
			data, errRead = copytree.Read(dir, name, MaxFile)
		}
	}
	if errors.Is(errRead, unix.ELOOP) {
		var target string
		target, errRead = copytree.ReadLink(dir, name)
		data, kind = []byte(target), fs.ModeSymlink
	}
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return e
	}
	if e.State = copytree.StateOf(st); errRead == nil && e.Mode.Type() == kind {
		l.read.Store(true)
		if e.ID = index.BlobID(data); e.ID != was {
			l.store.put(e.ID, data)
		}
	}
	return e
}

// At looks at a path anywhere in an opened project as a look does; nothing for one that is not there.
func (s *Store) At(top int, rel string) (e Entry) {
	_ = copytree.In(top, rel, func(dir int, name string) error {
		var st unix.Stat_t
		err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err != nil {
			return err
		}
		if e.State = copytree.StateOf(st); e.Mode&(fs.ModeDir|fs.ModeIrregular) == 0 {
			e = (&looker{store: s}).content(dir, name, st.Size, index.ID{})
		}
		return nil
	})
	return e
}

// missed says what a run touched of what is left out, in a line for each reason. What tools make again and is there is
// no reason to keep a run for.
func missed(left map[string][2]Entry) (lines []string, keep bool) {
	out := map[string][]string{}
	for rel, e := range left {
		what, end, name, again := e[0], ", and is gone", path.Base(rel), false
		switch {
		case what.Mode == 0:
			what, end = e[1], ", and stays"
		case e[1].Mode != 0:
			end = ", and stays as it is now"
		}
		why := "could not be read, or is beyond 500 MiB"
		switch {
		case isGit(name):
			why = "is git's own"
		case what.Mode.IsDir() && (slices.Contains(made, name) || name == "target"):
			why, again = "is made again by tools", e[1].Mode.IsDir()
		case what.Mode&fs.ModeIrregular != 0:
			why = "is a FIFO, a socket or a device"
		case what.Size > MaxFile:
			why = "is larger than 10 MiB"
		}
		keep = keep || !again
		out[why+end] = append(out[why+end], rel)
	}
	for why, list := range out {
		if n := len(list) - 1; n > 0 {
			why += fmt.Sprintf("; and %d more", n)
		}
		lines = append(lines, slices.Min(list)+"\t"+why)
	}
	slices.Sort(lines)
	return lines, keep
}
