package git

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/profile/gitconfig"
)

// The modes with which inner creates files and folders in the host's repository. As with git, the umask takes
// bits away, and core.sharedRepository adds some.
const (
	fileMode   = 0o666
	folderMode = 0o777
)

// sharing is core.sharedRepository as git holds it: what is added to the modes of files, as a negative
// number what they are instead; 0 leaves them to the umask.
//
// Source: setup.c, git_config_perm, and path.c, calc_shared_perm, of git 2.39.
type sharing int

const (
	shareGroup sharing = 0o660
	shareAll   sharing = 0o664
)

func sharingOf(list []gitconfig.Entry) sharing {
	e, set := gitconfig.Last(list, "core.sharedrepository")
	n, err := strconv.ParseInt(e.Value, 8, 32)
	switch word := strings.ToLower(e.Value); {
	case !set:
	case e.Bare, word == "group", word == "true", word == "yes", word == "on", err == nil && n == 1:
		return shareGroup
	case word == "all", word == "world", word == "everybody", err == nil && n == 2:
		return shareAll
	case err == nil && n&0o600 == 0o600:
		return -sharing(n & 0o666)
	}
	return 0 // also for "umask", "false", and what git refuses
}

// setting returns the value of core.sharedRepository for a configuration that inner writes.
func (s sharing) setting() string {
	switch {
	case s == 0:
		return "umask"
	case s == shareGroup:
		return "group"
	case s > 0:
		return "all"
	}
	return "0" + strconv.FormatInt(int64(-s), 8)
}

// mode returns the mode that git would give a file that has this mode without sharing.
func (s sharing) mode(mode uint32) uint32 {
	if s == 0 {
		return mode
	}
	tweak := uint32(max(s, -s))
	if mode&unix.S_IWUSR == 0 {
		tweak &^= 0o222
	}
	if mode&unix.S_IXUSR != 0 { // whoever may read it may execute it
		tweak |= tweak & 0o444 >> 2
	}
	out := mode | tweak
	if s < 0 {
		out = mode&^0o777 | tweak
	}
	if mode&unix.S_IFMT == unix.S_IFDIR {
		if out |= out & 0o444 >> 2; out&0o060 != 0 {
			out |= unix.S_ISGID // what is made in it belongs to the group
		}
	}
	return out
}

// unshared returns the same folder for files whose modes git leaves to the umask despite core.sharedRepository.
func (d *folder) unshared() *folder {
	return &folder{fd: d.fd, path: d.path, host: d.host}
}

// share gives a file or folder that was just made the mode that core.sharedRepository asks for.
func (d *folder) share(fd int) error {
	if d.shared == 0 {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if mode := d.shared.mode(st.Mode); mode != st.Mode {
		return unix.Fchmod(fd, mode&0o7777)
	}
	return nil
}

// fileMode is the mode of files that are made in a folder: those of a copy are the user's alone.
func (d *folder) fileMode() uint32 {
	if d.host {
		return fileMode
	}
	return 0o600
}

// makeFolder makes one folder in another.
func (d *folder) makeFolder(dir int, name string) error {
	mode := uint32(0o700)
	if d.host {
		mode = folderMode
	}
	if err := unix.Mkdirat(dir, name, mode); err != nil || d.shared == 0 {
		return err
	}
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return d.share(fd)
}

// chmod gives a file a mode, whatever the umask.
func (d *folder) chmod(rel string, mode uint32) error {
	f, _, err := d.open(rel)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Chmod(os.FileMode(mode & 0o777))
}
