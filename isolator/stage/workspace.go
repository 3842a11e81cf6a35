package stage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/host"
)

// Workspace is a mount point below workspaces_path that is made for the run.
type Workspace struct {
	Path string // root itself or below it
	File bool   // what is mounted there is a file
}

// Workspaces makes mount points below root, the user's workspaces_path, and
// locks them for as long as the run lives: two runs may work below one root,
// but not in one workspace. What is made is in the journal before it is there,
// and goes with the last run that needs it, when it is empty.
//
// The lock is a file .inner-PID.lock in root, held by flock(2) for the length
// of the run, that lists the workspaces of the run. One that nobody holds is
// a crashed run's, and is removed.
func (r *Run) Workspaces(root string, places []Workspace) error {
	dir, err := workspacesRoot(root)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	// Everybody who looks at the locks of this root waits here.
	if err := files.FlockFD(dir, unix.LOCK_EX); err != nil {
		return fmt.Errorf("workspaces_path %q: %w", root, err)
	}
	if err := freeOf(dir, root, places); err != nil {
		return err
	}
	if err := r.lockWorkspaces(root, places); err != nil {
		return err
	}
	for _, p := range places {
		if err := r.place(root, p); err != nil {
			return err
		}
	}
	return nil
}

// workspacesRoot opens root, which must be a folder that nobody else can
// change.
func workspacesRoot(root string) (int, error) {
	refuse := func(why, hint string) (int, error) {
		return -1, &fault.Refusal{Code: 125, Msg: fmt.Sprintf("workspaces_path %q %s", root, why), Hint: hint}
	}
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT):
		return refuse("does not exist", "mkdir -p "+quote.POSIX(root))
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return refuse("is not a folder, or is a link", "name the folder itself")
	case err != nil:
		return refuse("cannot be opened: "+err.Error(), "")
	}
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		unix.Close(fd)
		return refuse("cannot be looked at: "+err.Error(), "")
	case int(st.Uid) != os.Getuid():
		unix.Close(fd)
		return refuse("belongs to somebody else", "")
	case st.Mode&0o022 != 0:
		unix.Close(fd)
		return refuse("can be written by others", "chmod go-w "+quote.POSIX(root))
	}
	return fd, nil
}

// freeOf refuses a workspace that another run holds, and removes the locks of
// crashed runs.
func freeOf(dir int, root string, places []Workspace) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		pid, ok := lockName(e.Name())
		if !ok {
			continue
		}
		fd, err := unix.Openat(dir, e.Name(), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // gone, or no file of ours
		}
		f := os.NewFile(uintptr(fd), filepath.Join(root, e.Name()))
		err = files.FlockFD(fd, unix.LOCK_SH|unix.LOCK_NB)
		data, _ := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err == nil {
			if err := unix.Unlinkat(dir, e.Name(), 0); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("the lock %q of a run that is gone: %w", f.Name(), err)
			}
			continue
		}
		run, held, _ := strings.Cut(string(data), "\n")
		for line := range strings.Lines(held) {
			path, err := strconv.Unquote(strings.TrimSuffix(line, "\n"))
			if err == nil && slices.ContainsFunc(places, func(p Workspace) bool { return p.Path == path }) {
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("workspace %q is in use by process %d (%s)", path, pid, run),
					Hint: "wait for it to end, or name another folder below ${workspaces_path}",
				}
			}
		}
	}
	return nil
}

// lockName takes the process out of the name of a lock.
func lockName(name string) (pid int, ok bool) {
	rest, ok1 := strings.CutPrefix(name, ".inner-")
	rest, ok2 := strings.CutSuffix(rest, ".lock")
	pid, err := strconv.Atoi(rest)
	return pid, ok1 && ok2 && err == nil && pid > 0
}

func (r *Run) lockWorkspaces(root string, places []Workspace) error {
	var text strings.Builder
	fmt.Fprintf(&text, "run %s\n", r.ID)
	for _, p := range places {
		fmt.Fprintf(&text, "%q\n", p.Path)
	}
	path := filepath.Join(root, fmt.Sprintf(".inner-%d.lock", os.Getpid()))
	if err := r.MakePlaceholders(host.Placeholder{Path: path, Content: []byte(text.String())}); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("the lock of the workspaces: %w", err)
	}
	if err := files.Flock(f, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the lock %q is held by a process of the same number, in another container perhaps", path)}
	}
	r.workspaces = f
	return nil
}

// place makes one mount point, folder by folder, and none through a link.
func (r *Run) place(root string, p Workspace) error {
	rest, ok := strings.CutPrefix(p.Path, root+"/")
	if !ok {
		return nil // the root itself
	}
	parts := strings.Split(rest, "/")
	at := root
	for i, name := range parts {
		at = filepath.Join(at, name)
		isFile := p.File && i == len(parts)-1
		made := host.Placeholder{Path: at}
		if isFile {
			made.Content = []byte{}
		}
		if err := r.MakePlaceholders(made); err != nil {
			return err
		}
		refuse := func(why string) error {
			return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("workspace %q: %q %s", p.Path, at, why), Hint: "name another folder below ${workspaces_path}"}
		}
		fi, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return refuse("cannot be made")
		case err != nil:
			return refuse("cannot be looked at: " + err.Error())
		case fi.Mode()&fs.ModeSymlink != 0:
			return refuse("is a link")
		case isFile && !fi.Mode().IsRegular():
			return refuse("is not a file, and a file is mounted there")
		case !isFile && !fi.IsDir():
			return refuse("is not a folder")
		}
	}
	return nil
}
