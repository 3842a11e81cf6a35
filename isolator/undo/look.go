package undo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
)

// Bounds of what is kept. What is beyond is left out, and said.
const (
	MaxFile = 10 << 20  // bytes of one file
	MaxAll  = 500 << 20 // bytes of all contents that a look stores
)

// made are folders that tools make again: what is in them is no work of anybody.
var made = []string{
	"node_modules", "bower_components", "__pycache__", ".venv", "venv", ".tox", ".nox", ".gradle", ".pnpm-store", ".next", ".nuxt", ".turbo", ".mypy_cache", ".pytest_cache", ".ruff_cache",
}

// rebuilt reports whether a folder is one of them: by its name, or, for target, by the build file beside it.
func rebuilt(name string, beside []string) bool {
	if name == "target" {
		return slices.ContainsFunc([]string{"Cargo.toml", "pom.xml", "build.sbt"}, func(f string) bool { return slices.Contains(beside, f) })
	}
	return slices.Contains(made, name)
}

// Entry is a path of a project as it was looked at. A folder has no ID; the ID of a link is that of its target as text.
type Entry struct {
	copytree.State
	ID index.ID
}

// likeIndex reports whether a file is what the index of git says, which has no more of its mode than its kind, and of
// its number the last 32 bits.
func (e Entry) likeIndex(now copytree.State) bool {
	now.Mode, now.Ino = now.Mode.Type()|borrowedMode, uint64(uint32(now.Ino))
	return e.State == now
}

// borrowedMode marks an entry that is known from the index of git.
const borrowedMode = fs.ModeAppend

// tree is a project: its entries by their paths, relative to its top.
type tree map[string]Entry

// looker walks a project.
type looker struct {
	ctx  context.Context
	top  int
	old  tree            // what is known of it
	skip map[string]bool // places that are left out without a word
	sure int64           // of files with a change time before that, in nanoseconds, the state tells the content

	mu      sync.Mutex // guards what follows
	now     tree
	changed []string // whose content is not known
	left    []string // that are not kept, with the reason behind a tab
}

// look walks a project. No link is followed, nothing but folders is opened.
func look(ctx context.Context, p Project, old tree, sure int64) (*looker, error) {
	fd, err := unix.Open(p.Top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p.Top, Err: err}
	}
	l := &looker{ctx: ctx, top: fd, old: old, sure: sure, now: make(tree, len(old)), skip: map[string]bool{}}
	for _, rel := range p.Skip {
		l.skip[rel] = true
	}
	jobs, folders := runtime.GOMAXPROCS(0), make(chan []string, 1)
	folders <- []string{"."}
	// The folders that wait are one list, which is taken and given back; who finds it empty and nobody at work ends.
	busy, done := 0, sync.NewCond(&l.mu)
	waiting := <-folders
	var all sync.WaitGroup
	for range jobs {
		all.Go(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			for {
				for len(waiting) == 0 && busy > 0 {
					done.Wait()
				}
				if len(waiting) == 0 || ctx.Err() != nil {
					done.Broadcast()
					return
				}
				dir := waiting[len(waiting)-1]
				waiting = waiting[:len(waiting)-1]
				busy++
				l.mu.Unlock()
				below := l.folder(dir)
				l.mu.Lock()
				busy--
				waiting = append(waiting, below...)
				done.Broadcast()
			}
		})
	}
	all.Wait()
	slices.Sort(l.changed)
	slices.Sort(l.left)
	return l, ctx.Err()
}

func (l *looker) close() { unix.Close(l.top) }

// folder looks at what is in one folder, and returns the folders there.
func (l *looker) folder(dir string) (below []string) {
	fd, err := copytree.Open(l.top, dir, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		if !errors.Is(err, unix.ENOENT) {
			l.leave(dir, "cannot be read")
		}
		return nil
	}
	f := os.NewFile(uintptr(fd), dir)
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		l.leave(dir, "cannot be read")
	}
	found := make([]Entry, len(names))
	for i, name := range names {
		var st unix.Stat_t
		if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			found[i].State = copytree.StateOf(st)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, name := range names {
		e, rel := found[i], path.Join(dir, name)
		switch {
		case e.Ino == 0 || e.Mode&fs.ModeIrregular != 0 || dir == "." && name == ".inner" || strings.EqualFold(name, ".git"), l.skip[rel]: // gone, nothing with a content, or git's and inner's own
			continue
		case e.Mode.IsDir() && rebuilt(name, names):
			l.left = append(l.left, rel+"\tis made again by tools")
			continue
		case e.Mode.IsDir():
			below = append(below, rel)
		case e.Size > MaxFile:
			l.left = append(l.left, rel+"\tis larger than 10 MiB")
			continue
		default:
			if was, known := l.old[rel]; known && e.Ctime < l.sure && (was.State == e.State || was.likeIndex(e.State)) {
				e.ID = was.ID
			} else {
				l.changed = append(l.changed, rel)
			}
		}
		l.now[rel] = e
	}
	return below
}

func (l *looker) leave(rel, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, rel+"\t"+why)
}

// content reads a file or the target of a link, and notes what it was then.
func (l *looker) content(rel string) ([]byte, bool) {
	was := l.now[rel]
	var data []byte
	var err error
	if was.Mode&fs.ModeSymlink != 0 {
		var target string
		target, err = copytree.ReadLink(l.top, rel)
		data = []byte(target)
	} else {
		data, err = copytree.Read(l.top, rel, MaxFile)
	}
	st, errStat := copytree.Lstat(l.top, rel)
	if err != nil || errStat != nil {
		delete(l.now, rel)
		if !errors.Is(cause(err, errStat), unix.ENOENT) {
			l.left = append(l.left, rel+"\tcannot be read")
		}
		return nil, false
	}
	l.now[rel] = Entry{copytree.StateOf(st), index.BlobID(data)}
	return data, true
}

func cause(errs ...error) error { return errors.Join(errs...) }
