package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
	// Profile and Grants say which boxes may go on with what this one leaves unfinished: those that have the same. Grants
	// stands for all that the run may do.
	Profile, Grants string
	// Objects is the folder of the box below which it sees the host's objects.
	Objects string
	// Name and Email are who the logs of the host name for what inner does there.
	Name, Email string
	// Clean takes out of a repository's configuration what the box must not have. The
	// default, WithoutLogins, takes out logins.
	Clean func([]gitconfig.Entry) []gitconfig.Entry
}

// Mount is what the box must see at a place.
type Mount struct {
	Source, Dest string // of the host, of the box
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
	bases   map[int]*base
	seen    map[int]*boxState
	start   traces // of the box's git directory, see untouched

	settled   bool
	unsettled []string // see Settle
}

// Stage makes the git directory of a box from a repository of the host. Its cost is that of
// copying the index, the refs and their logs.
func Stage(r *Repo, o Options) (c *Copy, err error) {
	if r.Reason != "" {
		return nil, unfit(r.Reason)
	}
	if o.Run == "" || strings.Trim(o.Run, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != "" {
		return nil, fmt.Errorf("%q cannot be the name of a run", o.Run)
	}
	c = &Copy{
		path: o.Dir, objects: o.Objects, roots: o.Roots, clean: o.Clean,
		meta: meta{Version: 1, Run: o.Run, Git: o.Git, Name: o.Name, Email: o.Email, Roots: o.Roots, Profile: o.Profile, Grants: o.Grants},
	}
	if c.clean == nil {
		c.clean = WithoutLogins
	}
	if c.objects == "" {
		c.objects = paths.BoxGit
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	if err := c.openFolders(true); err != nil {
		return nil, err
	}
	box := r.Common
	c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(o.Dir, boxFolder), Dest: box, Write: true})
	if err := c.stageUnit(r, boxFolder); err != nil {
		return nil, err
	}
	c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(o.Dir, holdFolder), Dest: c.objects + "/" + holdFolder})
	c.start, _ = c.look(maxTraces) // without them every exchange looks at everything
	return c, c.save()
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
		for _, name := range []string{boxFolder, holdFolder, stateFolder} {
			if err := c.dir.mkdir(name, 0o700); err != nil {
				return err
			}
		}
	}
	c.state, err = c.dir.sub(stateFolder)
	c.bases, c.seen = map[int]*base{}, map[int]*boxState{}
	return err
}

// Close lets go of a copy, which stays where it is.
func (c *Copy) Close() {
	for _, b := range c.bases {
		if b.log != nil {
			b.log.Close()
		}
	}
	c.bases = nil
	c.dir.close()
	c.state.close()
	if c.lock != nil {
		c.lock.Close()
	}
}

// stageUnit makes the box's directory of one repository and of those of its submodules.
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
	if err := c.dir.mkdir(rel, 0o700); err != nil {
		return err
	}
	to, err := c.dir.sub(rel)
	if err != nil {
		return err
	}
	defer to.close()
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"} {
		if err := to.mkdir(dir, 0o700); err != nil {
			return err
		}
	}
	s := &stager{copy: c, unit: u, repo: r, from: from, to: to}
	for _, step := range []func() error{s.config, s.refs, s.logs, s.common, s.stores, s.mainView, s.worktrees, s.modules} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

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

// copyIf copies a plain file that may be missing, or be something else.
func (s *stager) copyIf(name string, most int64) error {
	_, err := s.from.copyFile(name, s.to, name, most, 0o600)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotPlain) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	return err
}

// copyText copies a file that people read, without the logins in its addresses.
func (s *stager) copyText(name string, most int64) error {
	data, err := s.from.read(name, most)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotPlain) || errors.Is(err, unix.ELOOP):
		return nil
	case err == nil && address.Match(data):
		return s.to.create(name, textWithoutLogins(data), 0o600, false)
	}
	return s.copyIf(name, most) // of an error this tells more
}

// config gives the box the repository's configuration without logins, to write as it
// likes. The forms of the index that are read back are the plain ones.
func (s *stager) config() error {
	about := "The settings of this repository as the box has them. What is written here stays with the box."
	text := string(configText(about, s.copy.clean(s.repo.config)))
	text += "[index]\n\tsparse = false\n[core]\n\tsplitIndex = false\n\tfsmonitor = false\n"
	s.unit.Config = text
	return s.to.create("config", []byte(text), 0o600, false)
}

