package files

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
)

// Swap gives a file another content, unless it is no longer the old one. Other calls of
// inner that change a file of its folder take turns.
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

// Rewrite gives a file another content, whole or not at all, and keeps its
// mode. A link is refused: what it leads to is not ours.
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
