package host

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
)

// FindBwrap is FindHelper for bwrap. One that starts with more privilege than its
// caller has (set-user-id, file capabilities) is only taken when setuid is not
// nil and says so: every hole in it is then one in the host (CVE-2020-5291,
// CVE-2026-41163), and it is not needed where user namespaces work. The plan stays
// the same for it: what that form cannot do (--disable-userns, measured with bwrap
// 0.8.0) keeps the run from starting.
func FindBwrap(pathVar string, setuid func() bool) (path, why, fix string) {
	return findPlain("bwrap", "bubblewrap", pathVar, setuid)
}

func findPlain(name, pkg, pathVar string, setuid func() bool) (path, why, fix string) {
	path, why = FindHelper(name, pathVar)
	switch {
	case path == "":
		return "", why, Install("/", pkg)
	case Privileged(path) && (setuid == nil || !setuid()):
		return "", path + " starts with the rights of root (set-user-id, or file capabilities)",
			"sudo chmod u-s " + path + " (file capabilities: sudo setcap -r " + path + ")"
	}
	return path, "", ""
}

// FindHelper returns the absolute path of a program that inner runs itself and
// that only root can have put there, or why there is none. The system's folders
// are tried before those of pathVar, so that a program of that name in front of
// it on PATH is never run.
func FindHelper(name, pathVar string) (path, why string) {
	dirs := append([]string{"/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"}, filepath.SplitList(pathVar)...)
	return find(name, dirs, func(string) string { return "" })
}

// find looks for a program of root's in folders, of which fault says nothing.
func find(name string, dirs []string, fault func(path string) string) (path, why string) {
	why = name + " is not installed"
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		p := filepath.Join(dir, name)
		real, err := files.Eval(p)
		if err != nil {
			continue
		}
		if err := rootOwned(real, os.Lstat); err != nil {
			why = fmt.Sprintf("%s cannot be trusted: %v", p, err)
		} else if why = fault(real); why == "" {
			return real, ""
		}
	}
	return "", why
}

// rootOwned refuses a program that somebody but root could have written, or put
// where it is.
func rootOwned(path string, lstat func(string) (fs.FileInfo, error)) error {
	for p := path; ; p = filepath.Dir(p) {
		fi, err := lstat(p)
		if err != nil {
			return err
		}
		switch why := own.RootFault(fi); {
		case why != "":
			return fmt.Errorf("%s %s", p, why)
		case p == path && !fi.Mode().IsRegular():
			return fmt.Errorf("%s is not a file", p)
		case p == path && fi.Mode().Perm()&0o111 == 0:
			return fmt.Errorf("%s is not executable", p)
		case p == "/":
			return nil
		}
	}
}
