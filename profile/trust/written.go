package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/enr/inner/internal/files"
)

// A folder that a box was ever given to write may hold links of the box's making. The
// store keeps one small file for each such folder, named by the hash of its real path:
// to ask about a folder is one lstat.

// MarkWritten remembers that boxes can write the folders, which are real paths.
func (s Store) MarkWritten(dirs ...string) error { return s.mark(s.written, dirs) }

// mark makes the small file of each folder.
func (s Store) mark(name func(dir string) string, dirs []string) error {
	for _, dir := range dirs {
		if mayExist(name(dir)) {
			continue
		}
		if err := files.Folder(s.Dir); err != nil {
			return fmt.Errorf("trust folder: %w", err)
		}
		if err := files.Folder(s.writtenDir()); err != nil {
			return fmt.Errorf("trust folder: %w", err)
		}
		f, err := os.OpenFile(name(dir), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(dir + "\n") // for a person who looks
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("trust folder: %w", err)
		}
	}
	return nil
}

// Written reports whether a box was ever given that very folder, a real path, to
// write. One that cannot be asked about counts.
func (s Store) Written(dir string) bool { return mayExist(s.written(dir)) }

// mayExist reports whether there is something at a path, or that cannot be told.
func mayExist(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !errors.Is(err, fs.ErrNotExist)
}

func (s Store) writtenDir() string { return filepath.Join(s.Dir, "written") }

func (s Store) written(dir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return filepath.Join(s.writtenDir(), hex.EncodeToString(sum[:]))
}
