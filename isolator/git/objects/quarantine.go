package objects

import (
	"bytes"
	"compress/zlib"
	"crypto/rand"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// quarantine is a folder in the host's folder of objects that no git outside looks into, nor removes.
type quarantine struct {
	gate *Gate
	name string // "" until something is put into it
	made map[string]bool
}

const quarantines = "inner-incoming-"

// path returns the path of something in the host's folder of objects.
func (g *Gate) path(rel string) string { return folderOf(g.objects) + "/" + rel }

// sweep removes quarantines that were left by a killed inner.
func (g *Gate) sweep() {
	found, _ := filepath.Glob(g.path(quarantines + "*"))
	for _, path := range found {
		if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(path)
		}
	}
}

// folder makes a folder, once.
func (q *quarantine) folder(rel string, mode os.FileMode) error {
	if q.made[rel] {
		return nil
	}
	q.made[rel] = true
	if err := os.Mkdir(q.gate.path(rel), mode); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil
		}
		return err
	}
	return q.gate.share(rel)
}

// share gives what was just made the mode that core.sharedRepository asks for.
func (g *Gate) share(rel string) error {
	if g.Share == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Stat(g.path(rel), &st); err != nil {
		return err
	}
	return unix.Chmod(g.path(rel), g.Share(st.Mode)&0o7777)
}

func (q *quarantine) make() error {
	if q.name == "" {
		q.name, q.made = quarantines+rand.Text(), map[string]bool{}
	}
	return q.folder(q.name, 0o700)
}

func (q *quarantine) remove() {
	if q.name != "" {
		_ = os.RemoveAll(q.gate.path(q.name))
	}
}

// copy copies an object that has a file of its own in the box's store. It returns nil if there is none.
func (q *quarantine) copy(name id, most int64) (*object, error) {
	file, err := q.gate.openPlain(name.file())
	if err != nil || file == nil {
		return nil, err
	}
	defer file.Close()
	if err := q.make(); err != nil {
		return nil, err
	}
	to, err := os.OpenFile(q.gate.path(q.name+"/"+name.String()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return nil, err
	}
	o, err := readLoose(name, file, to, most)
	return o, errors.Join(err, to.Close())
}

// severities makes errors of faults that git-fsck(1) only warns about: files of settings that are
// links, and a .gitmodules that cannot be parsed.
const severities = "--strict=gitattributesSymlink=error,gitignoreSymlink=error,mailmapSymlink=error,gitmodulesParse=error"

// Fsck returns the flags with which git fetch checks objects as this package does.
func Fsck() []string {
	words := []string{"-c", "fetch.fsckObjects=true"}
	for kv := range strings.SplitSeq(strings.TrimPrefix(severities, "--strict="), ",") {
		words = append(words, "-c", "fetch.fsck."+kv)
	}
	return words
}

// modules lets git check files as .gitmodules, which they are in trees that do not come.
func (q *quarantine) modules(list []id) error {
	if err := q.make(); err != nil {
		return err
	}
	var trees []id
	for _, blob := range list {
		text := "100644 .gitmodules\x00" + string(blob[:])
		text = fmt.Sprintf("tree %d\x00%s", len(text), text)
		var file bytes.Buffer
		z := zlib.NewWriter(&file)
		_, err := io.WriteString(z, text)
		tree := id(sha1.Sum([]byte(text)))
		if err = errors.Join(err, z.Close(), os.WriteFile(q.gate.path(q.name+"/"+tree.String()), file.Bytes(), 0o444)); err != nil {
			return err
		}
		trees = append(trees, tree)
	}
	return q.judge(append(trees, list...))
}

// judge lets git check objects of the quarantine, or of the host's, as it does when somebody pushes them.
func (q *quarantine) judge(list []id) error {
	var names strings.Builder
	for _, object := range list {
		names.WriteString(object.String() + "\n")
		if _, err := os.Lstat(q.gate.path(q.name + "/" + object.String())); err != nil {
			continue
		}
		rel := q.name + "/" + object.file()
		if err := q.folder(filepath.Dir(rel), 0o700); err != nil {
			return err
		}
		if err := os.Symlink("../"+object.String(), q.gate.path(rel)); err != nil {
			return err
		}
	}
	base := objectsFD + "/" + q.name + "/judged"
	hash, err := q.gate.run(q.name, objectsFD, strings.NewReader(names.String()), "pack-objects", "-q", base)
	if err == nil {
		_, err = q.gate.run(q.name, objectsFD, nil, "index-pack", severities, base+"-"+strings.TrimSpace(hash)+".pack")
	}
	return err
}

// release gives objects their places, in that order. They reach the disk when the system writes them, as git's own do.
func (q *quarantine) release(list []id) error {
	for _, object := range list {
		if err := q.move(object.String(), object.file()); err != nil {
			return err
		}
	}
	return nil
}

// move gives a file of the quarantine its place. One that is there stays: its name says what is in it.
func (q *quarantine) move(rel, place string) error {
	if err := q.folder(filepath.Dir(place), 0o777); err != nil {
		return err
	}
	if err := q.gate.share(q.name + "/" + rel); err != nil {
		return err
	}
	from, to := q.gate.path(q.name+"/"+rel), q.gate.path(place)
	switch err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE); {
	case errors.Is(err, unix.EEXIST):
		return nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // some file systems
		return os.Rename(from, to)
	default:
		return err
	}
}
