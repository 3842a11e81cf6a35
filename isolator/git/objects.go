package git

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// intake is a store of inner's own that the objects of a box are copied to before any git
// looks at them: plain files with the names of loose objects and packs, and nothing
// else. No list of alternates, no index of a pack and no graph that a box wrote is taken
// over: git trusts those. Packs are indexed anew.
type intake struct {
	*folder
	has  map[string]bool // loose objects and packs that are there
	late bool            // a pack was not checked in time: what is missing may be in it
}

// Most bytes of one loose object, and how many objects a box may have loose.
const (
	maxObject = 4 << 30
	maxObjs   = 4_000_000
)

// newIntake makes an empty store. What a crash left in an earlier one may be half of a file, so that is removed.
func (c *Copy) newIntake(u *unit) (*intake, error) {
	dir, err := c.emptyStore(fmt.Sprintf("objects.%d", u.N))
	return &intake{folder: dir, has: map[string]bool{}}, err
}

// emptyStore makes a folder for objects below the state folder.
func (c *Copy) emptyStore(rel string) (*folder, error) {
	if err := removeAll(c.state, rel); err != nil {
		return nil, err
	}
	if err := c.state.mkdir(rel + "/pack"); err != nil {
		return nil, err
	}
	return c.state.sub(rel)
}

// take copies the objects that the box has stored since the last time.
func (x *exchange) take(ctx context.Context) error {
	if x.seen.intake == nil {
		in, err := x.newIntake(x.u)
		if err != nil {
			return err
		}
		x.seen.intake = in
	}
	objects, err := x.box.sub("objects")
	if err != nil {
		return err
	}
	defer objects.close()
	if err := x.takeAllLoose(ctx, objects); err != nil {
		return err
	}
	return x.takePacks(ctx, objects)
}

// takeAllLoose copies the objects that are files of their own.
func (x *exchange) takeAllLoose(ctx context.Context, objects *folder) error {
	list, err := objects.list(".", maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		if ctx.Err() != nil {
			return late(ctx)
		}
		if e.IsDir() && hexName(e.Name(), 2) {
			if err := x.takeLoose(ctx, objects, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// takePacks copies the packs.
func (x *exchange) takePacks(ctx context.Context, objects *folder) error {
	list, err := objects.listIfThere("pack", maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		name, ok := strings.CutSuffix(e.Name(), ".pack")
		hash, found := strings.CutPrefix(name, "pack-")
		if !ok || !found || !hexName(hash, x.u.Digits) || x.seen.intake.has[name] {
			continue
		}
		if err := x.takePack(ctx, objects, name); err != nil {
			return err
		}
	}
	return nil
}

// takeLoose copies the objects in one folder of the box's store.
func (x *exchange) takeLoose(ctx context.Context, objects *folder, dir string) error {
	in := x.seen.intake
	files, err := objects.listIfThere(dir, maxObjs)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f fs.DirEntry) bool {
		return !hexName(f.Name(), x.u.Digits-2) || in.has[dir+"/"+f.Name()]
	})
	if len(files) == 0 {
		return nil
	}
	if err := in.mkdir(dir); err != nil {
		return err
	}
	for _, f := range files {
		name := dir + "/" + f.Name()
		switch err := in.copy(ctx, objects, name, maxObject); {
		case err == nil:
			in.has[name] = true
		case !errors.Is(err, errBadFile) && !errors.Is(err, fs.ErrNotExist): // else git will say that it is missing if it is needed
			return err
		}
	}
	return nil
}

// errBadFile is a file of a box that git did not write: a link, a FIFO, a file with holes.
var errBadFile = errors.New("not a file that git wrote")

// copy copies one file of the box, if git can have written it.
func (in *intake) copy(ctx context.Context, from *folder, name string, most int64) error {
	f, st, err := from.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return err
	case err != nil:
		return errors.Join(errBadFile, err)
	}
	defer f.Close()
	if st.Size == 0 || st.Size > most || holes(int(f.Fd()), st.Size) {
		return errBadFile
	}
	if err := room(in.folder, st.Size); err != nil {
		return err
	}
	_ = in.remove(name)
	return in.fresh(name, 0o600, func(w *os.File) error { return fill(ctx, int(w.Fd()), int(f.Fd()), st.Size) })
}

// holes reports whether a file is sparse, which git's files never are.
func holes(fd int, size int64) bool {
	if size < 1<<20 {
		return false
	}
	end, err := unix.Seek(fd, 0, unix.SEEK_HOLE)
	return err == nil && end < size
}

// room returns an error when need bytes would leave less than 16 MiB on the disk.
func room(d *folder, need int64) error {
	var st unix.Statfs_t
	if err := unix.Fstatfs(d.fd, &st); err != nil {
		return err
	}
	if free := int64(st.Bavail) * st.Bsize; free < need+(16<<20) {
		return fmt.Errorf("%s: %w", d.path, unix.ENOSPC)
	}
	return nil
}

// takePack copies a pack and makes an index for it. A pack that git calls broken is skipped.
func (x *exchange) takePack(ctx context.Context, objects *folder, name string) error {
	ctx, cancel := portion(ctx)
	defer cancel()
	in, rel := x.seen.intake, "pack/"+name+".pack"
	switch err := in.copy(ctx, objects, rel, 1<<40); {
	case errors.Is(err, errBadFile) || errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errLate):
		in.late, in.has[name] = true, true
		return nil
	case err != nil:
		return err
	}
	err := x.p.run(ctx, call{args: []string{"index-pack", filepath.Join(in.path, rel)}, store: in.path, further: []string{hostObjects()}})
	if err != nil {
		if rerr := in.remove(rel); rerr != nil {
			return rerr
		}
		if Passing(err) {
			return err
		}
		in.late = in.late || errors.Is(err, errLate)
	}
	in.has[name] = true
	return nil
}

