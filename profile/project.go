package profile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Project is a folder with a .inner folder that holds profiles/ or config.toml.
type Project struct {
	Root string // as walked up to from the folder that was asked about
	Dir  string // Root/.inner
	// Problem says why the .inner folder is not used: its owner, its mode, or
	// that it cannot be looked at. It is nil for a project in order.
	Problem error
}

// FindProject returns the project that dir, a physical path, lies in: the
// nearest folder upwards with a .inner that counts. The folders of innerHomes
// (INNER_HOME, and ~/.inner when that is another one) never count, nor does the
// .inner of the home that the password file names. It returns nil when there is
// none.
//
// A .inner that anyone but the user or root can change is returned with a
// Problem and is not skipped: the next one upwards must not step in for it.
func FindProject(dir string, innerHomes ...string) *Project {
	if !filepath.IsAbs(dir) {
		return nil
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		if p := projectAt(dir, innerHomes); p != nil {
			return p
		}
		if dir == "/" {
			return nil
		}
	}
}

func projectAt(root string, innerHomes []string) *Project {
	p := &Project{Root: root, Dir: filepath.Join(root, ".inner")}
	st, err := os.Lstat(p.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case err != nil:
		p.Problem = fmt.Errorf("%q cannot be looked at: %w", p.Dir, err)
		return p
	}
	link := st.Mode()&fs.ModeSymlink != 0
	target := st
	if link {
		if target, err = os.Stat(p.Dir); err != nil {
			return nil // a dangling link holds nothing
		}
	}
	if !target.IsDir() || isInnerHome(target, innerHomes) {
		return nil
	}
	profiles, perr := os.Lstat(filepath.Join(p.Dir, "profiles"))
	config, cerr := os.Lstat(filepath.Join(p.Dir, "config.toml"))
	for _, err := range []error{perr, cerr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.Problem = fmt.Errorf("%q cannot be looked at: %w", p.Dir, err)
			return p
		}
	}
	if perr != nil && cerr != nil {
		return nil
	}
	if link {
		p.Problem = fmt.Errorf("%q is a link", p.Dir)
		return p
	}
	for _, part := range []struct {
		name string
		st   fs.FileInfo
	}{{p.Dir, st}, {filepath.Join(p.Dir, "profiles"), profiles}, {filepath.Join(p.Dir, "config.toml"), config}} {
		if part.st == nil {
			continue
		}
		if why := foreign(part.st); why != "" {
			p.Problem = fmt.Errorf("%q %s", part.name, why)
			return p
		}
	}
	return p
}

// isInnerHome compares by identity: another spelling is the same folder.
func isInnerHome(fi fs.FileInfo, innerHomes []string) bool {
	same := func(home string) bool {
		own, err := os.Stat(home)
		return err == nil && os.SameFile(fi, own)
	}
	if slices.ContainsFunc(innerHomes, same) {
		return true
	}
	home := PasswordHome() // asked last: most folders have no .inner at all
	return home != "" && same(filepath.Join(home, ".inner"))
}

// Own returns an error when someone other than the user or root may have
// written what is at path; links are followed.
func Own(path string) error {
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	if why := foreign(st); why != "" {
		return fmt.Errorf("%q %s", path, why)
	}
	return nil
}

// foreign says why someone other than the user or root may have written this,
// or "".
func foreign(st fs.FileInfo) string {
	if st.Mode()&fs.ModeSymlink != 0 {
		return "is a link"
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "has no owner"
	}
	mode := st.Mode().Perm()
	switch {
	case int(sys.Uid) != os.Geteuid() && sys.Uid != 0:
		return fmt.Sprintf("belongs to user %d, not to you", sys.Uid)
	case mode&0o002 != 0:
		return fmt.Sprintf("can be changed by everyone (mode %04o)", mode)
	case mode&0o020 != 0 && !privateGroup(int(sys.Gid)):
		return fmt.Sprintf("can be changed by group %d (mode %04o)", sys.Gid, mode)
	}
	return ""
}

// privateGroup reports whether the group is the user's own: distributions give
// everyone one and make new files writable by it (umask 002).
func privateGroup(gid int) bool {
	uid := os.Geteuid()
	if gid != os.Getegid() {
		return false
	}
	if gid == uid {
		return true
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return false
	}
	g, err := user.LookupGroupId(strconv.Itoa(gid))
	return err == nil && u.Gid == g.Gid && g.Name == u.Username
}

// ProfileFiles returns the paths of the project's *.toml profiles, sorted;
// nothing is opened. A project without profiles/ has none.
func (p *Project) ProfileFiles() ([]string, error) {
	return profileFiles(filepath.Join(p.Dir, "profiles"))
}

// maxFiles bounds the work of listing a folder of profiles.
const maxFiles = 4096

func profileFiles(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxFiles + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > maxFiles:
		return nil, fmt.Errorf("%q holds more than %d files", dir, maxFiles)
	}
	var out []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".toml") && len(name) > len(".toml") && name[0] != '.' {
			out = append(out, filepath.Join(dir, name))
		}
	}
	slices.Sort(out)
	return out, nil
}
