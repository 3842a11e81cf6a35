package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// FindBwrap is FindHelper for bwrap.
func FindBwrap(pathVar string) (path, why string) { return FindHelper("bwrap", pathVar) }

// FindHelper returns the absolute path of a program that inner runs itself and
// that only root can have put there, or why there is none. The system's folders
// are tried before those of pathVar, so that a program of that name in front of
// it on PATH is never run.
func FindHelper(name, pathVar string) (path, why string) {
	why = name + " is not installed"
	var try []string
	for _, d := range append([]string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"}, filepath.SplitList(pathVar)...) {
		if filepath.IsAbs(d) {
			try = append(try, filepath.Join(d, name))
		}
	}
	for _, p := range try {
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			continue
		}
		if err := rootOwned(real); err != nil {
			why = fmt.Sprintf("%s cannot be trusted: %v", p, err)
			continue
		}
		return real, ""
	}
	return "", why
}

// rootOwned refuses a program that somebody but root could have written, or put
// where it is.
func rootOwned(path string) error {
	for p := path; ; p = filepath.Dir(p) {
		fi, err := os.Lstat(p)
		if err != nil {
			return err
		}
		st, ok := fi.Sys().(*syscall.Stat_t)
		switch {
		case !ok || st.Uid != 0:
			return fmt.Errorf("%s is not owned by root", p)
		case fi.Mode().Perm()&0o022 != 0 && fi.Mode()&fs.ModeSticky == 0:
			return fmt.Errorf("%s is writable by others", p)
		case p == path && !fi.Mode().IsRegular():
			return fmt.Errorf("%s is not a file", p)
		case p == path && fi.Mode().Perm()&0o111 == 0:
			return fmt.Errorf("%s is not executable", p)
		case p == "/":
			return nil
		}
	}
}
