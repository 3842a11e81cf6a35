package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Request names what a run needs to know. Everything else about the host is
// probed always.
type Request struct {
	Home      string // the user's home
	OtherHome string // the home of the password file, when it is another
	InnerHome string
	StageBase string
	Paths     []string // host paths to look at
	Globs     []string // patterns to expand
	Writable  []string // folders the box will write: searched for repositories
	Env       []string // the environment of the call, KEY=VALUE
	Terminal  bool
}

// Probe looks at the host once. It starts no program and writes nothing.
func Probe(r Request) Facts {
	f := Facts{
		UID: os.Getuid(), GID: os.Getgid(), OtherHome: r.OtherHome,
		Home: r.Home, InnerHome: r.InnerHome, StageBase: r.StageBase,
		Paths:    make(map[string]Path, len(r.Paths)),
		Env:      make(map[string]string, len(r.Env)),
		Terminal: r.Terminal,
	}
	for _, kv := range r.Env {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			f.Env[k] = v
		}
	}
	f.User = f.Env["USER"]
	f.Bwrap, f.BwrapWhy = FindBwrap(f.Env["PATH"])
	l := looker{dirs: map[string]string{}}
	for _, p := range r.Paths {
		if _, done := f.Paths[p]; !done {
			f.Paths[p] = l.look(p)
		}
	}
	for _, g := range r.Globs {
		if m, err := filepath.Glob(g); err == nil && len(m) > 0 {
			if f.Globs == nil {
				f.Globs = map[string][]string{}
			}
			f.Globs[g] = m
			for _, p := range m {
				f.Paths[p] = l.look(p)
			}
		}
	}
	f.Sockets = listening()
	f.Resolver = resolver()
	for _, w := range r.Writable {
		f.Git = append(f.Git, guardAll(w)...)
	}
	return f
}

// looker examines paths. It remembers folders, so that a hundred paths of one
// home cost little more than a hundred calls of lstat.
type looker struct{ dirs map[string]string }

// dir returns the real path of a folder as far as it exists, the rest
// appended.
func (l looker) dir(p string) string {
	if real, ok := l.dirs[p]; ok {
		return real
	}
	real := l.look(p).Real
	l.dirs[p] = real
	return real
}

// look examines one path. It follows links: Real is where they lead; for a
// missing path it is the real path of the deepest folder that exists, with the
// rest appended.
func (l looker) look(p string) Path {
	if p == "/" {
		return Path{Kind: Dir, Real: "/"}
	}
	at := filepath.Join(l.dir(filepath.Dir(p)), filepath.Base(p))
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		real, lerr := filepath.EvalSymlinks(at)
		if lerr == nil {
			at = real
			fi, err = os.Lstat(real)
		} else {
			err = lerr // dangling: there is nothing to read behind it
		}
	}
	switch {
	case err == nil:
		return Path{Kind: kindOf(fi.Mode()), Real: at, ID: idOf(fi)}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Path{Kind: Missing, Real: at}
	default:
		return Path{Kind: Denied, Real: at}
	}
}

func idOf(fi fs.FileInfo) ID {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	return ID{uint64(st.Dev), st.Ino}
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Dir
	case m&fs.ModeSocket != 0:
		return Socket
	default:
		return Other
	}
}

// bwrapPlaces are tried before PATH, so that a program called bwrap in front
// of it on PATH is never run.
func bwrapPlaces() []string {
	return []string{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"}
}

// FindBwrap returns the absolute path of a bwrap that only root can have put
// there, or why there is none.
func FindBwrap(pathVar string) (path, why string) {
	why = "bwrap is not installed"
	try := bwrapPlaces()
	for _, d := range filepath.SplitList(pathVar) {
		if filepath.IsAbs(d) {
			try = append(try, filepath.Join(d, "bwrap"))
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

// rootOwned refuses a program that somebody but root could have written.
func rootOwned(path string) error {
	for i, p := range []string{path, filepath.Dir(path)} {
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
		case i == 0 && !fi.Mode().IsRegular():
			return fmt.Errorf("%s is not a file", p)
		case i == 0 && fi.Mode().Perm()&0o111 == 0:
			return fmt.Errorf("%s is not executable", p)
		}
	}
	return nil
}

// listening reads the pathname sockets that accept connections. Flag
// 00010000 is __SO_ACCEPTCON (net/unix/af_unix.c, unix_seq_show).
func listening() []string {
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	var out []string
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		f := strings.SplitN(sc.Text(), " ", 8) // the path may hold spaces
		if len(f) < 8 || f[3] != "00010000" {
			continue
		}
		// The inode column is padded: what is left begins with it.
		rest := strings.TrimLeft(f[7], " ")
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			rest = rest[i:]
		}
		if !strings.HasPrefix(rest, "/") {
			continue
		}
		if real, err := filepath.EvalSymlinks(rest); err == nil {
			if fi, err := os.Lstat(real); err == nil && fi.Mode()&fs.ModeSocket != 0 {
				out = append(out, real)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// resolver returns the files behind /etc/resolv.conf that live below /run.
func resolver() []string {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !strings.HasPrefix(real, "/run/") {
		return nil
	}
	return []string{real}
}