// bundle is a pack of objects that were checked and that the host does not have yet.
type bundle struct {
	*folder
	name  string // pack-HASH; "" when there is nothing in it
	count uint32
	size  int64
}

// Fewer and smaller objects than this are stored one by one, as `git fetch` does
// (fetch.unpackLimit); the others stay in their pack.
const (
	looseLimit = 100
	looseBytes = 32 << 20
)

// severities makes errors of faults that git-fsck(1) only warns about: files of settings that are
// links, and a .gitmodules that cannot be parsed.
const severities = "--strict=gitattributesSymlink=error,gitignoreSymlink=error,mailmapSymlink=error,gitmodulesParse=error"

// gather packs what is reachable from tips and not from have. It checks that every object is what
// its name says, that no tree can do harm (git-fsck(1)), and that nothing is missing in the host's
// store.
func (x *exchange) gather(ctx context.Context, tips, have []string) (*bundle, error) {
	store, err := x.emptyStore(fmt.Sprintf("checked.%d", x.u.N))
	if err != nil {
		return nil, err
	}
	b := &bundle{folder: store}
	if err = x.check(ctx, store.path, tips, have); err == nil {
		err = b.look()
	}
	if err != nil {
		store.close()
		return nil, err
	}
	return b, nil
}

func (x *exchange) check(ctx context.Context, store string, tips, have []string) error {
	revisions := strings.Join(tips, "\n") + "\n"
	if len(have) > 0 {
		revisions += "--not\n" + strings.Join(have, "\n") + "\n"
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() {
		c := x.allObjects()
		c.args = []string{"pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q", "--no-use-bitmap-index"}
		c.in, c.out = strings.NewReader(revisions), w
		err := x.p.run(ctx, c)
		done <- errors.Join(err, w.Close())
	}()
	err = x.p.run(ctx, call{args: []string{"index-pack", "--stdin", severities, "--no-rev-index"}, in: r, store: store, further: []string{hostObjects()}})
	r.Close()
	if perr := <-done; perr != nil {
		var said *errGit
		if errors.As(perr, &said) && said.said != "" || err == nil || killed(perr) {
			return perr // why the other had nothing to read
		}
	}
	return err
}

// allObjects is a call of git that finds the objects of the box and of the host, those among them that the host has
// removed since.
func (x *exchange) allObjects() call {
	c := call{store: hostObjects(), further: []string{filepath.Join(x.path, holdFolder, fmt.Sprint(x.u.N))}}
	if x.seen.intake != nil {
		c.store, c.further = x.seen.intake.path, append([]string{hostObjects()}, c.further...)
	}
	return c
}

// look reads what index-pack left.
func (b *bundle) look() error {
	files, err := b.list("pack", 16)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".pack")
		if !ok {
			continue
		}
		if err := b.lookAt(name); err != nil {
			return err
		}
	}
	return nil
}

// lookAt reads how many objects a pack has, and takes it if there are any.
func (b *bundle) lookAt(name string) error {
	file, st, err := b.open("pack/" + name + ".pack")
	if err != nil {
		return err
	}
	defer file.Close()
	var head [12]byte
	if _, err := io.ReadFull(file, head[:]); err != nil {
		return err
	}
	if b.count = binary.BigEndian.Uint32(head[8:]); b.count > 0 {
		b.name, b.size = name, st.Size
	}
	return nil
}

// store brings the checked objects to the host: all of them, or nothing that git would see.
func (x *exchange) store(ctx context.Context, b *bundle) error {
	if b.name == "" {
		return nil
	}
	to := x.p.store
	if err := room(to, b.size); err != nil { // a git that runs out of it leaves pieces behind
		return err
	}
	base := "pack/" + b.name
	if b.count < looseLimit && b.size < looseBytes {
		f, _, err := b.open(base + ".pack")
		if err != nil {
			return err
		}
		defer f.Close()
		return x.p.run(ctx, call{args: []string{"unpack-objects", "-q"}, in: f})
	}
	if err := to.mkdir("pack"); err != nil {
		return err
	}
	// The index comes last: without it git does not look at a pack.
	for _, ext := range []string{".pack", ".idx"} {
		if to.has(base + ext) {
			continue // the very same objects
		}
		temp := "pack/tmp_pack_inner_" + x.meta.Run + ext // `git gc` removes what has this name and is old
		if err := b.publish(base+ext, to, temp); err != nil {
			return err
		}
	}
	return nil
}

