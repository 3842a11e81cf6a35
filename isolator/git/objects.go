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
	rel  string // below the state folder
	path string
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
	in := &intake{rel: fmt.Sprintf("objects.%d", u.N), has: map[string]bool{}}
	in.path = filepath.Join(c.path, stateFolder, in.rel)
	if err := removeAll(c.state, in.rel); err != nil {
		return nil, err
	}
	return in, c.state.mkdir(in.rel + "/pack")
}

// take copies the objects that the box has stored since the last time.
func (in *intake) take(ctx context.Context, c *Copy, p *plumbing, box *folder, digits int) error {
	objects, err := box.sub("objects")
	if err != nil {
		return err
	}
	defer objects.close()
	list, err := objects.list(".", maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		if ctx.Err() != nil {
			return late(ctx)
		}
		if e.IsDir() && hexName(e.Name(), 2) {
			if err := in.loose(ctx, c, objects, e.Name(), digits); err != nil {
				return err
			}
		}
	}
	packs, err := objects.list("pack", maxFiles)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range packs {
		name, ok := strings.CutSuffix(e.Name(), ".pack")
		if hash, found := strings.CutPrefix(name, "pack-"); ok && found && hexName(hash, digits) && !in.has[name] {
			if err := in.pack(ctx, c, p, objects, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (in *intake) loose(ctx context.Context, c *Copy, objects *folder, dir string, digits int) error {
	files, err := objects.list(dir, maxObjs)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	made := false
	for _, f := range files {
		name := dir + "/" + f.Name()
		if !hexName(f.Name(), digits-2) || in.has[name] {
			continue
		}
		if !made {
			if err := c.state.mkdir(in.rel + "/" + dir); err != nil {
				return err
			}
			made = true
		}
		err := in.copy(ctx, c, objects, name, name, maxObject)
		switch {
		case errors.Is(err, errBadFile) || errors.Is(err, fs.ErrNotExist):
			continue // git will say that it is missing if it is needed
		case err != nil:
			return err
		}
		in.has[name] = true
	}
	return nil
}

// errBadFile is a file of a box that git did not write: a link, a FIFO, a file with holes.
var errBadFile = errors.New("not a file that git wrote")

// copy copies one file of the box, if git can have written it.
func (in *intake) copy(ctx context.Context, c *Copy, from *folder, name, to string, most int64) error {
	f, st, err := from.open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return errors.Join(errBadFile, err)
	}
	defer f.Close()
	if st.Size == 0 || st.Size > most || holes(int(f.Fd()), st.Size) {
		return errBadFile
	}
	if err := room(c.state, st.Size); err != nil {
		return err
	}
	_ = c.state.remove(in.rel + "/" + to)
	return c.state.fresh(in.rel+"/"+to, 0o600, func(w *os.File) error { return fill(ctx, int(w.Fd()), int(f.Fd()), st.Size) })
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

// pack copies a pack and makes an index for it. A pack that git calls broken is skipped.
func (in *intake) pack(ctx context.Context, c *Copy, p *plumbing, objects *folder, name string) error {
	ctx, cancel := portion(ctx)
	defer cancel()
	err := in.copy(ctx, c, objects, "pack/"+name+".pack", "pack/"+name+".pack", 1<<40)
	switch {
	case errors.Is(err, errBadFile) || errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, errLate):
		in.late, in.has[name] = true, true
		return nil
	case err != nil:
		return err
	}
	file := filepath.Join(in.path, "pack", name+".pack")
	err = p.run(ctx, call{args: []string{"index-pack", file}, store: in.path, further: []string{hostObjects()}})
	if err != nil {
		if rerr := c.state.remove(in.rel + "/pack/" + name + ".pack"); rerr != nil {
			return rerr
		}
		if Passing(err) {
			return err
		}
		if errors.Is(err, errLate) {
			in.late = true
		}
	}
	in.has[name] = true
	return nil
}

// bundle is a pack of objects that were checked and that the host does not have yet.
type bundle struct {
	rel   string // its folder below the state folder
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
func (in *intake) gather(ctx context.Context, c *Copy, p *plumbing, u *unit, tips, have []string) (*bundle, error) {
	b := &bundle{rel: fmt.Sprintf("checked.%d", u.N)}
	if err := removeAll(c.state, b.rel); err != nil {
		return nil, err
	}
	if err := c.state.mkdir(b.rel + "/pack"); err != nil {
		return nil, err
	}
	store := filepath.Join(c.path, stateFolder, b.rel)
	hold := filepath.Join(c.path, holdFolder, fmt.Sprint(u.N))
	revisions := strings.Join(tips, "\n") + "\n"
	if len(have) > 0 {
		revisions += "--not\n" + strings.Join(have, "\n") + "\n"
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() {
		err := p.run(ctx, call{
			args: []string{"pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q", "--no-use-bitmap-index"},
			in:   strings.NewReader(revisions), out: w, store: in.path, further: []string{hostObjects(), hold},
		})
		done <- errors.Join(err, w.Close())
	}()
	err = p.run(ctx, call{args: []string{"index-pack", "--stdin", severities, "--no-rev-index"}, in: r, store: store, further: []string{hostObjects()}})
	r.Close()
	if perr := <-done; perr != nil {
		var said *errGit
		if errors.As(perr, &said) && said.said != "" || err == nil || killed(perr) {
			return nil, perr // why the other had nothing to read
		}
	}
	if err != nil {
		return nil, err
	}
	return b, b.open(c)
}

// open reads what index-pack left.
func (b *bundle) open(c *Copy) error {
	files, err := c.state.list(b.rel+"/pack", 16)
	if err != nil {
		return err
	}
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".pack")
		if !ok {
			continue
		}
		file, st, err := c.state.open(b.rel + "/pack/" + f.Name())
		if err != nil {
			return err
		}
		var head [12]byte
		_, err = io.ReadFull(file, head[:])
		file.Close()
		if err != nil {
			return err
		}
		if b.count = binary.BigEndian.Uint32(head[8:]); b.count > 0 {
			b.name, b.size = name, st.Size
		}
	}
	return nil
}

// store brings the checked objects to the host: all of them, or nothing that git would see.
func (b *bundle) store(ctx context.Context, c *Copy, p *plumbing) error {
	if b.name == "" {
		return nil
	}
	if err := room(p.store, b.size); err != nil { // a git that runs out of it leaves pieces behind
		return err
	}
	base := b.rel + "/pack/" + b.name
	if b.count < looseLimit && b.size < looseBytes {
		f, _, err := c.state.open(base + ".pack")
		if err != nil {
			return err
		}
		defer f.Close()
		return p.run(ctx, call{args: []string{"unpack-objects", "-q"}, in: f})
	}
	if err := p.store.mkdir("pack"); err != nil {
		return err
	}
	// The index comes last: without it git does not look at a pack.
	for _, ext := range []string{".pack", ".idx"} {
		name := "pack/" + b.name + ext
		if p.store.has(name) {
			continue // the very same objects
		}
		temp := "pack/tmp_pack_inner_" + c.meta.Run + ext // `git gc` removes what has this name and is old
		_ = p.store.remove(temp)
		if _, err := c.state.copyFile(base+ext, p.store, temp, 1<<40, 0o444); err != nil {
			return errors.Join(err, p.store.remove(temp))
		}
		if err := p.store.sync(temp); err != nil {
			return errors.Join(err, p.store.remove(temp))
		}
		if err := p.store.rename(temp, name); err != nil {
			return errors.Join(err, p.store.remove(temp))
		}
	}
	return nil
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
	c := call{store: hostObjects(), further: []string{filepath.Join(x.path, holdFolder, fmt.Sprint(x.u.N))}}
	if x.seen.intake != nil {
		c.store, c.further = x.seen.intake.path, append([]string{hostObjects()}, c.further...)
	}
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
	var trees []string
	for line := range strings.Lines(answer) {
		tree := strings.TrimSpace(line)
		if !hexName(tree, x.u.Digits) { // no commit
			tree = emptyTree(x.u.Digits)
		}
		trees = append(trees, tree)
	}
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
		for !s.path && field != "" && field[0] != ':' { // a line that says which two trees follow
			_, rest, found := strings.Cut(field, "\n")
			if !found {
				break
			}
			field = rest
		}
		switch {
		case s.path:
			if s.link {
				s.found[field] = true
			}
			s.path = false
		case strings.HasPrefix(field, ":") && len(field) > 14:
			s.path, s.link = true, field[8:14] == "160000"
		default:
			return 0, errors.New("diff-tree: an answer that is not known")
		}
	}
}
