package objects

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
)

// Limits of what comes over at once: a few bytes in the store can be an object of any size.
const (
	maxBlob  = 4 << 30   // bytes of one file
	maxText  = 64 << 20  // bytes of one commit, tree or tag
	maxHeld  = 512 << 20 // bytes of all of these, which are held in memory
	maxBytes = 16 << 30  // bytes of everything
	maxKnown = 2000      // objects that are remembered
)

// object is an object of the store. The text of a blob is not held.
type object struct {
	kind string
	size int64
	text []byte
}

// openPlain opens a file of the box's store. It returns nil for what is not there: also for what is no plain file, and
// for what is behind a link.
func (g *Gate) openPlain(rel string) (*os.File, error) {
	fd, err := copytree.Open(int(g.Store.Fd()), rel, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENXIO):
		return nil, nil
	case err != nil:
		return nil, err
	}
	file := os.NewFile(uintptr(fd), rel)
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, err
	}
	return file, nil
}

// readLoose reads an object that has a file of its own, and copies the bytes of that file as they are read: what is
// looked at is what is copied, whatever the box writes meanwhile.
func readLoose(name id, file io.Reader, copied io.Writer, most int64) (*object, error) {
	raw := bufio.NewReader(io.TeeReader(file, copied))
	unpacked, err := zlib.NewReader(raw)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be unpacked: %w", name, err)
	}
	o, sum, err := readObject(unpacked, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if _, err := raw.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s has something behind its end", name)
	}
	if sum != name {
		return nil, fmt.Errorf("%s is not what its name says", name)
	}
	return o, nil
}

// readObject reads the text of an object to its end, and returns its name.
func readObject(from io.Reader, most int64) (*object, id, error) {
	hash := sha1.New()
	r := bufio.NewReader(io.TeeReader(from, hash))
	head, err := r.ReadSlice(0)
	if err != nil || len(head) > 32 {
		return nil, id{}, errors.New("no object")
	}
	kind, digits, _ := strings.Cut(string(head[:len(head)-1]), " ")
	o := &object{kind: kind}
	o.size, err = strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(o.size, 10) != digits {
		return nil, id{}, errors.New("an object without a size")
	}
	var text bytes.Buffer
	var to io.Writer = &text
	switch kind {
	case "blob":
		to = io.Discard
	case "commit", "tree", "tag":
		most = min(most, maxText)
	default:
		return nil, id{}, fmt.Errorf("an object of the kind %q", kind)
	}
	if o.size > most {
		return nil, id{}, fmt.Errorf("its %d bytes are more than may come over", o.size)
	}
	if n, err := io.Copy(to, io.LimitReader(r, o.size+1)); err != nil || n != o.size {
		return nil, id{}, errors.Join(errors.New("not of the size that it says"), err)
	}
	o.text = text.Bytes()
	return o, id(hash.Sum(nil)), nil
}
