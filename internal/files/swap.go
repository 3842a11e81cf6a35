package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Swap replaces the content old of a file by data, as Rewrite does. It is an error when the
// content is not old any more. Meanwhile Swap holds the lock of the folder (LockFolder).
func Swap(path string, old, data []byte) error {
	unlock, err := LockFolder(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("%q cannot be locked: %w", filepath.Dir(path), err)
	}
	defer unlock()
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, old) {
		return fmt.Errorf("%q was changed by somebody else meanwhile", path)
	}
	return Rewrite(path, data)
}

// Rewrite replaces the content of an existing file, as Write does, and keeps its mode. A link
// is an error: what it leads to may be somebody else's.
func Rewrite(path string, data []byte) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%q is not a regular file", path)
	}
	return Write(path, data, st.Mode().Perm())
}
