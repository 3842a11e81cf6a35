package objects

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// Limits of what comes over at once: a few bytes in the store can be an object of any size. Of the bytes, each object
// takes some more than it has, and each of a commit, a tree or a tag many: these are held in memory.
const (
	maxBytes   = 16 << 30
	eachObject = maxBytes / 1_000_000
	eachByte   = maxBytes / (512 << 20)
)

// path returns the path of something in the host's folder of objects.
func (g *Gate) path(rel ...string) string { return in(g.into, rel...) }

// makeQuarantine makes the quarantine: no git outside looks into it, and git gc removes that of a
// killed inner. It ends gits that stay when packs of the host's have changed, until that is a while ago.
func (g *Gate) makeQuarantine() error {
	var changed time.Time
	if info, err := os.Stat(g.path("pack")); err == nil {
		changed = info.ModTime()
	}
	if !g.packed.Equal(changed) {
		g.endGits()
		g.packed = changed
		if time.Since(changed) < time.Second {
			g.packed = time.Unix(0, 0)
		}
	}
	return os.Mkdir(g.path(g.quarantine), 0o700)
}

func (g *Gate) removeQuarantine() { _ = os.RemoveAll(g.path(g.quarantine)) }

// create makes a file of an object in the quarantine.
func (g *Gate) create(name string) (*os.File, error) {
	file := g.path(g.quarantine, fileOf(name))
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o444)
}

// release gives a file of the quarantine its place. Its name says what is in it, whatever was there.
func (g *Gate) release(rel string) (err error) {
	for range 10 { // a gc outside removes the folder in between, as long as it is empty
		if err = os.Mkdir(g.path(filepath.Dir(rel)), 0o777); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
		if err = os.Rename(g.path(g.quarantine, rel), g.path(rel)); !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return err
}

// hasLoose reports whether the host has an object as a file of its own.
func (g *Gate) hasLoose(name string) bool {
	return unix.Faccessat(int(g.into.Fd()), fileOf(name), unix.F_OK, 0) == nil
}

// openPlain opens a file of the box's store. It returns nil for what cannot be had: also for what is no
// plain file, and for what is behind a link.
func (g *Gate) openPlain(rel string) *os.File {
	file, _, _ := copytree.Regular(int(g.store.Fd()), rel)
	return file
}

// object is an object of the store. The text of a blob is not held.
type object struct {
	kind string
	size int64
	text []byte
}

// copy copies an object that has a file of its own in the box's store into the quarantine. It returns nil if
// there is none.
func (g *Gate) copy(name string, most int64) (*object, error) {
	file := g.openPlain(fileOf(name))
	if file == nil {
		return nil, nil
	}
	defer file.Close()
	to, err := g.create(name)
	if err != nil {
		return nil, err
	}
	o, err := readLoose(name, file, to, most)
	return o, errors.Join(err, to.Close())
}

// readLoose reads an object that has a file of its own, and copies the bytes of that file as they are read: what is
// looked at is what is copied, whatever the box writes meanwhile.
func readLoose(name string, file io.Reader, copied io.Writer, most int64) (*object, error) {
	raw := bufio.NewReader(io.TeeReader(file, copied))
	unpacked, err := zlib.NewReader(raw)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be unpacked: %w", name, err)
	}
	hash := sha1.New()
	r := bufio.NewReader(io.TeeReader(unpacked, hash))
	head, err := r.ReadSlice(0)
	if err != nil {
		return nil, fmt.Errorf("%s is no object", name)
	}
	kind, digits, _ := strings.Cut(string(head[:len(head)-1]), " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != digits {
		return nil, fmt.Errorf("%s is an object without a size", name)
	}
	var text bytes.Buffer
	var to io.Writer = &text
	switch kind {
	case "blob":
		to = io.Discard
	case "commit", "tree", "tag":
		most /= eachByte
	default:
		return nil, fmt.Errorf("%s is an object of the kind %q", name, kind)
	}
	if size > most {
		return nil, fmt.Errorf("%s has %d bytes, more than may come over", name, size)
	}
	if n, err := io.Copy(to, io.LimitReader(r, size+1)); err != nil || n != size {
		return nil, errors.Join(fmt.Errorf("%s is not of the size that it says", name), err)
	}
	if _, err := raw.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has something behind its end", name)
	}
	if hex.EncodeToString(hash.Sum(nil)) != name {
		return nil, fmt.Errorf("%s is not what its name says", name)
	}
	return &object{kind, size, text.Bytes()}, nil
}
