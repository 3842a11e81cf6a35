package undo

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
)

// A manifest is what is known of a project between two runs: a line of text with the version, the time up to which
// it is sure, and for each path its length, its name and what is fixed of it.
const manifestMark = "inner undo 1\n"

// fixed is what a manifest has of an entry behind its path.
type fixed struct {
	Mode               uint32
	Ino                uint64
	Size, Mtime, Ctime int64
	ID                 [20]byte
}

var errDamaged = errors.New("it is damaged")

// read reads a manifest. One that is not there, or of another version, knows nothing.
func readManifest(name string) (tree, int64, error) {
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.HasPrefix(data, []byte(manifestMark)) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	data = data[len(manifestMark):]
	size := binary.Size(fixed{})
	if len(data) < 16 {
		return nil, 0, errDamaged
	}
	sure, n := int64(binary.LittleEndian.Uint64(data)), binary.LittleEndian.Uint64(data[8:])
	data = data[16:]
	if n > uint64(len(data)) {
		return nil, 0, errDamaged
	}
	t := make(tree, n)
	for range n {
		length, used := binary.Uvarint(data)
		if used <= 0 || uint64(len(data)-used) < length+uint64(size) {
			return nil, 0, errDamaged
		}
		name, rest := string(data[used:used+int(length)]), data[used+int(length):]
		var f fixed
		if _, err := binary.Decode(rest, binary.LittleEndian, &f); err != nil {
			return nil, 0, err
		}
		t[name] = Entry{copytree.State{Mode: fs.FileMode(f.Mode), Ino: f.Ino, Size: f.Size, Mtime: f.Mtime, Ctime: f.Ctime}, f.ID}
		data = rest[size:]
	}
	return t, sure, nil
}

// writeManifest writes one, whole or not at all.
func writeManifest(name string, t tree, sure int64) error {
	out := binary.LittleEndian.AppendUint64([]byte(manifestMark), uint64(sure))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(t)))
	for p, e := range t {
		out = append(binary.AppendUvarint(out, uint64(len(p))), p...)
		var err error
		if out, err = binary.Append(out, binary.LittleEndian, fixed{uint32(e.Mode), e.Ino, e.Size, e.Mtime, e.Ctime, e.ID}); err != nil {
			return err
		}
	}
	return files.Replace(name, out, 0o600)
}
