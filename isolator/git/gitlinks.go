package git

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git/index"
)

// maxVacant is the most submodules of one work tree that are not initialised: each is a mount.
const maxVacant = 200

// maxIndex is the most bytes of an index that are read, with what it shares with others: some million paths.
const maxIndex = 128 << 20

// Gitlinks returns the places below the top of a work tree in which git looks for another repository, however
// deep: those in which it finds none, and those in which one is. Git enters them by itself.
func Gitlinks(r *Repo) (vacant, there []string, err error) {
	links, err := r.links()
	if err != nil {
		return nil, nil, fmt.Errorf("the index cannot be read: %w", err)
	}
	for _, p := range links {
		switch {
		case !index.GoodPath(p, 0):
		case typeOf(filepath.Join(r.Top, p, ".git")) != 0:
			there = append(there, p)
		default:
			vacant = append(vacant, p)
		}
	}
	if len(vacant) > maxVacant {
		return nil, nil, fmt.Errorf("it has more than %d submodules that are not initialised", maxVacant)
	}
	return vacant, there, nil
}

// links returns what index.Gitlinks says of the index, and of each that it may share with others.
func (r *Repo) links() (links []string, err error) {
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return nil, err
	}
	left := int64(maxIndex)
	for _, e := range entries {
		if e.Name() != "index" && !strings.HasPrefix(e.Name(), "sharedindex.") {
			continue
		}
		fi, err := e.Info()
		if err != nil || fi.Size() > left {
			return nil, fmt.Errorf("it has more than %d bytes", maxIndex)
		}
		data, err := files.Read(filepath.Join(r.Dir, e.Name()), files.NoLinks, left)
		if err != nil {
			return nil, err
		}
		left -= int64(len(data))
		found, err := index.Gitlinks(data, r.Digits/2)
		if err != nil {
			return nil, err
		}
		links = append(links, found...)
	}
	slices.Sort(links)
	return slices.Compact(links), nil
}
