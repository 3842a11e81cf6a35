package trust

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/own"
	"github.com/enr/inner/internal/paths"
)

// Prefixes are the folders whose profiles the user allows without a question, [trust] of
// the user's own config.toml.
type Prefixes struct {
	Dirs []string // real, absolute paths
}

// Under returns the prefix that a folder, a real path, is or lies in; "" when none is.
func (p Prefixes) Under(dir string) string {
	for _, prefix := range p.Dirs {
		if paths.Below(prefix, dir) {
			return prefix
		}
	}
	return ""
}

// NeedsQuestion says why a file below a prefix is asked about all the same, or "". The
// answer is "" only when nobody but the user and root can write the file and every folder
// above it, when it and they are no links, when no box has worked in any of these folders,
// and when no version control system may have fetched it.
//
// A folder in which a box has worked once counts for good: a .inner that was there when
// the box started is read-only in it, and one that comes, goes or is moved meanwhile need
// not be.
func (s Store) NeedsQuestion(file string, p Prefixes) string {
	if p.Under(filepath.Dir(file)) == "" {
		return fmt.Sprintf("%q is not below it", file)
	}
	st, err := os.Lstat(file)
	if err != nil {
		return fmt.Sprintf("%q cannot be inspected", file)
	}
	if why := own.Fault(st); why != "" || !st.Mode().IsRegular() {
		return fmt.Sprintf("%q %s", file, cmp.Or(why, "is not a regular file"))
	}
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if why := s.FolderAsks(dir); why != "" {
			return why
		}
		if why := fetched(dir); why != "" {
			return fmt.Sprintf("%q %s", dir, why)
		}
		if dir == "/" {
			return ""
		}
	}
}

// FolderAsks says why what lies in a folder, or anywhere below it, is asked about, or "". It
// does not look at the folders above it.
func (s Store) FolderAsks(dir string) string {
	st, err := os.Lstat(dir)
	if err != nil {
		return fmt.Sprintf("%q cannot be inspected", dir)
	}
	why := own.Fault(st)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid == 0 && st.IsDir() && st.Mode()&fs.ModeSticky != 0 {
		why = own.FolderFault(st) // as /tmp: what is the user's there nobody else can rename or remove
	}
	switch {
	case why != "" || !st.IsDir():
		return fmt.Sprintf("%q %s", dir, cmp.Or(why, "is not a folder"))
	case s.Worked(dir):
		return fmt.Sprintf("a box has worked in %q", dir)
	}
	return ""
}

// fetched says how a version control system may have fetched what lies in a folder, or "".
func fetched(dir string) string {
	has := func(name string) bool { return mayExist(filepath.Join(dir, name)) }
	if slices.ContainsFunc([]string{".hg", ".svn", ".jj", ".bzr", "_darcs", ".fslckout", "_FOSSIL_", "CVS"}, has) {
		return "is under version control that is not git's"
	}
	st, err := os.Lstat(filepath.Join(dir, ".git"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil || !st.IsDir():
		return "has its repository elsewhere"
	}
	const most, remote = 1 << 20, "is a clone, or has a remote"
	text, err := files.Read(filepath.Join(dir, ".git", "config"), files.NoLinks, most)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return remote
	}
	for line := range bytes.Lines(bytes.ToLower(text)) {
		// A section may stand behind another one's end, and be written with blanks.
		if squeezed := strings.Join(strings.Fields(string(line)), ""); strings.Contains(squeezed, "[remote") || strings.Contains(squeezed, "[include") {
			return remote
		}
	}
	if has(".git/FETCH_HEAD") || has(".git/refs/remotes") {
		return remote
	}
	return ""
}

// MarkWorked remembers that a box works in the folders, which are real paths: what it
// leaves there may reach the host at once, by its git, or by inner changes apply.
func (s Store) MarkWorked(dirs ...string) error { return s.mark(s.worked, dirs) }

// Worked reports whether a box has ever worked in that very folder, or could write it, a
// real path. One that cannot be asked about counts.
func (s Store) Worked(dir string) bool {
	return s.Written(dir) || mayExist(s.worked(dir))
}

func (s Store) worked(dir string) string { return s.written(dir) + ".worked" }
