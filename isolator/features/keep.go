package features

// workdir_mode = "keep": the box sees the working folder as it is and can make what it
// likes in it, and only what [sandbox] keep names is there afterwards. Installers need
// that: they write files beside the manifest and rename them.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Bounds of a working folder that is kept: each entry is a mount, and each kept file is
// read whole.
const (
	mostEntries = 1000
	maxKept     = 64 << 20
)

// keepOf is what a run keeps of its working folder.
type keepOf struct {
	run    *Run
	folder string            // that stands for the working folder
	to     *os.File          // the working folder itself: whoever replaces it by a link moves nothing
	back   string            // the same, as a path
	files  map[string][]byte // kept files, as they were
}

// keep makes the folder that stands for the working folder, and puts back what is kept.
func keep() Feature {
	k := &keepOf{files: map[string][]byte{}}
	return Feature{
		Name: "keep", Keys: []string{"sandbox.workdir_mode", "sandbox.keep"},
		Learn: k.learn, Make: k.make, Finish: k.finish,
	}
}

// learn reads what is in the working folder.
func (k *keepOf) learn(run *Run) error {
	if run.Spec.WorkdirMode != profile.Keep {
		return nil
	}
	k.run = run
	list, err := host.Children(run.Spec.Workdir)
	if err == nil && len(list) > mostEntries {
		err = fmt.Errorf("it has more than %d entries", mostEntries)
	}
	if err != nil {
		return k.refuse("the working folder cannot be kept as it is: %v", err)
	}
	run.Facts.Entries = list
	return nil
}

func (k *keepOf) refuse(format string, args ...any) error {
	return &fault.Refusal{
		Code: 125,
		Msg:  fmt.Sprintf("profile %q: ", k.run.Spec.Name) + fmt.Sprintf(format, args...),
		Hint: `workdir_mode = "ro" under [sandbox] keeps all of it`,
	}
}

// fits reports whether what is called name may be kept: it is not hidden, and tools
// outside do not obey it.
func (k *keepOf) fits(run *Run, name string, folder bool) bool {
	at := filepath.Join(run.Spec.Workdir, name)
	return slices.Contains(run.Spec.Keep, name) && !strings.EqualFold(name, ".git") &&
		!plan.ObeyedName(run.Spec, name, folder) &&
		!slices.Contains(plan.Hidden(run.Spec, run.Facts, run.Assets), at) && !slices.Contains(run.Spec.Files, at)
}

// make makes the folder: a mount point for each entry, links as they are, and copies of
// the files that are kept.
func (k *keepOf) make(run *Run) error {
	if run.Spec.WorkdirMode != profile.Keep {
		return nil
	}
	var kept []string
	copied := []string{}
	for _, c := range run.Facts.Entries {
		fits := c.Kind == host.File && k.fits(run, c.Name, false)
		if fits {
			kept = append(kept, c.Name)
		}
		if fits || c.Kind == host.Link {
			copied = append(copied, c.Name)
		}
	}
	run.Assets.Kept, run.Assets.KeptFiles = run.Folder.At("kept working folder"), kept
	run.mirror(run.Assets.Kept, run.Spec.Workdir, copied, nil)
	if !run.Mode.Made() {
		return nil
	}
	fd, err := unix.Open(run.Spec.Workdir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return k.refuse("the working folder: %v", err)
	}
	k.to = os.NewFile(uintptr(fd), run.Spec.Workdir)
	run.Undo(func() { _ = k.to.Close() })
	k.back = fmt.Sprintf("/proc/self/fd/%d", fd)
	disk, err := run.Folder.Disk()
	if err != nil {
		return k.refuse("the folder of the run: %v", err)
	}
	k.folder = filepath.Join(disk, "keep")
	if err := os.Mkdir(k.folder, 0o755); err != nil {
		return err
	}
	for _, c := range run.Facts.Entries {
		at := filepath.Join(k.folder, c.Name)
		switch c.Kind {
		case host.Dir:
			err = os.Mkdir(at, 0o755)
		case host.Link:
			err = os.Symlink(c.Target, at)
		case host.File:
			err = k.makeFile(c.Name, slices.Contains(kept, c.Name))
		}
		if err != nil {
			return err
		}
	}
	run.Assets.Kept = k.folder
	return nil
}

