package objects

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/copytree"
)

// Limits of packs: the bytes of one, and how many are looked for.
const (
	maxPack  = 8 << 30
	maxPacks = 10_000
)

var packName = lazy.Regexp(`^pack-[0-9a-f]{40}\.pack$`)

// bringPacks brings the packs of the store: a fetch of the box made them. One that is refused is looked at again the next
// time, since what it needs may have come by then.
func (g *Gate) bringPacks() error {
	fd, err := copytree.Open(int(g.Store.Fd()), "pack", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil // there are none
	}
	folder := os.NewFile(uintptr(fd), "pack")
	defer folder.Close()
	names, err := folder.Readdirnames(maxPacks)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var refused error
	for _, name := range names {
		if !packName().MatchString(name) || g.packs[name] {
			continue
		}
		if err := g.bringPack("pack/" + name); err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s: %w", name, err))
		}
	}
	return refused
}

// bringPack brings a pack, once git and a walk have looked at all that is in it.
func (g *Gate) bringPack(rel string) error {
	file, err := g.openPlain(rel)
	if err != nil || file == nil {
		return err
	}
	defer file.Close()
	q := &quarantine{gate: g}
	defer q.remove()
	if err := q.make(); err != nil {
		return err
	}
	args := []string{"index-pack", "--stdin", fmt.Sprintf("--max-input-size=%d", maxPack), severities}
	if marker, err := g.openPlain(strings.TrimSuffix(rel, ".pack") + ".promisor"); g.Partial && err == nil && marker != nil {
		marker.Close()
		args = append(args[:3], "--fsck-objects", "--promisor=") // what it names may be missing
	}
	if _, err := g.run(q.name, objectsFD, file, args...); err != nil {
		return err
	}
	if err := g.lookAtPack(q); err != nil {
		return err
	}
	if err := q.releasePack(); err != nil {
		return err
	}
	g.packs[filepath.Base(rel)] = true
	return nil
}

// lookAtPack looks at all commits in a pack of the quarantine, also at those that nothing names yet.
func (g *Gate) lookAtPack(q *quarantine) error {
	list, err := g.run(q.name, "", nil, "cat-file", "--batch-all-objects", "--batch-check=%(objecttype) %(objectname)", "--unordered")
	if err != nil {
		return err
	}
	git := &cats{gate: g, store: q.name, further: objectsFD}
	defer git.close()
	w := &walk{gate: g, host: g.host(), git: git, packed: true, done: map[string]bool{}}
	for line := range strings.Lines(list) {
		name, isCommit := strings.CutPrefix(strings.TrimSpace(line), "commit ")
		if !isCommit {
			continue
		}
		object, err := parseID(name)
		if err == nil {
			err = w.commit(object, 0)
		}
		if err != nil {
			return err
		}
	}
	had, err := w.host.kinds(w.commits...)
	i := -1
	lacked := slices.DeleteFunc(w.commits, func(id) bool { i++; return err == nil && had[i] != "" })
	return errors.Join(err, g.record(lacked))
}

// releasePack gives a pack its place, the index last: without it git does not look at a pack.
func (q *quarantine) releasePack() error {
	for _, end := range []string{".promisor", ".rev", ".pack", ".idx"} {
		found, err := filepath.Glob(q.gate.path(q.name + "/pack/pack-*" + end))
		if err != nil {
			return err
		}
		for _, path := range found {
			rel := "pack/" + filepath.Base(path)
			if err := q.move(rel, rel); err != nil {
				return err
			}
		}
	}
	return nil
}
