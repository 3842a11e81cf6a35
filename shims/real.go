package shims

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// The errors of a search for the real program.
var (
	ErrNotFound      = errors.New("command not found")
	ErrNotExecutable = errors.New("permission denied")
	ErrLoop          = errors.New("the shims on PATH call each other in an endless loop")
)

// ExitCode returns the exit status for an error of this package's: ExitNotFound when
// there is no such program, else ExitRefused.
func ExitCode(err error) int {
	if errors.Is(err, ErrNotFound) {
		return ExitNotFound
	}
	return ExitRefused
}

// defaultPath is searched when PATH is not set or empty. It leaves out the working
// folder, which a shell would search then.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// FindReal returns the program that name would be without inner: the first
// executable file of that name on PATH that is not in the shim folder and not inner
// itself. Both are told by device and inode, so that an alias, a trailing slash or a
// second mention of the folder makes no difference. self is what else counts as
// inner.
//
// As in a shell, an empty element is the working folder and a relative one starts
// there; the result is then relative too. Names of folders, and of files that cannot
// be executed, are passed over; when nothing else is found for the latter the error
// is ErrNotExecutable instead of ErrNotFound.
//
// self is called only once something of the name is found, because most tools that a run
// asks for are not there. It may be nil.
func FindReal(name, pathVar, shimDir string, self func() []os.FileInfo) (string, error) {
	if slices.Contains([]string{"", ".", ".."}, name) || strings.ContainsAny(name, "/\x00") {
		return "", fmt.Errorf("%q: %w", name, ErrNotFound)
	}
	if pathVar == "" {
		pathVar = defaultPath
	}
	ours := sync.OnceValues(func() (own os.FileInfo, inner []os.FileInfo) { return innersOwn(shimDir, self) })
	wrong := ErrNotFound
	for dir := range strings.SplitSeq(pathVar, ":") {
		if dir == shimDir {
			continue
		}
		candidate := join(dir, name)
		info := fileAt(candidate)
		if info == nil {
			continue
		}
		if own, inner := ours(); isOneOf(info, inner) || isFolder(dir, own) {
			continue
		}
		if unix.Access(candidate, unix.X_OK) != nil {
			wrong = ErrNotExecutable
			continue
		}
		return candidate, nil
	}
	return "", fmt.Errorf("%q: %w", name, wrong)
}

// Named returns those of the names that folders of PATH have. Of a hundred tools that are asked for nearly none
// is there, and to look from an open folder takes a third of the time.
func Named(names []string, pathVar string) []string {
	there := make([]bool, len(names))
	looked := map[[2]uint64]bool{} // /bin is /usr/bin nearly everywhere
	for dir := range strings.SplitSeq(cmp.Or(pathVar, defaultPath), ":") {
		fd, err := unix.Open(cmp.Or(dir, "."), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		folder := [2]uint64{uint64(st.Dev), st.Ino}
		for i, name := range names {
			if err == nil && looked[folder] {
				break
			}
			there[i] = there[i] || unix.Faccessat(fd, name, unix.F_OK, 0) == nil
		}
		unix.Close(fd)
		looked[folder] = true
	}
	var out []string
	for i, name := range names {
		if there[i] {
			out = append(out, name)
		}
	}
	return out
}

// innersOwn returns the shim folder, and the files that are inner.
func innersOwn(shimDir string, self func() []os.FileInfo) (folder os.FileInfo, files []os.FileInfo) {
	folder, _ = os.Stat(shimDir)
	if self != nil {
		files = self()
	}
	if binary, err := os.Stat(filepath.Join(filepath.Dir(shimDir), "inner")); err == nil {
		files = append(files[:len(files):len(files)], binary)
	}
	return folder, files
}

// fileAt returns what is at a path, nil for nothing or a folder. A shell also goes on after a folder
// that it may not search.
func fileAt(path string) os.FileInfo {
	if unix.Access(path, unix.F_OK) != nil {
		return nil // as nearly always: this makes no error to look into
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return nil
	}
	return info
}

// join puts a name in a folder of PATH without cleaning the folder's path, in which
// ".." may follow a link. A relative one begins with "./" so that it cannot be taken
// for an option.
func join(dir, name string) string {
	switch {
	case dir == "":
		return "./" + name
	case strings.HasSuffix(dir, "/"):
		return dir + name
	case dir[0] == '/':
		return dir + "/" + name
	}
	return "./" + dir + "/" + name
}

func isOneOf(info os.FileInfo, list []os.FileInfo) bool {
	return slices.ContainsFunc(list, func(other os.FileInfo) bool { return os.SameFile(info, other) })
}

func isFolder(dir string, own os.FileInfo) bool {
	if own == nil {
		return false
	}
	if dir == "" {
		dir = "."
	}
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(info, own)
}

// Exec replaces this process by the real program of that name, and returns only when
// it cannot. argv and env are those of the call and reach the program unchanged but
// for two things: LoopVar, and an argv[0] that is the name of the shim, which becomes
// the path of the program. Programs that look themselves up on PATH by argv[0]
// (python finds its virtual environment so) would find the shim.
func Exec(call Call, argv, env []string) error {
	path, env, err := passThrough(call, argv, env, os.Getpid(), bootMillis())
	if err != nil {
		return err
	}
	return execve(path, call, argv, env)
}

func execve(path string, call Call, argv, env []string) error {
	args := append([]string{path}, argv[min(1, len(argv)):]...)
	if len(argv) > 0 && argv[0] != "" && filepath.Base(argv[0]) != call.Name {
		args[0] = argv[0] // chosen by the caller: exec -a, or a login shell
	}
	err := unix.Exec(path, args, env)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without a first line that names its interpreter: shells and
		// execvp(3) give it to sh.
		err = unix.Exec("/bin/sh", append([]string{"sh", path}, args[1:]...), env)
	}
	return fmt.Errorf("%q: %w", path, err)
}

// variable returns the first value of a variable in a list of NAME=value.
func variable(env []string, name string) string {
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// passThrough finds the real program and the environment it gets, with the guard
// against loops applied.
func passThrough(call Call, argv, env []string, pid int, now int64) (string, []string, error) {
	pathVar := variable(env, "PATH")
	g := parseGuard(variable(env, LoopVar)).enter(pid, now, sum(call.Name, argv))
	if g.Depth > maxDepth {
		return "", nil, fmt.Errorf("%q: %w (%d times in a row)", call.Name, ErrLoop, maxDepth)
	}
	var self []os.FileInfo
	if info, err := os.Stat("/proc/self/exe"); err == nil {
		self = append(self, info)
	}
	for _, path := range g.skip() {
		if info, err := os.Stat(path); err == nil {
			self = append(self, info)
		}
	}
	path, err := FindReal(call.Name, pathVar, filepath.Join(call.InnerHome, "shims", "bin"), func() []os.FileInfo { return self })
	if err != nil {
		if len(g.skip()) > 0 {
			return "", nil, fmt.Errorf("%w; %q leads back to inner", err, g.skip()[0])
		}
		return "", nil, err
	}
	fresh := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, LoopVar+"=") {
			fresh = append(fresh, kv)
		}
	}
	return path, append(fresh, LoopVar+"="+g.leave(path).String()), nil
}