// refs gives the box the refs as one packed file, since a file for each would cost most of the start: only those stay
// files that cannot be packed, and the branch of HEAD, which tools look for by themselves.
func (s *stager) refs() error {
	c, u := s.copy, s.unit
	head, _ := s.from.read("HEAD", maxLoose) // without one mainView refuses
	branch, _ := symbolic(headValue(head, u.Digits))
	loose, files := refs{}, refs{}
	err := looseRefs(s.from, u.Digits, func(name, value, odd string) error {
		_, sym := symbolic(value)
		switch {
		case odd == "is a link":
			return unfit("the ref " + plainText(name, 100) + " is a link")
		case odd != "":
		case sym || name == branch || refName(name) != "":
			files[name] = value
		default:
			loose[name] = value
		}
		return nil
	})
	if err != nil {
		return err
	}
	text, err := s.from.readText("packed-refs", maxPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(loose) > 0 {
		if text, err = withRefs(text, loose, u.Digits); err != nil {
			return unfit(err.Error())
		}
	}
	if packed := []byte(text); len(packed) > 0 {
		if err := errors.Join(s.to.create("packed-refs", packed, 0o600, false), c.state.create(u.baseName(), packed, 0o600, false)); err != nil {
			return err
		}
	}
	var log strings.Builder
	for name, value := range files {
		if err := errors.Join(s.to.mkdir(filepath.Dir(name), 0o700), s.to.create(name, []byte(value+"\n"), 0o600, false)); err != nil {
			return err
		}
		log.WriteString("=" + name + " " + value + "\n")
	}
	return c.state.create(u.baseName()+".log", []byte(log.String()), 0o600, false)
}

// logs copies the logs of refs. Where they are many, those of HEAD and of the stash.
func (s *stager) logs() error {
	if !s.from.isDir("logs") {
		return nil
	}
	if err := s.to.mkdir("logs/refs", 0o700); err != nil {
		return err
	}
	if err := s.copyText("logs/HEAD", maxLog); err != nil {
		return err
	}
	data, err := s.from.read("logs/"+stashRef, maxLog)
	if err == nil {
		s.unit.Stash = digest(data)
	}
	var total int64
	files := 0
	err = walk(s.from, "logs/refs", func(name string, dir bool) error {
		if dir {
			return s.to.mkdir(name, 0o700)
		}
		if files++; files > maxFiles || total > maxLogs {
			return errTooMany
		}
		if data, err := s.from.read(name, maxLog); err == nil && address.Match(data) {
			total += int64(len(data))
			return s.to.create(name, textWithoutLogins(data), 0o600, false)
		}
		n, err := s.from.copyFile(name, s.to, name, maxLog, 0o600)
		total += n
		return err
	})
	switch {
	case errors.Is(err, errTooMany) || errors.Is(err, errTooLarge):
		s.copy.Notes = append(s.copy.Notes, "not all logs of refs are in the box: there are too many")
		err = nil
	case errors.Is(err, unix.ELOOP) || errors.Is(err, errNotPlain):
		err = unfit("a log of a ref is not a plain file")
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	return err
}

// walk calls found for what is below a folder, folders before what is in them. A link counts as
// a file.
func walk(d *folder, rel string, found func(name string, dir bool) error) error {
	list, err := d.list(rel, maxRefs)
	if err != nil {
		return err
	}
	for _, e := range list {
		name := rel + "/" + e.Name()
		if strings.HasSuffix(name, ".lock") {
			continue
		}
		if err := found(name, e.IsDir()); err != nil {
			return err
		}
		if e.IsDir() {
			if err := walk(d, name, found); err != nil {
				return err
			}
		}
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// common copies what all worktrees share besides refs and objects.
func (s *stager) common() error {
	for _, name := range []string{"shallow", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		if err := s.copyText(name, maxSmall); err != nil {
			return err
		}
	}
	hooks, err := s.from.list("hooks", maxFiles)
	if err != nil {
		hooks = nil // none, or a link, which only the host follows
	}
	for _, e := range hooks {
		name := "hooks/" + e.Name()
		if strings.HasSuffix(name, ".sample") || !e.Type().IsRegular() {
			continue
		}
		st, err := s.from.stat(name)
		if err != nil {
			continue
		}
		if _, err := s.from.copyFile(name, s.to, name, maxSmall, st.Mode&0o700|0o600); err != nil && !errors.Is(err, errTooLarge) {
			return err
		}
	}
	s.unit.Files = settingsOf(s.to)
	return nil
}

// settingsOf returns the digests of the hooks and of the files in info.
func settingsOf(d *folder) map[string]string {
	out := map[string]string{}
	for _, dir := range []string{"hooks", "info"} {
		list, err := d.list(dir, maxFiles)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				out[dir] = "not a folder of files"
			}
			continue
		}
		for _, e := range list {
			name := dir + "/" + e.Name()
			if strings.HasSuffix(name, ".sample") { // `git init` makes them; nothing obeys them
				continue
			}
			data, err := d.read(name, maxSmall)
			if err != nil {
				out[name] = "not a plain file"
				continue
			}
			out[name] = digest(data)
		}
	}
	return out
}

// stores lets the box read the host's objects, and those that the host borrows.
func (s *stager) stores() error {
	c := s.copy
	place := func(i int) string { return fmt.Sprintf("%s/%d/%d/objects", c.objects, s.unit.N, i) }
	var text strings.Builder
	for i, store := range append([]string{filepath.Join(s.repo.Common, "objects")}, s.repo.Alternates...) {
		c.Mounts = append(c.Mounts, Mount{Source: store, Dest: place(i)})
		if fi, err := os.Lstat(filepath.Join(filepath.Dir(store), "lfs")); err == nil && fi.IsDir() {
			c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(filepath.Dir(store), "lfs"), Dest: filepath.Dir(place(i)) + "/lfs"})
		}
		text.WriteString(place(i) + "\n")
	}
	if len(s.repo.Alternates) > 0 {
		// What the host's own list names may not be there in the box, and git says so each time.
		if err := c.dir.mkdir(fmt.Sprintf("%s/info.%d", holdFolder, s.unit.N), 0o700); err != nil {
			return err
		}
		c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(c.path, holdFolder, fmt.Sprintf("info.%d", s.unit.N)), Dest: place(0) + "/info"})
	}
	if err := c.dir.mkdir(fmt.Sprintf("%s/%d", holdFolder, s.unit.N), 0o700); err != nil {
		return err
	}
	text.WriteString(fmt.Sprintf("%s/%s/%d\n", c.objects, holdFolder, s.unit.N))
	return s.to.create("objects/info/alternates", []byte(text.String()), 0o600, false)
}

