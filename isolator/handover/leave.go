package handover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/profile/gitconfig"
)

// ErrNothing says that there is nothing to hand over.
var ErrNothing = errors.New("nothing was committed and nothing was changed")

// Leaving is a run whose commits are left as a bundle when it has ended.
type Leaving struct {
	Bundle    string
	dir, base string
	folder    *os.Root // of the bundle, as it was before the run
}

// Begin finds out where a run begins. Without a repository to begin in, and with another file than
// a bundle in its place, nothing runs.
func Begin(ctx context.Context, dir, bundle string) (*Leaving, error) {
	base, err := Git{}.word(ctx, dir, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil, refuse("start it in a clone", "the working folder is at no commit: ", err)
	}
	if err := (Git{}).harmless(ctx, dir); err != nil {
		return nil, refuse("start it in a clone", "", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(bundle))
	if err != nil {
		return nil, refuse("mkdir -p "+quote.POSIX(filepath.Dir(bundle)), "", err)
	}
	old, err := files.Head(bundle, files.NoLinks, 16)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular):
	case err == nil && len(old) > 0 && !bundled().Match(old):
		err = fmt.Errorf("%s is there, and is no git bundle", bundle)
		fallthrough
	case err != nil:
		folder.Close()
		return nil, refuse("name another file", "", err)
	}
	return &Leaving{bundle, dir, base, folder}, nil
}

// bundled matches the beginning of a bundle.
var bundled = lazy.Regexp(`^# v[23] git bundle\n$`)

func refuse(hint, what string, err error) error {
	return &fault.Refusal{Code: 125, Kind: fault.KindWorkdir, Msg: "--bundle: " + what + err.Error(), Hint: hint}
}

// Ready removes the bundle of an earlier run, which must not count as one of this run: on an error
// the program must not start. What is no regular file stays: nobody takes it for a bundle.
func (l *Leaving) Ready() error {
	fi, err := l.folder.Lstat(l.name())
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !fi.Mode().IsRegular():
		return nil
	case err == nil:
		err = l.folder.Remove(l.name())
	}
	if err != nil {
		return refuse("rm "+quote.POSIX(l.Bundle), "", err)
	}
	return nil
}

func (l *Leaving) name() string { return filepath.Base(l.Bundle) }

// End writes the commits that the run made to the bundle. Changes that are not committed become one more
// commit. What the run itself left in the bundle's place does not stay. ErrNothing says that the run made
// no commits.
func (l *Leaving) End(ctx context.Context) error {
	defer l.folder.Close()
	if err := l.Ready(); err != nil {
		return err
	}
	if err := (Git{}).commit(ctx, l.dir); err != nil {
		return err
	}
	if head, err := (Git{}).word(ctx, l.dir, "rev-parse", "--verify", "HEAD^{commit}"); err != nil {
		return err
	} else if head == l.base {
		return ErrNothing
	}
	next := l.name() + ".next" // until it is whole
	if err := l.folder.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The publisher is another user, of the same group.
	out, err := l.folder.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = Git{out: out}.run(ctx, l.dir, "bundle", "create", "--quiet", "-", l.base+"..HEAD")
	if err = errors.Join(err, out.Chmod(0o640), out.Close()); err == nil {
		err = l.folder.Rename(next, l.name())
	}
	if err != nil {
		_ = l.folder.Remove(next)
	}
	return err
}

// commit commits what a run has left without one. git add would look into submodules, with what their own
// configuration has it execute: so the files are named, and what has changed in a submodule stays out.
func (g Git) commit(ctx context.Context, dir string) error {
	if err := g.harmless(ctx, dir); err != nil {
		return err
	}
	changed, err := g.run(ctx, dir, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	var names strings.Builder
	for line := range strings.SplitSeq(changed, "\x00") { // XY NAME
		if line != "" && !strings.HasSuffix(line, "/") { // a repository of its own
			names.WriteString(line[3:] + "\x00")
		}
	}
	if names.Len() == 0 {
		return nil
	}
	named := Git{in: strings.NewReader(names.String())}
	if _, err := named.run(ctx, dir, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"); err != nil {
		return err
	}
	_, err = g.run(ctx, dir, "commit", "--quiet", "--no-verify", "--message", "inner: what the run left without a commit")
	return err
}

// harmless refuses a repository whose own settings could have git execute something: commit runs
// git outside of the box, on what the box has written.
func (g Git) harmless(ctx context.Context, dir string) error {
	out, err := g.run(ctx, dir, "config", "--list", "--show-scope", "-z")
	if err != nil {
		return err
	}
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] == "command" { // run's own
			continue
		}
		key, value, set := strings.Cut(fields[i+1], "\n")
		if !gitconfig.Harmless(gitconfig.Entry{Key: key, Value: value, Bare: !set}, func(string) bool { return false }) {
			return fmt.Errorf("the repository has the setting %q, with which git could execute a program", key)
		}
	}
	return nil
}
