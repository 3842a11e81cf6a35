// Package innerbox keeps cmd/inner-box and cmd/inner-git, which inner carries, as files that can be executed.
//
// inner itself could do what they do, and does where there are no such files. inner-box is a tenth
// of inner: it starts in half the time, in a third of the memory, and it is usually all of inner that
// is in a box (docs/security.md). inner-git is smaller than inner, too.
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

// program is one that inner carries, and the digest that the name of its file ends with.
type program struct{ name, text, digest string }

// kept is for how long the file of another version of inner stays after it was written.
const kept = 24 * time.Hour

// Box returns the path of inner-box in a folder that is the user's own and that no box sees, and
// writes it there when it or the folder is missing. It returns "" when this build carries none, or
// when the file cannot be written, trusted or executed there.
func Box(folder string) string { return box.path(folder) }

// Git is Box for inner-git.
func Git(folder string) string { return git.path(folder) }

func (p program) path(folder string) string {
	if p.text == "" {
		return ""
	}
	path := filepath.Join(folder, p.name+"-"+strings.TrimSpace(p.digest))
	if p.usable(path) {
		return path
	}
	if files.Folder(folder) != nil || unix.Access(folder, unix.W_OK) != nil {
		return "" // before megabytes are copied
	}
	if files.Write(path, []byte(p.text), 0o500) != nil || !p.usable(path) {
		return ""
	}
	p.removeOld(folder, path)
	return path
}

// usable reports whether path is the program: nobody else could have written it, it is whole, and it
// may be executed where it is.
func (p program) usable(path string) bool {
	fi, err := os.Lstat(path)
	if err != nil || !fi.Mode().IsRegular() || own.Fault(fi) != "" || fi.Size() != int64(len(p.text)) || fi.Mode().Perm()&0o100 == 0 {
		return false
	}
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&unix.ST_NOEXEC == 0
}

// removeOld removes what other versions of inner have left.
func (p program) removeOld(folder, but string) {
	others, _ := filepath.Glob(filepath.Join(folder, p.name+"-*"))
	for _, other := range others {
		if fi, err := os.Lstat(other); err == nil && other != but && time.Since(fi.ModTime()) > kept {
			_ = os.Remove(other)
		}
	}
}
