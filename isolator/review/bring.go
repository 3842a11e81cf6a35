package review

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/stage"
)

// Version is a file as it was when a run elsewhere began, and as it was when the run ended. A mode
// of 0 means that there was no file; the data of a link is its target.
type Version struct {
	Path           string // below the source, slash-separated
	BaseMode, Mode fs.FileMode
	Base, Data     []byte
}

// Bring records the files that a run elsewhere changed as a kept run, as if that run had worked on
// a copy of source, which is a real path. An original that is not as it was when that run began is
// in conflict. The Record is that of the run; Bring sets its id and its folder.
func Bring(innerHome, stageBase, source string, r changes.Record, list []Version) (*changes.Kept, []changes.Change, error) {
	folder, err := stage.New(stageBase, innerHome)
	if err != nil {
		return nil, nil, err
	}
	defer folder.Close()
	disk, err := folder.Disk()
	if err != nil {
		return nil, nil, err
	}
	r.Run, r.Begun = folder.ID, time.Now()
	tree := filepath.Join(disk, changes.TreeName(0))
	entries, err := begun(source, tree, list)
	if err != nil {
		return nil, nil, err
	}
	if err := r.Add(disk, 0, changes.Copy{Source: source, Dest: source}, copytree.Result{Entries: entries}); err != nil {
		return nil, nil, err
	}
	if err := r.Write(disk); err != nil {
		return nil, nil, err
	}
	kept, err := folder.Keep()
	if err != nil {
		return nil, nil, err
	}
	k, err := changes.Open(kept)
	if err != nil {
		return nil, nil, err
	}
	changed, err := k.Finish()
	if err == nil && len(changed) == 0 {
		err = stage.Discard(innerHome, kept)
	}
	return k, changed, err
}

// begun writes the files into tree, and returns the entries that the run began with.
func begun(source, tree string, list []Version) ([]copytree.Entry, error) {
	from, err := changes.OpenDir(source)
	if err != nil {
		return nil, err
	}
	defer unix.Close(from)
	if err := os.Mkdir(tree, 0o700); err != nil {
		return nil, err
	}
	entries := []copytree.Entry{{Path: ".", Mode: fs.ModeDir | 0o700}}
	known := map[string]bool{".": true}
	for _, v := range list {
		for dir := filepath.Dir(v.Path); !known[dir]; dir = filepath.Dir(dir) {
			known[dir] = true
			if st, err := copytree.Lstat(from, dir); err == nil && changes.StateOf(st).Mode.IsDir() {
				entries = append(entries, copytree.Entry{Path: dir, Mode: fs.ModeDir | 0o700})
			}
			if err := os.MkdirAll(filepath.Join(tree, dir), 0o700); err != nil {
				return nil, err
			}
		}
		now, same := v.original(from)
		if v.BaseMode != 0 {
			entries = append(entries, v.entry(now, same))
		}
		if err := v.write(filepath.Join(tree, v.Path), now); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// entry says what the run began with.
func (v Version) entry(now changes.State, same bool) copytree.Entry {
	e := copytree.Entry{Path: v.Path, Mode: v.BaseMode, Link: string(v.Base)}
	if same { // else the entry is of no file that is there
		e.Mode, e.Size, e.Mtime, e.Ctime, e.Ino = now.Mode, now.Size, now.Mtime, now.Ctime, now.Ino
	}
	return e
}

// original returns what source has at the path, and whether it is what the run began with.
func (v Version) original(from int) (now changes.State, same bool) {
	st, err := copytree.Lstat(from, v.Path)
	if err != nil {
		return changes.State{}, false
	}
	now = changes.StateOf(st)
	switch {
	case now.Mode.Type() != v.BaseMode.Type():
		return now, false
	case now.Mode&fs.ModeSymlink != 0:
		target, err := copytree.ReadLink(from, v.Path)
		return now, err == nil && target == string(v.Base)
	case now.Size != int64(len(v.Base)):
		return now, false
	}
	f, _, err := copytree.Regular(from, v.Path)
	if err != nil {
		return now, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, now.Size+1))
	return now, err == nil && bytes.Equal(data, v.Base)
}

// write makes the file as the run left it, with the permissions of the original where git
// knows no others.
func (v Version) write(at string, now changes.State) error {
	switch {
	case v.Mode == 0:
		return nil
	case v.Mode&fs.ModeSymlink != 0:
		return os.Symlink(string(v.Data), at)
	}
	perm := v.Mode.Perm()
	if now.Mode.IsRegular() && (now.Mode.Perm()&0o100 != 0) == (perm&0o100 != 0) {
		perm = now.Mode.Perm()
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(v.Data)
	return errors.Join(err, f.Chmod(perm), f.Close())
}
