package capability

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxFile bounds each file that is read into memory; real ones are far smaller.
const maxFile = 32 << 20

var errNotRegular = errors.New("not a regular file")

// open opens a regular file without following a link at its end and without
// blocking on a FIFO.
func open(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO) {
		return nil, nil, errNotRegular
	}
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// ReadFile reads a regular file of at most limit bytes, following no link at
// its end and waiting for nobody.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("%q is larger than %d KiB", path, limit>>10)
	}
	return data, err
}

func create(path string, mode fs.FileMode) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, mode)
}

func writeFile(path string, data []byte) error {
	f, err := create(path, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// copyTree copies folders and regular files; executables stay executable.
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
		err = errNotRegular
		if d.Type().IsRegular() {
			err = copyBytes(p, to)
		}
		if errors.Is(err, errNotRegular) {
			skipped = append(skipped, p)
			return nil
		}
		return err
	})
	return skipped, err
}

func copyBytes(src, dst string) error {
	from, fi, err := open(src)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := create(dst, 0o600|fi.Mode().Perm()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