// mainView copies the state of the main work tree. The box has it when it can write there.
func (s *stager) mainView() error {
	top := s.repo.Top
	if s.repo.Worktree != "" {
		top = filepath.Dir(s.repo.Common)
	}
	data, err := s.from.read("HEAD", maxLoose)
	if err != nil {
		return err
	}
	head := headValue(data, s.unit.Digits)
	if head == "" {
		return unfit("its HEAD says nothing that git understands")
	}
	if err := s.to.create("HEAD", []byte(head+"\n"), 0o600, false); err != nil {
		return err
	}
	if s.repo.Worktree != "" && (filepath.Base(s.repo.Common) != ".git" || !s.writable(top)) {
		if name, ok := symbolic(head); ok {
			s.unit.Elsewhere[name] = true
		}
		return nil
	}
	return s.view(&view{Top: top, Head: head, Sparse: s.repo.Sparse})
}

func (s *stager) writable(p string) bool {
	return slices.ContainsFunc(s.copy.roots, func(root string) bool {
		return paths.Below(root, p)
	})
}

// Files of a view that are hashes and text; folders of operations that are not finished.
func mergeFiles() []string {
	return []string{"MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD", "ORIG_HEAD"}
}

func busyFolders() []string { return []string{"rebase-merge", "rebase-apply", "sequencer"} }

