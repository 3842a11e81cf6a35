package objects

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// bringPacks brings the packs of the store: a fetch of the box made them. One that is refused is
// looked at again the next time, since what it needs may have come by then.
func (g *Gate) bringPacks() (came bool, refused error) {
	known := len(g.packs)
	fd, err := copytree.Open(int(g.store.Fd()), "pack", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return false, nil // there are none
	}
	folder := os.NewFile(uintptr(fd), "pack")
	defer folder.Close()
	names, err := folder.Readdirnames(maxPacks)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	for _, name := range names {
		if !packName().MatchString(name) || g.packs[name] {
			continue
		}
		if err := g.bringPack("pack/" + name); err != nil {
			refused = errors.Join(refused, fmt.Errorf("%s: %w", name, err))
		}
	}
	return len(g.packs) > known, refused
}

// bringPack brings a pack, once git has looked at all that is in it.
func (g *Gate) bringPack(rel string) error {
	file := g.openPlain(rel)
	if file == nil {
		return nil
	}
	defer file.Close()
	if err := g.makeQuarantine(); err != nil {
		return err
	}
	defer g.removeQuarantine()
	defer g.endGits() // they have it open
	args := []string{"index-pack", "--stdin", fmt.Sprintf("--max-input-size=%d", maxPack), severities}
	if marker := g.openPlain(strings.TrimSuffix(rel, ".pack") + ".promisor"); g.Partial && marker != nil {
		marker.Close()
		args = append(args[:3], "--fsck-objects", "--promisor=") // what it names may be missing
	}
	said, err := g.run(g.quarantine, file, args...)
	if err != nil {
		return err
	}
	pack := "pack/pack-" + strings.TrimSpace(strings.TrimPrefix(said, "pack\t"))
	if err := g.lookAtPack(pack + ".idx"); err != nil {
		return err
	}
	g.packs[filepath.Base(rel)] = true
	for _, end := range []string{".promisor", ".rev", ".pack", ".idx"} { // without the last git does not look at a pack
		if err := g.release(pack + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// lookAtPack looks at all commits in a pack of the quarantine, also at those that nothing names yet.
func (g *Gate) lookAtPack(index string) error {
	file, err := os.Open(g.path(g.quarantine, index))
	if err != nil {
		return err
	}
	defer file.Close()
	all, err := g.run("", file, "show-index")
	if err != nil {
		return err
	}
	var names []string
	for line := range strings.Lines(all) { // where it is, its name, and its checksum
		names = append(names, strings.Fields(line)[1])
	}
	list, err := g.find(names)
	if err != nil {
		return err
	}
	var commits []string
	for _, is := range list {
		if is.kind == "commit" {
			commits = append(commits, is.name)
		}
	}
	if err := g.changes(commits, nil, g.link); err != nil {
		return err
	}
	return g.record(commits)
}
