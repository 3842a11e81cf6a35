package repos

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/enr/inner/isolator/git"
)

// Most bytes of an index, and of all that belong to one repository: some 4 million
// paths. A larger one is not read.
const maxIndex = 512 << 20

// gitlinks returns the paths at which the index of a repository has another one. It is
// not ok with an index that is read in another way than git reads it, or not to its end.
// An index is read in little memory and once, whatever it claims to hold.
func gitlinks(repo string) (out []string, ok bool) {
	p := filepath.Join(repo, "index")
	left := int64(maxIndex)
	sha256 := hashes256(repo)
	nameless := false
	x, err := readIndex(p, sha256, &left, func(link bool, name []byte) {
		if link {
			out, nameless = append(out, string(name)), nameless || len(name) == 0
		}
	})
	switch {
	case err != nil:
		return nil, !exists(p)
	case x.Shared == "":
		return out, x.Whole && !x.Sparse
	}
	// A split index: the rest is in the file that it names, and an entry without a name
	// replaces one of those, nobody here knows which.
	y, err := readIndex(filepath.Join(repo, "sharedindex."+x.Shared), sha256, &left, func(link bool, name []byte) {
		if link || nameless {
			out = append(out, string(name))
		}
	})
	return out, x.Whole && !x.Sparse && err == nil && y.Whole && !y.Sparse
}

// readIndex reads the index at p with the kind of hash that git reads it with.
// Repositories that have the longer one are few, and a file alone does not tell: where it
// may be, the kind that fits counts.
func readIndex(p string, sha256 bool, left *int64, found func(link bool, name []byte)) (git.Indexed, error) {
	f, err := os.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return git.Indexed{}, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() || fi.Size() > *left {
		return git.Indexed{}, errors.Join(err, fs.ErrInvalid)
	}
	*left -= fi.Size()
	x := git.WalkIndex(io.NewSectionReader(f, 0, fi.Size()), 20, found)
	if sha256 {
		if long := git.WalkIndex(io.NewSectionReader(f, 0, fi.Size()), 32, found); long.Whole {
			// What was found in the other kind does no harm: nothing is there.
			x = git.Indexed{Whole: !x.Whole, Shared: long.Shared}
		} else {
			x.Whole = false
		}
	}
	return x, nil
}

// hashes256 reports whether a repository may have the longer hashes.
func hashes256(repo string) bool {
	common, _ := readLinked(filepath.Join(repo, "commondir"))
	for _, dir := range []string{repo, beneath(repo, line(common))} {
		data, err := readLinked(filepath.Join(dir, "config"))
		if err != nil && exists(filepath.Join(dir, "config")) || bytes.Contains(bytes.ToLower(data), []byte("sha256")) {
			return true
		}
	}
	return false
}