// view copies the state of a work tree: its index, and what a merge or a rebase left.
func (s *stager) view(v *view) error {
	if err := s.index(v); err != nil {
		return err
	}
	list, err := s.from.list(orSelf(v.Rel), maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), "sharedindex.") && e.Type().IsRegular() {
			if err := s.copyIf(v.file(e.Name()), maxIndexBytes); err != nil {
				return err
			}
		}
	}
	v.Merge, v.Busy = map[string]string{}, map[string]bool{}
	for _, name := range slices.Concat(mergeFiles(), []string{"MERGE_RR", "FETCH_HEAD", "BISECT_LOG", "BISECT_NAMES", "BISECT_START", "BISECT_TERMS", "BISECT_EXPECTED_REV"}) {
		copied := s.copyIf
		if name == "FETCH_HEAD" {
			copied = s.copyText
		}
		if err := copied(v.file(name), maxSmall); err != nil {
			return err
		}
		if data, err := s.to.read(v.file(name), maxSmall); err == nil {
			v.Merge[name] = digest(data)
		}
	}
	for _, name := range busyFolders() {
		if !s.from.isDir(v.file(name)) {
			continue
		}
		v.Busy[name] = true
		if err := s.tree(v.file(name), s.copyIf); err != nil {
			return err
		}
	}
	if data, err := s.from.read(v.file("config.worktree"), maxConfig); err == nil {
		list, err := gitconfig.Parse(data)
		if err != nil {
			return unfit("the configuration of a worktree cannot be read")
		}
		if err := s.to.create(v.file("config.worktree"), configText("The settings of this worktree as the box has them.", s.copy.clean(list)), 0o600, false); err != nil {
			return err
		}
	}
	s.unit.Views = append(s.unit.Views, v)
	return s.vacancies(v)
}

// index keeps the host's index as it is now, to tell later whether the host changed it, and copies that
// one to the box. Git never writes an index in place, so a second name keeps it.
func (s *stager) index(v *view) error {
	name, to, kept := v.file("index"), baseIndexName(s.unit, v), s.copy.state
	st, err := s.from.stat(name)
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	err = s.from.at("link", name, func(dir int, base string) error {
		return unix.Linkat(dir, base, kept.fd, to, 0)
	})
	if err == nil {
		st, err = kept.stat(to)
	} else {
		_, err = s.from.copyFile(name, kept, to, maxIndexBytes, 0o600)
	}
	if err != nil {
		return err
	}
	v.HostFile = fileID(st, false)
	if _, err := kept.copyFile(to, s.to, name, maxIndexBytes, 0o600); err != nil {
		return err
	}
	if st, err = s.to.stat(name); err == nil {
		v.BoxFile = fileID(st, true)
	}
	return err
}

func orSelf(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}

// tree copies a folder of plain files.
func (s *stager) tree(rel string, copied func(name string, most int64) error) error {
	if err := s.to.mkdir(rel, 0o700); err != nil {
		return err
	}
	return walk(s.from, rel, func(name string, dir bool) error {
		if dir {
			return s.to.mkdir(name, 0o700)
		}
		return copied(name, maxSmall)
	})
}