// publish copies a file to the host under a temporary name and, when it is on the disk, gives it its own.
func (b *bundle) publish(name string, to *folder, temp string) error {
	_ = to.remove(temp)
	_, err := b.copyFile(name, to, temp, 1<<40, 0o444)
	if err == nil {
		err = to.sync(temp)
	}
	if err == nil {
		err = to.rename(temp, name)
	}
	if err != nil {
		err = errors.Join(err, to.remove(temp))
	}
	return err
}

// sync puts a file on the disk.
func (d *folder) sync(rel string) error {
	f, _, err := d.open(rel)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// gitlinks returns the paths of gitlinks (entries for other repositories) that values of the box bring: those in commits
// that the host does not have, and those in their trees that the commits of the host's work trees do not have.
func (x *exchange) gitlinks(ctx context.Context, values, have []string) (map[string]bool, error) {
	c := x.allObjects()
	run := func(in string, args ...string) (string, error) {
		c.args, c.in = args, strings.NewReader(in)
		return x.p.text(ctx, c)
	}
	revisions := strings.Join(values, "\n") + "\n"
	for _, h := range have {
		revisions += "^" + h + "\n"
	}
	commits, err := run(revisions, "rev-list", "--stdin")
	if err != nil {
		return nil, err
	}
	var heads []string
	for _, v := range x.views {
		if !slices.Contains(heads, v.oldHost) {
			heads = append(heads, v.oldHost)
		}
	}
	var ask strings.Builder
	for _, value := range slices.Concat(heads, values) {
		ask.WriteString(cmp.Or(value, "none") + "^{tree}\n")
	}
	answer, err := run(ask.String(), "cat-file", "--batch-check=%(objectname)")
	if err != nil {
		return nil, err
	}
	trees := treesOf(answer, x.u.Digits)
	for i, head := range trees[:min(len(heads), len(trees))] {
		if !slices.Contains(trees[:i], head) {
			for _, tree := range trees[len(heads):] {
				commits += head + " " + tree + "\n"
			}
		}
	}
	scan := &linkScan{found: map[string]bool{}}
	c.args = []string{"diff-tree", "--stdin", "--raw", "-r", "-z", "-m", "--root", "--no-renames", "--no-abbrev", "--no-commit-id"}
	c.in, c.out = strings.NewReader(commits), scan
	err = x.p.run(ctx, c)
	return scan.found, err
}

// treesOf reads the trees that git names for commits. For one that is not there it is the empty tree.
func treesOf(answer string, digits int) (trees []string) {
	for line := range strings.Lines(answer) {
		tree := strings.TrimSpace(line)
		if !hexName(tree, digits) {
			tree = emptyTree(digits)
		}
		trees = append(trees, tree)
	}
	return trees
}

// emptyTree returns the name of the tree with nothing in it, which every git has.
func emptyTree(digits int) string {
	h := newHash(digits / 2)
	h.Write([]byte("tree 0\x00"))
	return hex.EncodeToString(h.Sum(nil))
}

// maxLinks is the most gitlinks that the commits of a box may bring.
const maxLinks = 10_000

// linkScan reads what diff-tree prints: ":MODE MODE OID OID STATUS" NUL "PATH" NUL.
type linkScan struct {
	found map[string]bool
	rest  []byte
	path  bool // the next field is a path
	link  bool // and that of a link
}

func (s *linkScan) Write(p []byte) (int, error) {
	if len(s.found) > maxLinks {
		return 0, errTooMany
	}
	s.rest = append(s.rest, p...)
	for {
		i := slices.Index(s.rest, 0)
		if i < 0 {
			return len(p), nil
		}
		field := string(s.rest[:i])
		s.rest = s.rest[i+1:]
		if err := s.take(field); err != nil {
			return 0, err
		}
	}
}

// take reads one field.
func (s *linkScan) take(field string) error {
	if s.path {
		if s.link {
			s.found[field] = true
		}
		s.path = false
		return nil
	}
	for !strings.HasPrefix(field, ":") { // a line that says which two trees follow
		_, rest, found := strings.Cut(field, "\n")
		if !found {
			break
		}
		field = rest
	}
	if !strings.HasPrefix(field, ":") || len(field) <= 14 {
		return errors.New("diff-tree: an answer that is not known")
	}
	s.path, s.link = true, field[8:14] == "160000"
	return nil
}
