package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// Options say how a copy is made.
type Options struct {
	Git   string   // absolute path of the host's git
	Run   string   // name of the run: letters, digits and dashes
	Dir   string   // an empty private folder, which the copy is made in
	Roots []string // folders that the box can write, real paths
	// Profile and Grants decide which boxes may continue what this one leaves unfinished: those with the same values.
	// Grants stands for everything that the run may do.
	Profile, Grants string
	// Ignored are patterns of files that the box's git ignores, in addition to those of the repository.
	Ignored []string
	// Objects is the box path below which the box sees the host's objects; "" is paths.BoxGit.
	Objects string
	// Name and Email appear in the host's reflogs for what inner does there.
	Name, Email string
	// Clean removes from a repository's configuration what the box must not have; nil is
	// WithoutLogins.
	Clean func([]gitconfig.Entry) []gitconfig.Entry
}

// Mount is a host path that the box must see at a box path.
type Mount struct {
	Source, Dest string // host path and box path
	Write        bool
}

// Copy is the git directory of a box.
type Copy struct {
	// Mounts are in order: later ones may lie in earlier ones.
	Mounts []Mount
	// Notes say what of git the box does not have, each in a line.
	Notes []string

	meta    meta
	saved   []byte
	path    string
	dir     *folder
	state   *folder
	lock    *os.File
	objects string
	roots   []string
	clean   func([]gitconfig.Entry) []gitconfig.Entry
	ignored []string
	bases   map[int]*base
	seen    map[int]*boxState
	start   traces // of the box's git directory, see untouched

	settled   bool
	unsettled []string // see Settle
}

// Stage makes the git directory of a box from a repository of the host. It costs what copying the
// index, the refs and the reflogs costs.
func Stage(r *Repo, o Options) (*Copy, error) {
	if r.Reason != "" {
		return nil, unfit(r.Reason)
	}
	if o.Run == "" || strings.Trim(o.Run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return nil, fmt.Errorf("%q cannot be the name of a run", o.Run)
	}
	c := &Copy{
		path: o.Dir, objects: cmp.Or(o.Objects, paths.BoxGit), roots: o.Roots, clean: o.Clean, ignored: o.Ignored,
		meta: meta{Version: 1, Run: o.Run, Git: o.Git, Name: o.Name, Email: o.Email, Roots: o.Roots, Profile: o.Profile, Grants: o.Grants},
	}
	if c.clean == nil {
		c.clean = WithoutLogins
	}
	if err := c.fill(r); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// fill makes what is in the folder of a copy. After an error the caller closes what it opened.
func (c *Copy) fill(r *Repo) error {
	if err := c.openFolders(true); err != nil {
		return err
	}
	c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(c.path, boxFolder), Dest: r.Common, Write: true})
	if err := c.stageUnit(r, boxFolder); err != nil {
		return err
	}
	c.show(filepath.Join(c.path, holdFolder), c.objects+"/"+holdFolder)
	c.start, _ = c.look(maxTraces) // without them every exchange looks at everything
	return c.save()
}

// show mounts something read-only.
func (c *Copy) show(source, dest string) {
	c.Mounts = append(c.Mounts, Mount{Source: source, Dest: dest})
}

// openFolders opens, or makes, the folders of a copy and locks it.
func (c *Copy) openFolders(fresh bool) (err error) {
	if c.dir, err = openFolder(c.path); err != nil {
		return err
	}
	if c.lock, err = os.OpenFile(filepath.Join(c.path, lockFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(c.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = errBusy
		}
		return fmt.Errorf("%s: %w", c.path, err)
	}
	if fresh {
		if err := c.dir.mkdirs(boxFolder, holdFolder, stateFolder); err != nil {
			return err
		}
	}
	c.state, err = c.dir.sub(stateFolder)
	c.bases, c.seen = map[int]*base{}, map[int]*boxState{}
	return err
}

// Close closes a copy, and leaves its folder where it is.
func (c *Copy) Close() {
	for _, b := range c.bases {
		if b.log != nil {
			b.log.Close()
		}
	}
	c.bases = nil
	for _, s := range c.seen {
		if s.intake != nil {
			s.intake.close()
		}
	}
	c.dir.close()
	c.state.close()
	if c.lock != nil {
		c.lock.Close()
	}
}

// stageUnit makes the box's git directory of one repository and of its submodules.
func (c *Copy) stageUnit(r *Repo, rel string) error {
	from, err := openFolder(r.Common)
	if err != nil {
		return err
	}
	defer from.close()
	var st unix.Stat_t
	if err := unix.Fstat(from.fd, &st); err != nil {
		return err
	}
	u := &unit{
		N: len(c.meta.Units), Common: r.Common, Dev: st.Dev, Ino: st.Ino, Box: rel, Digits: r.Digits,
		Elsewhere: map[string]bool{}, Files: map[string]string{},
	}
	c.meta.Units = append(c.meta.Units, u)
	if err := c.dir.mkdir(rel); err != nil {
		return err
	}
	to, err := c.dir.sub(rel)
	if err != nil {
		return err
	}
	defer to.close()
	if err := to.mkdirs(emptyFolders()...); err != nil {
		return err
	}
	s := &stager{copy: c, unit: u, repo: r, from: from, to: to}
	for _, step := range []func() error{s.config, s.refs, s.logs, s.common, s.stores, s.mainView, s.worktrees, s.modules} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// emptyFolders lists the folders that git makes in each repository.
func emptyFolders() []string {
	return []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"}
}

// stager makes the box's git directory of one repository.
type stager struct {
	copy     *Copy
	unit     *unit
	repo     *Repo
	from, to *folder
}

// Most bytes of one small file that is copied, of an index, and of all logs.
const (
	maxSmall = 16 << 20
	maxLogs  = 256 << 20
	maxFiles = 20_000
)

// copyIf copies a file, unless it is missing or not a plain file.
func (s *stager) copyIf(name string, most int64) error {
	_, err := s.from.copyFile(name, s.to, name, most, 0o600)
	return present(err)
}

// copyText is copyIf for a text, without the logins in its addresses.
func (s *stager) copyText(name string, most int64) error {
	_, err := s.text(name, most)
	return present(err)
}

func (s *stager) text(name string, most int64) (size int64, err error) {
	data, err := s.from.read(name, most)
	if err == nil && address().Match(data) {
		return int64(len(data)), s.to.create(name, textWithoutLogins(data))
	}
	return s.from.copyFile(name, s.to, name, most, 0o600) // of an error this tells more
}

// present returns an error unless it says that a file is missing or not a plain file.
func present(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotPlain) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// Repositories returns the git directories of the host that the copy stands for.
func (c *Copy) Repositories() []string {
	var out []string
	for _, u := range c.meta.Units {
		out = append(out, u.Common)
	}
	return out
}