// worktrees copies the state of the linked worktrees that the box can write, and
// makes the others known.
func (s *stager) worktrees() error {
	list, err := s.from.list("worktrees", maxWorktrees)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range list {
		if e.IsDir() {
			if err := s.worktree(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *stager) worktree(name string) error {
	v := &view{Rel: "worktrees/" + name}
	back, err := s.from.read(v.file("gitdir"), maxPointer)
	head, herr := s.from.read(v.file("HEAD"), maxLoose)
	if err != nil || herr != nil || !s.from.has(v.file("commondir")) {
		return nil // git does not know it either
	}
	v.Head = headValue(head, s.unit.Digits)
	pointer := absolute(filepath.Join(s.repo.Common, v.Rel), strings.TrimRight(string(back), "\r\n"))
	v.Top = filepath.Dir(pointer)
	if err := s.to.mkdir(v.Rel, 0o700); err != nil {
		return err
	}
	for _, f := range []string{"gitdir", "commondir", "HEAD", "locked"} {
		if err := s.copyIf(v.file(f), maxPointer); err != nil {
			return err
		}
	}
	mine := v.Rel == "worktrees/"+s.repo.Worktree
	found, err := FindAt(v.Top)
	known := err == nil && found.Reason == "" && found.Worktree == name && found.Common == s.repo.Common
	if v.Head == "" || !known || !mine && !s.writable(v.Top) {
		// So that `git worktree prune` in the box does not take it for one that is gone.
		if !s.to.has(v.file("locked")) {
			err = s.to.create(v.file("locked"), []byte("outside of this box\n"), 0o600, false)
		}
		if branch, ok := symbolic(v.Head); ok {
			s.unit.Elsewhere[branch] = true
		}
		return err
	}
	v.Sparse = found.Sparse
	if s.from.isDir(v.file("logs")) {
		if err := s.tree(v.file("logs"), s.copyText); err != nil {
			return err
		}
	}
	if s.from.isDir(v.file("info")) {
		if err := s.tree(v.file("info"), s.copyText); err != nil {
			return err
		}
	}
	// The box must not make it lead elsewhere.
	s.copy.Mounts = append(s.copy.Mounts, Mount{Source: filepath.Join(v.Top, ".git"), Dest: filepath.Join(v.Top, ".git")})
	return s.view(v)
}

// modules stages the repositories of submodules, which lie in the repository's own.
func (s *stager) modules() error {
	found := 0
	var look func(rel string, depth int) error
	look = func(rel string, depth int) error {
		list, err := s.from.list(rel, maxFiles)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range list {
			sub := rel + "/" + e.Name()
			switch {
			case !e.IsDir():
			case s.from.has(sub + "/HEAD"):
				if found++; found > maxModules {
					return unfit("it has too many submodules")
				}
				if err := s.module(sub); err != nil {
					return err
				}
			case depth > 0:
				if err := look(sub, depth-1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return look("modules", 6)
}

func (s *stager) module(rel string) error {
	r := &Repo{Dir: filepath.Join(s.repo.Common, rel), Common: filepath.Join(s.repo.Common, rel), Pointer: true}
	err := r.fill()
	if tree := r.setting("core.worktree"); err == nil && tree != "" {
		r.Top = absolute(r.Dir, tree)
		if top, terr := FindAt(r.Top); terr == nil && top.Dir == r.Dir && top.Reason == "" {
			s.copy.Mounts = append(s.copy.Mounts, Mount{Source: filepath.Join(r.Top, ".git"), Dest: filepath.Join(r.Top, ".git")})
		}
	}
	var why unfit
	if err == nil {
		err = s.copy.stageUnit(r, s.unit.Box+"/"+rel)
	}
	if !errors.As(err, &why) {
		return err
	}
	// As the host has it, to read.
	if err := s.to.mkdir(rel, 0o700); err != nil {
		return err
	}
	s.copy.Mounts = append(s.copy.Mounts, Mount{Source: r.Dir, Dest: r.Dir})
	s.copy.Notes = append(s.copy.Notes, fmt.Sprintf("git is read-only in the submodule %s: %s", strings.TrimPrefix(rel, "modules/"), why))
	return nil
}

// Hold keeps the objects that the host has now for as long as the copy lives, whatever
// `git gc` outside does: it gives each file a second name in a folder that the box reads.
// The box need not wait for it. Where the file systems differ there can be no second names, and
// what the host removes is gone in the box, too; then it reports false.
func (c *Copy) Hold() (held bool, err error) {
	held = true
	for _, u := range c.meta.Units {
		from, err := openFolder(filepath.Join(u.Common, "objects"))
		if err != nil {
			return false, err
		}
		to, err := c.dir.sub(fmt.Sprintf("%s/%d", holdFolder, u.N))
		if err != nil {
			from.close()
			return false, err
		}
		whole, err := hold(from, to)
		from.close()
		to.close()
		if err != nil {
			return false, err
		}
		held = held && whole
	}
	return held, nil
}

// hold links packs and loose objects.
func hold(from, to *folder) (held bool, err error) {
	list, err := from.list(".", maxFiles)
	if err != nil {
		return false, err
	}
	held = true
	for _, e := range list {
		if !e.IsDir() || e.Name() != "pack" && !hexName(e.Name(), 2) {
			continue
		}
		files, err := from.list(e.Name(), maxRefs)
		if err != nil {
			continue // git removed it
		}
		if err := to.mkdir(e.Name(), 0o700); err != nil {
			return false, err
		}
		a, errA := from.sub(e.Name())
		b, errB := to.sub(e.Name())
		if err := errors.Join(errA, errB); err != nil {
			a.close()
			b.close()
			return false, err
		}
		for _, f := range files {
			if strings.HasPrefix(f.Name(), "tmp_") || !f.Type().IsRegular() {
				continue
			}
			err := unix.Linkat(a.fd, f.Name(), b.fd, f.Name(), 0)
			if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENOENT) {
				held = false
			}
		}
		a.close()
		b.close()
	}
	return held, nil
}

// Repositories are the git directories of the host that the copy stands for.
func (c *Copy) Repositories() []string {
	var out []string
	for _, u := range c.meta.Units {
		out = append(out, u.Common)
	}
	return out
}

// Tops are the work trees that the box has.
func (c *Copy) Tops() []string {
	tops := map[string]bool{}
	for _, u := range c.meta.Units {
		for _, v := range u.Views {
			tops[v.Top] = true
		}
	}
	return slices.Sorted(maps.Keys(tops))
}
