package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
)

// Leaving is a run whose commits are left as a bundle when it has ended.
type Leaving struct {
	Bundle    string
	dir, base string
	folder    *os.Root // of the bundle, as it was before the run
}

// Begin finds out where a run begins. Without a repository to begin in, and with another file than
// a bundle in its place, nothing runs.
func Begin(ctx context.Context, dir, bundle string) (*Leaving, error) {
	base, err := Git{}.Head(ctx, dir)
	if err != nil {
		return nil, refuse("start it in a clone", "the working folder is at no commit: ", err)
	}
	if err := (Git{}).Harmless(ctx, dir); err != nil {
		return nil, refuse("start it in a clone", "", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(bundle))
	if err != nil {
		return nil, refuse("mkdir -p "+quote.POSIX(filepath.Dir(bundle)), "", err)
	}
	l := &Leaving{bundle, dir, base, folder}
	old, err := l.old()
	if err == nil && old {
		err = l.isBundle()
	}
	if err != nil {
		folder.Close()
		return nil, refuse("name another file", "", err)
	}
	return l, nil
}

func refuse(hint, what string, err error) error {
	return &fault.Refusal{Code: 125, Kind: fault.KindWorkdir, Msg: "--bundle: " + what + err.Error(), Hint: hint}
}

// Ready removes the bundle of an earlier run, which must not count as one of this run: on an error
// the program must not start.
func (l *Leaving) Ready() error {
	old, err := l.old()
	if err == nil && old {
		err = l.folder.Remove(filepath.Base(l.Bundle))
	}
	if err != nil {
		return refuse("rm "+quote.POSIX(l.Bundle), "", err)
	}
	return nil
}

// old reports whether there is a file in the place of the bundle. What is no regular file stays:
// nobody takes it for a bundle.
func (l *Leaving) old() (bool, error) {
	fi, err := l.folder.Lstat(filepath.Base(l.Bundle))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && fi.Mode().IsRegular(), err
}

// isBundle returns an error unless the file is a bundle, or empty.
func (l *Leaving) isBundle() error {
	f, err := l.folder.Open(filepath.Base(l.Bundle))
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, len("# v2 git bundle\n"))
	switch n, err := io.ReadFull(f, head); {
	case err == io.EOF || err == nil && slices.Contains([]string{"# v2 git bundle\n", "# v3 git bundle\n"}, string(head[:n])):
		return nil
	case err == nil || err == io.ErrUnexpectedEOF:
		return fmt.Errorf("%s is there, and is no git bundle", l.Bundle)
	default:
		return err
	}
}

// End makes the bundle where no box can write, puts it into its folder, and reports whether it
// did. What the run itself left in its place does not stay. ErrNothing says that the run made no
// commits, ErrUncommitted that not all of its work is in the bundle.
func (l *Leaving) End(ctx context.Context) (left bool, err error) {
	defer l.folder.Close()
	if err := l.Ready(); err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "bundle")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, "bundle")
	err = Git{}.Leave(ctx, l.dir, l.base, made)
	if err != nil && !(errors.Is(err, ErrUncommitted) && files.Exists(made)) {
		return false, err
	}
	if err := l.put(made); err != nil {
		return false, err
	}
	return true, err
}

// put copies a bundle into its folder, under its name once it is whole.
func (l *Leaving) put(made string) error {
	in, err := os.Open(made)
	if err != nil {
		return err
	}
	defer in.Close()
	name := filepath.Base(l.Bundle)
	next := name + ".next"
	if err := l.folder.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The publisher is another user, of the same group.
	out, err := l.folder.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(0o640), out.Close())
	if err == nil {
		err = l.folder.Rename(next, name)
	}
	if err != nil {
		_ = l.folder.Remove(next)
	}
	return err
}
