package share

import (
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/server"
)

// inOwn is what the server may do in its folders: all but to make sockets, pipes and devices (landlock(7)).
const inOwn landlock.AccessFSSet = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR |
	unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REFER |
	unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

// confine leaves the process its repositories, and what git needs. A kernel without Landlock, or with its first
// version, in which nothing is renamed into another folder, leaves all.
func confine(repos []server.Repository) error {
	rules := []landlock.Rule{
		landlock.RODirs("/usr", "/bin", "/lib", "/lib64", "/etc", "/proc", "/nix", "/opt").IgnoreIfMissing(),
		landlock.RWFiles("/dev/null"), landlock.ROFiles("/dev/urandom"), // git names temporary files by it
	}
	for _, r := range repos {
		rules = append(rules, landlock.RODirs(filepath.Dir(r.Git)),
			landlock.PathAccess(inOwn, r.Top, r.Dir, r.Private, r.Store))
	}
	return landlock.V3.BestEffort().RestrictPaths(rules...)
}
