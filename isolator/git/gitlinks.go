package git

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/index"
)

// maxVacant is the most submodules of one work tree that are not initialised: each is a mount.
const maxVacant = 200

// maxIndex is the largest index that is read.
const maxIndex = 512 << 20

// Gitlinks returns the places below the top of a work tree in which git looks for another repository, however deep: those in
// which it finds none, and those in which one is. Git enters them by itself.
func Gitlinks(r *Repo) (vacant, there []string, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, nil, err
	}
	var links []string
	for _, e := range entries {
		if e.Type().IsRegular() && (e.Name() == "index" || strings.HasPrefix(e.Name(), "sharedindex.")) {
			found, err := gitlinksIn(filepath.Join(r.Dir, e.Name()), r.Digits/2)
			if err != nil {
				return nil, nil, err
			}
			links = append(links, found...)
		}
	}
	slices.Sort(links)
	for _, p := range slices.Compact(links) {
		switch {
		case !index.GoodPath(p, modeGitlink):
		case typeOf(filepath.Join(r.Top, p, ".git")) != 0:
			there = append(there, p)
		default:
			vacant = append(vacant, p)
		}
	}
	if len(vacant) > maxVacant {
		return nil, nil, unfit(fmt.Sprintf("it has more than %d submodules that are not initialised", maxVacant))
	}
	return vacant, there, nil
}

func gitlinksIn(file string, hashLen int) (links []string, err error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil || fi.Size() > maxIndex {
		return nil, unfit(filepath.Base(file) + " cannot be read")
	}
	x := WalkIndex(io.NewSectionReader(f, 0, fi.Size()), hashLen, func(link bool, name []byte) {
		if link {
			links = append(links, string(name))
		}
	})
	if !x.Whole {
		return nil, unfit(filepath.Base(file) + " cannot be read")
	}
	return links, nil
}
