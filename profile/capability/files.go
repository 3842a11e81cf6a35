package capability

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/enr/inner/internal/files"
)

// maxFile bounds each file that is read into memory; real ones are far smaller.
const maxFile = 32 << 20

func create(path string, mode fs.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
}

func writeFile(path string, data []byte, mode fs.FileMode) error {
	f, err := create(path, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// copyTree copies folders and regular files, which are read-only then; executables stay executable.
// Everything else is left out and returned.
func copyTree(src, dst string) (skipped []string, err error) {
	if fi, err := os.Lstat(src); err != nil || !fi.IsDir() {
		if err == nil {
			skipped = append(skipped, src)
		}
		return skipped, nil
	}
	err = filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, p)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		err = files.ErrNotRegular
		if d.Type().IsRegular() {
			err = copyBytes(p, to)
		}
		if errors.Is(err, files.ErrNotRegular) {
			skipped = append(skipped, p)
			return nil
		}
		return err
	})
	return skipped, err
}

func copyBytes(src, dst string) error {
	from, fi, err := files.Open(src, files.NoLinks)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := create(dst, 0o400|fi.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
