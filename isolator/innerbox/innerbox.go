// Package innerbox keeps cmd/inner-box, which inner carries, as a file that can be executed.
//
// A box could be supervised by inner itself, and is where there is no such file. inner-box is a tenth
// of inner: it starts in half the time, in a third of the memory, and it is usually all of inner that
// is in a box (docs/security.md).
package innerbox

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
)

// prefix begins the name of the file; the digest of its content follows.
const prefix = "inner-box-"

// kept is for how long the file of another version of inner stays after it was written.
const kept = 24 * time.Hour

// Path returns the path of inner-box in a folder that is the user's own and that no box sees, and
// writes it there when it or the folder is missing. It returns "" when this build carries none, or
// when the file cannot be written, trusted or executed there.
func Path(folder string) string {
	if program == "" {
		return ""
	}
	path := filepath.Join(folder, prefix+strings.TrimSpace(digest))
	if usable(path) {
		return path
	}
	if files.Folder(folder) != nil || unix.Access(folder, unix.W_OK) != nil {
		return "" // before two megabytes are copied
	}
	if files.Write(path, []byte(program), 0o500) != nil || !usable(path) {
		return ""
	}
	removeOld(folder, path)
	return path
}

// usable reports whether path is the program: nobody else could have written it, it is whole, and it
// may be executed where it is.
func usable(path string) bool {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || own.Fault(fi) != "" || fi.Size() != int64(len(program)) || fi.Mode().Perm()&0o100 == 0 {
		return false
	}
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC == 0
}

// removeOld removes what other versions of inner have left.
func removeOld(folder, but string) {
	others, _ := filepath.Glob(filepath.Join(folder, prefix+"*"))
	for _, p := range others {
		if fi, err := os.Lstat(p); err == nil && p != but && time.Since(fi.ModTime()) > kept {
			_ = os.Remove(p)
		}
	}
}