// makeFile makes the copy of a file that is kept, or an empty file to mount another one on.
func (k *keepOf) makeFile(name string, kept bool) (err error) {
	var data []byte
	mode := fs.FileMode(0o644)
	if kept {
		if data, mode, err = readKept(filepath.Join(k.back, name)); err != nil {
			return k.refuse("%q: %v", name, err)
		}
		k.files[name] = data
	}
	at := filepath.Join(k.folder, name)
	if err := files.Create(at, data, mode); err != nil {
		return err
	}
	return os.Chmod(at, mode) // whatever the umask is
}

func readKept(path string) ([]byte, fs.FileMode, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	data, err := files.Read(path, files.NoLinks, maxKept)
	return data, fi.Mode().Perm(), err
}

// finish puts back what is kept, each by one rename, and tells what is not. After an end
// that was not the program's own nothing is put back: a file may be half written.
func (k *keepOf) finish(run *Run, o *Outcome) error {
	if k.folder == "" {
		return nil
	}
	list, err := os.ReadDir(k.folder)
	if err != nil {
		return err
	}
	ended := !o.TimedOut && o.Signal == 0 && o.Code < 128
	var dropped, unfinished []string
	for _, e := range list {
		name, at := e.Name(), filepath.Join(k.folder, e.Name())
		before, copied := k.files[name]
		switch {
		case !copied && slices.ContainsFunc(run.Facts.Entries, func(c host.Child) bool {
			return c.Name == name && (c.Kind != host.Link || e.Type()&fs.ModeSymlink != 0)
		}): // its mount point, or the link that is there
			continue
		case !k.fits(run, name, e.IsDir()) || !e.IsDir() && !e.Type().IsRegular() || copied && e.IsDir():
			dropped = append(dropped, visible.Text(name))
			continue
		}
		if !e.IsDir() {
			now, mode, err := readKept(at)
			if err == nil && copied && bytes.Equal(now, before) {
				continue
			}
			if err == nil {
				err = os.Chmod(at, mode&0o755)
			}
			if err != nil {
				run.Warn("%q is not kept: %v", name, err)
				continue
			}
		}
		if !ended {
			unfinished = append(unfinished, visible.Text(name))
		} else if err := k.put(name); err != nil {
			run.Warn("%q is not kept: %v", name, err)
		}
	}
	tellNames(run, "not kept in the working folder", dropped)
	tellNames(run, "not put back, for the program did not end by itself", unfinished)
	return nil
}

func tellNames(run *Run, what string, names []string) {
	if len(names) > 0 {
		run.Warn("%s: %s", what, strings.Join(visible.Some(names, 8), ", "))
	}
}

// put brings a folder or a file that the run has made or changed to the working folder. A file takes the place
// of the one that it began as, unless somebody else has changed that since.
func (k *keepOf) put(name string) error {
	work, err := os.MkdirTemp(filepath.Dir(k.folder), "put-")
	if err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(k.folder, name), filepath.Join(work, name)); err != nil {
		return err
	}
	a := Adoption{From: work, To: k.to, At: k.run.Spec.Workdir}
	if before, copied := k.files[name]; copied {
		a.Over = func() error {
			if now, _, err := readKept(filepath.Join(k.back, name)); err != nil || !bytes.Equal(now, before) {
				return errors.New("it has changed outside of the box meanwhile")
			}
			return nil
		}
	}
	_, err = a.Bring(context.Background(), k.run.Caller)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("something of that name was made outside of the box meanwhile")
	}
	return err
}
