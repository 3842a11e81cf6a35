// Package innerbox keeps cmd/inner-box and cmd/inner-git, which cmd/inner carries, as files that can be executed. It
// writes them with the shims; the other programs of the same build find them there.
//
// Each of these could do what they do, and does where there are no such files. inner-box is a tenth
// of inner: it starts in half the time, in a third of the memory, and it is usually all of inner that
// is in a box (docs/security.md). inner-git is smaller than inner, too.
package innerbox

import (
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
)

// program is one that cmd/inner carries: its text, compressed by gzip, "" in any other program, and a line with
// the digest that the name of its file ends with, and its size.
type program struct{ name, zip, sum string }

// kept is for how long the file of another version of inner stays after it was written.
const kept = 24 * time.Hour

// Box returns the path of inner-box in a folder that is the user's own and that no box sees, and
// writes it there when it or the folder is missing. It returns "" when this build knows none, or
// when the file cannot be written, trusted or executed there.
func Box(folder string) string { return box.path(folder) }

// Git is Box for inner-git.
func Git(folder string) string { return git.path(folder) }

// Lacks reports whether this build knows programs, and one of them is not in the folder.
func Lacks(folder string) bool {
	return slices.ContainsFunc([]program{box, git}, func(p program) bool {
		path, size := p.file(folder)
		return path != "" && !usable(path, size)
	})
}

// RemoveOld removes what other versions of inner left in a folder a day ago or longer.
func RemoveOld(folder string) {
	for _, p := range []program{box, git} {
		path, _ := p.file(folder)
		others, _ := filepath.Glob(filepath.Join(folder, p.name+"-*"))
		for _, other := range others {
			if fi, err := os.Lstat(other); err == nil && other != path && time.Since(fi.ModTime()) > kept {
				_ = os.Remove(other)
			}
		}
	}
}

// file is where a program of this build is in a folder, and its size; "" for one that it does not know.
func (p program) file(folder string) (path string, size int64) {
	var digest string
	if n, _ := fmt.Sscan(p.sum, &digest, &size); n == 2 {
		path = filepath.Join(folder, p.name+"-"+digest)
	}
	return path, size
}

func (p program) path(folder string) string {
	path, size := p.file(folder)
	if path == "" {
		return ""
	}
	if usable(path, size) {
		return path
	}
	if p.zip == "" || files.Folder(folder) != nil || unix.Access(folder, unix.W_OK) != nil {
		return "" // before megabytes are copied
	}
	text, err := Unzip(p.zip)
	if err != nil {
		return ""
	}
	// No process is made meanwhile: one that had the file open for writing would keep it from being executed (ETXTBSY).
	syscall.ForkLock.RLock()
	err = files.Write(path, text, 0o500)
	syscall.ForkLock.RUnlock()
	if err != nil || !usable(path, size) {
		return ""
	}
	return path
}

// Unzip returns what gzip has compressed.
func Unzip(text string) ([]byte, error) {
	r, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// usable reports whether path is a program of that size: nobody else could have written it, it is whole, and it
// may be executed where it is.
func usable(path string, size int64) bool {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || own.Fault(fi) != "" || fi.Size() != size || fi.Mode().Perm()&0o100 == 0 {
		return false
	}
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC == 0
}
