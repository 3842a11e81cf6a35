package shim

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/shims"
)

// maxTold is the most bytes of the file that remembers where sayBare has said its line.
const maxTold = 16 << 10

// sayBare says on a terminal that an agent runs outside the sandbox, once a day in each folder.
func (p *Process) sayBare(d shims.Decision, cwd string) {
	if !slices.Contains(shims.Agents(), d.Name) || shims.InBox() {
		return
	}
	if _, err := unix.IoctlGetTermios(int(os.Stderr.Fd()), unix.TCGETS); err != nil {
		return
	}
	if p.firstToday(d.Name + " " + cwd) {
		p.Say("%s runs outside the sandbox: no profile claims it here; type: inner init %[1]s", d.Name)
	}
}

// firstToday reports whether a word has not been asked about today, and remembers it. Other days
// are forgotten, and all when there are too many.
func (p *Process) firstToday(word string) bool {
	file := filepath.Join(p.InnerHome, "shims", "told")
	day := time.Now().Format(time.DateOnly)
	sum := fnv.New64a()
	sum.Write([]byte(word))
	line := fmt.Appendf(nil, "%s %016x\n", day, sum.Sum64())
	how := os.O_APPEND
	was, err := files.Read(file, files.NoLinks, maxTold)
	if err != nil || !bytes.HasPrefix(was, []byte(day)) {
		how = os.O_TRUNC
	}
	if how == os.O_APPEND && bytes.Contains(was, line) {
		return false
	}
	// What cannot be remembered is said again.
	if f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|how, 0o600); err == nil {
		_, _ = f.Write(line)
		_ = f.Close()
	}
	return true
}
