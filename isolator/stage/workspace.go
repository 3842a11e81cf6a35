package stage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/owned"
)

// Workspaces makes mount points below root, the user's workspaces_path (or root itself is one), and
// locks them for as long as the run lives: two runs may work below one root,
// but not in one workspace. What is made is in the record before it is there,
// and goes with the last run that needs it, when it is empty.
//
// The lock is a file .inner-PID.lock in root, held by flock(2) for the length
// of the run, that lists the workspaces of the run. One that nobody holds is
// a crashed run's, and is removed.
func (r *Run) Workspaces(root string, places []host.Placeholder) error {
	if err := fitRoot(root); err != nil {
		return err
	}
	// Everybody who looks at the locks of this root waits here.
	unlock, err := files.LockFolder(root)
	if err != nil {
		return fmt.Errorf("workspaces_path %q: %w", root, err)
	}
	defer unlock()
	if err := freeOf(root, places); err != nil {
		return err
	}
	if err := r.lockWorkspaces(root, places); err != nil {
		return err
	}
	var list []host.Placeholder // with the folders on the way, each before what is in it
	for _, p := range places {
		rest, _ := paths.Rest(root, p.Path)
		for i, c := range rest {
			if c == '/' {
				list = append(list, host.Placeholder{Path: filepath.Join(root, rest[:i])})
			}
		}
		if rest != "" { // else it is the root itself
			list = append(list, p)
		}
	}
	made := r.MakePlaceholders(list...)
	for _, p := range list {
		why := ""
		switch fi, err := os.Lstat(p.Path); {
		case err != nil:
			why = "cannot be made: " + err.Error()
		case fi.Mode()&fs.ModeSymlink != 0:
			why = "is a link"
		case p.Content != nil && !fi.Mode().IsRegular():
			why = "is not a file, and a file is mounted there"
		case p.Content == nil && !fi.IsDir():
			why = "is not a folder"
		default:
			continue
		}
		return &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("workspace %q %s", p.Path, why),
			Hint: "name another folder below ${workspaces_path}",
		}
	}
	return made
}

// fitRoot refuses a root that is not a folder, or that somebody else can change.
func fitRoot(root string) error {
	refuse := func(why, hint string) error {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("workspaces_path %q %s", root, why), Hint: hint}
	}
	var st unix.Stat_t
	switch err := unix.Lstat(root, &st); {
	case errors.Is(err, unix.ENOENT):
		return refuse("does not exist", "mkdir -p "+quote.POSIX(root))
	case err != nil:
		return refuse("cannot be looked at: "+err.Error(), "")
	case st.Mode&unix.S_IFMT != unix.S_IFDIR:
		return refuse("is not a folder, or is a link", "name the folder itself")
	case int(st.Uid) != os.Getuid():
		return refuse("belongs to somebody else", "")
	case st.Mode&0o022 != 0:
		return refuse("can be written by others", "chmod go-w "+quote.POSIX(root))
	}
	return nil
}

const lockForm = ".inner-%d.lock"

// freeOf refuses a workspace that another run holds, and removes the locks of
// crashed runs.
func freeOf(root string, places []host.Placeholder) error {
	entries, err := os.ReadDir(root)
	for _, e := range entries {
		pid, lock := 0, filepath.Join(root, e.Name())
		if _, err := fmt.Sscanf(e.Name(), lockForm, &pid); err != nil || !e.Type().IsRegular() {
			continue
		}
		if !owned.Held(lock) {
			if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("the lock of a run that is gone: %w", err)
			}
			continue
		}
		data, _ := files.Head(lock, files.NoLinks, 1<<20)
		run, held, _ := strings.Cut(string(data), "\n")
		for _, p := range places {
			if strings.Contains("\n"+held, fmt.Sprintf("\n%q\n", p.Path)) {
				return &fault.Refusal{
					Code: 125, Msg: fmt.Sprintf("workspace %q is in use by process %d (%s)", p.Path, pid, run),
					Hint: "wait for it to end, or name another folder below ${workspaces_path}",
				}
			}
		}
	}
	return err
}

func (r *Run) lockWorkspaces(root string, places []host.Placeholder) error {
	text := fmt.Sprintf("run %s\n", r.ID)
	for _, p := range places {
		text += fmt.Sprintf("%q\n", p.Path)
	}
	path := filepath.Join(root, fmt.Sprintf(lockForm, os.Getpid()))
	err := r.MakePlaceholders(host.Placeholder{Path: path, Content: []byte(text)})
	if err != nil {
		return err
	}
	if r.workspaces, err = owned.Lock(path, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the lock %q is held by a process of the same number, in another container perhaps", path)}
	}
	return err
}
