package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/files"
	"golang.org/x/sys/unix"
)

// Request names what a run needs to know. Everything else about the host is
// probed always.
type Request struct {
	Home      string // the user's home
	OtherHome string // the home of the password file, when it is another
	InnerHome string
	StageBase string
	Paths     []string          // host paths to look at
	Globs     []string          // patterns to expand
	Holding   map[string]string // of Globs, those whose files count only when they hold this text
	Hide      []string          // patterns of [sandbox] hide, see package gitignore
	Mounted   []string          // folders the box sees for sure
	Copied    []string          // folders that are copied for the box
	Writable  []string          // folders the box will write: searched for repositories
	Display   bool              // look for the display server
	Bare      []string          // folders to look into
	Later     []string          // folders to make for the run when they are missing
	Obeyed    []string          // folders the box will write: searched for what tools outside obey
	Env       []string          // the environment of the call, KEY=VALUE
	Terminal  bool

	Setuid func() bool // whether a bwrap with privileges may be used; nil for no

	ProgramDirs  []string // folders of the box's PATH, as host paths
	ProgramNames []string // programs to look for in them
	Nested       bool     // whether the box is to make containers
	Limits       bool     // look for what holds limits
}

// Probe looks at the host once. It starts no program and writes nothing.
func Probe(r Request) Facts {
	f := Facts{
		UID: os.Getuid(), GID: os.Getgid(), OtherHome: r.OtherHome,
		Home: r.Home, InnerHome: r.InnerHome, StageBase: r.StageBase,
		Paths:    make(map[string]Path, len(r.Paths)),
		Env:      Environment(r.Env),
		Terminal: r.Terminal,
	}
	f.User = f.Env["USER"]
	if r.Display {
		f.Display = FindDisplay(f.Env)
	}
	f.Bwrap, f.BwrapWhy, f.BwrapFix = FindBwrap(f.Env["PATH"], r.Setuid)
	f.Nsenter, _ = FindHelper("nsenter", f.Env["PATH"])
	f.Programs = findPrograms(r.ProgramDirs, r.ProgramNames, f.InnerHomes())
	l := newLooker()
	l.listFull(r.Paths)
	for _, p := range r.Paths {
		if _, done := f.Paths[p]; !done {
			f.Paths[p] = l.look(p)
		}
	}
	for _, g := range r.Globs {
		m := l.glob(g)
		if text := r.Holding[g]; text != "" {
			m = slices.DeleteFunc(m, func(p string) bool { return !holds(p, text) })
		}
		if len(m) > 0 {
			if f.Globs == nil {
				f.Globs = map[string][]string{}
			}
			f.Globs[g] = m
			for _, p := range m {
				f.Paths[p] = l.look(p)
			}
		}
	}
	var others map[string][]string
	if f.Hide, others = l.hide(r.Hide, append(slices.Clone(r.Mounted), r.Home)); f.Hide != nil {
		for _, p := range f.Hide.Paths {
			f.Paths[p] = l.look(p)
		}
	}
	var wanted []Placeholder
	f.Obeyed, f.Named, wanted = l.obeyed(r.Writable, r.Obeyed, f.Homes(), f.Env)
	for _, p := range slices.Concat(f.Obeyed, f.Named) {
		f.Paths[p] = l.look(p)
	}
	f.Folders = l.crowded(f.Paths)
	f.SameFile = l.sameFile(f.Paths, slices.Concat(r.Writable, r.Copied))
	for p, names := range others {
		if f.SameFile == nil {
			f.SameFile = map[string][]string{}
		}
		f.SameFile[p] = names
	}
	var known bool
	f.Twins, f.Mounted, known = twins()
	f.MountsUnknown = !known
	f.Bare = map[string]bool{}
	for _, p := range r.Bare {
		f.Bare[p] = bare(p)
	}
	for _, p := range r.Later {
		wanted = append(wanted, Placeholder{Path: p})
	}
	for _, w := range wanted {
		for d := filepath.Dir(w.Path); l.look(d).Kind == Missing && !l.look(d).Link && writable(filepath.Dir(d)); d = filepath.Dir(d) {
			w = Placeholder{Path: d} // git obeys it in a folder that is to come
		}
		dir := filepath.Dir(w.Path)
		switch at := l.look(w.Path); {
		case at.Kind != Missing || at.Link || l.dir(dir).Kind != Dir:
		case writable(dir):
			f.Later = append(f.Later, w)
		case owned(dir) && !slices.Contains(f.Locked, dir):
			f.Locked = append(f.Locked, dir)
		}
	}
	if r.Nested {
		n := ProbeNested(f.UID, f.GID)
		f.Nested = &n
	}
	f.Landlock = LandlockABI()
	f.SysReadOnly = readOnly("/proc/sys/user")
	if r.Limits {
		h := ProbeLimits(f.UID, f.Env)
		f.Limits = &h
	}
	var err error
	if f.Sockets, err = listening("/proc/net/unix", append(slices.Clone(r.Writable), r.Home)); err != nil {
		f.SocketsUnknown = err.Error()
	}
	f.Resolver = resolver()
	f.Repositories, f.Unlisted = l.repositories(r.Writable)
	return f
}

// Environment reads KEY=VALUE words.
func Environment(words []string) map[string]string {
	out := make(map[string]string, len(words))
	for _, kv := range words {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			out[k] = v
		}
	}
	return out
}

// looker examines paths. It remembers folders, so that hundreds of paths of
// one home cost little more than that many calls of lstat, and less where the
// folder is not there.
type looker struct {
	dirs  map[string]Path
	names map[string]listing         // what a folder holds, by its path
	meant map[string][]string        // the folders a pattern means, see globDir
	held  map[string]map[string]bool // the same, in lower case, of folders that were read whole
}

func newLooker() looker {
	return looker{dirs: map[string]Path{}, names: map[string]listing{}, meant: map[string][]string{}, held: map[string]map[string]bool{}}
}

// Look looks at one path.
func Look(p string) Path { return newLooker().look(p) }

// dir looks at a folder, once.
func (l looker) dir(p string) Path {
	if seen, ok := l.dirs[p]; ok {
		return seen
	}
	seen := l.look(p)
	l.dirs[p] = seen
	return seen
}

// glob returns the paths that match a pattern, in order. Names that begin with
// a dot match like any other. It reads each folder once, however many patterns
// it is asked about.
func (l looker) glob(pattern string) []string {
	dir, last := filepath.Split(pattern)
	dir = strings.TrimSuffix(dir, "/")
	switch {
	case dir == "":
		return nil // relative, or the root folder itself
	case !strings.ContainsAny(pattern, `*?[\`):
		if l.dir(pattern).Kind == Missing {
			return nil
		}
		return []string{pattern}
	}
	var out []string
	matches := matcher(last)
	star := !strings.ContainsAny(last, `?[\`)
	first, end := last[:max(strings.IndexByte(last, '*'), 0)], last[strings.LastIndexByte(last, '*')+1:]
	for _, d := range l.globDir(dir) {
		if !strings.ContainsAny(last, `*?[\`) {
			if p := d + "/" + last; !l.lacks(d, last) && l.look(p).Kind != Missing {
				out = append(out, p)
			}
			continue
		}
		in := l.listing(d)
		if star && (first != "" && !in.begin.has(first[0]) || end != "" && !in.end.has(end[len(end)-1])) {
			continue
		}
		for _, n := range in.names {
			if matches(n.name) {
				out = append(out, d+"/"+n.name)
			}
		}
	}
	return out
}

// lacks reports whether a folder was listed and does not hold a name in any case:
// some file systems do not tell case. It lists the folder when that is cheap, or
// was done: many patterns ask about the same folders.
func (l looker) lacks(dir, last string) bool {
	in := l.listing(dir)
	if len(in.names) == 0 {
		return false // or it could not be read
	}
	if last != "" && last[0] < 0x80 && !in.begin.has(last[0]) && !in.begin.has(last[0]^0x20) { // the other case, of a letter
		return true
	}
	return !slices.ContainsFunc(in.names, func(n name) bool { return len(n.name) == len(last) && strings.EqualFold(n.name, last) })
}

// matcher is filepath.Match for one pattern and many names. Nearly all patterns have
// stars only, and those take a tenth of the time.
func matcher(pattern string) func(string) bool {
	if strings.ContainsAny(pattern, `?[\`) {
		return func(name string) bool {
			ok, err := filepath.Match(pattern, name)
			return err == nil && ok
		}
	}
	parts := strings.Split(pattern, "*")
	first, last, between := parts[0], parts[len(parts)-1], parts[1:max(len(parts)-1, 1)]
	return func(name string) bool {
		if len(parts) == 1 || len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
			return len(parts) == 1 && name == pattern
		}
		rest := name[len(first) : len(name)-len(last)]
		for _, part := range between {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				return false
			}
			rest = after
		}
		return true
	}
}

// holds reports whether a file has a text in its first 64 KiB. One that cannot be
// read is taken for one that has.
func holds(file, text string) bool {
	data, err := files.Head(file, files.FollowLinks, 64<<10)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, files.ErrNotRegular) {
		return false
	}
	return err != nil || bytes.Contains(data, []byte(text))
}

// name is one entry of a folder.
type name struct {
	name string
	dir  bool
	link bool
}

// depth is how far below a folder "**" looks.
const depth = 2

// published reports whether a folder of that name holds other people's packages
// or build results.
func published(name string) bool {
	switch name {
	case "node_modules", "vendor", "target", "dist", "build", ".venv", "venv", "__pycache__", ".cache", ".tox", "site-packages":
		return true
	}
	return false
}

// below returns the folder and what lies in it, depth levels down. Folders that
// hold other people's packages or build results are passed over: what lies
// there was published, and there are thousands of them.
func (l looker) below(dir string, depth int) []string {
	out := []string{dir}
	if depth == 0 {
		return out
	}
	for _, n := range l.list(dir) {
		if n.dir && n.name != ".git" && !published(n.name) {
			out = append(out, l.below(dir+"/"+n.name, depth-1)...)
		}
	}
	return out
}

// globDir returns the folders a pattern's folder part means.
func (l looker) globDir(dir string) []string {
	if !strings.ContainsAny(dir, `*?[\`) {
		return []string{dir}
	}
	if seen, ok := l.meant[dir]; ok {
		return seen
	}
	l.meant[dir] = l.meantBy(dir)
	return l.meant[dir]
}

func (l looker) meantBy(dir string) []string {
	if root, ok := strings.CutSuffix(dir, "/**"); ok {
		return l.below(unescape(root), depth)
	}
	if !strings.ContainsAny(dir, "*?[") || plainEscapes(dir) {
		return []string{unescape(dir)}
	}
	return l.glob(dir)
}

// plainEscapes reports whether every special byte of a pattern is escaped.
func plainEscapes(p string) bool {
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return false
		}
	}
	return true
}

func unescape(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		if p[i] == '\\' && i+1 < len(p) {
			i++
		}
		b.WriteByte(p[i])
	}
	return b.String()
}

// listing is what a folder holds, sorted, and what the names begin and end with: in each of hundreds of folders is looked
// for dozens of patterns, most of which nothing there can match.
type listing struct {
	names      []name
	begin, end letters
}

// letters is a set of bytes.
type letters [4]uint64

func (l *letters) add(c byte) { l[c>>6] |= 1 << (c & 63) }

func (l *letters) has(c byte) bool { return l[c>>6]&(1<<(c&63)) != 0 }

// list returns what a folder holds, sorted; nothing when it cannot be read.
func (l looker) list(dir string) []name { return l.listing(dir).names }

func (l looker) listing(dir string) listing {
	if seen, ok := l.names[dir]; ok {
		return seen
	}
	var in listing
	if f, err := os.Open(dir); err == nil {
		entries, _ := f.ReadDir(-1) // what could be read counts
		f.Close()
		in.names = make([]name, 0, len(entries))
		for _, e := range entries {
			n := e.Name()
			in.names = append(in.names, name{n, e.IsDir(), e.Type()&fs.ModeSymlink != 0})
			in.begin.add(n[0])
			in.end.add(n[len(n)-1])
		}
		slices.SortFunc(in.names, func(a, b name) int { return strings.Compare(a.name, b.name) })
	}
	l.names[dir] = in
	return in
}

// bare reports whether a user finds nothing in a folder. One whose names cannot
// be read may still be entered.
func bare(dir string) bool {
	if unix.Access(dir, unix.X_OK) != nil {
		return true
	}
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	names, err := f.Readdirnames(1)
	return len(names) == 0 && errors.Is(err, io.EOF)
}

// readOnly reports whether what is mounted at a path is mounted read-only.
func readOnly(p string) bool {
	var st unix.Statfs_t
	return unix.Statfs(p, &st) == nil && st.Flags&unix.ST_RDONLY != 0
}

func writable(dir string) bool { return unix.Access(dir, unix.W_OK) == nil }

// owned reports whether the user could make a folder writable.
func owned(dir string) bool {
	var st unix.Stat_t
	return unix.Access(dir, unix.W_OK) == unix.EACCES && unix.Stat(dir, &st) == nil && int(st.Uid) == os.Geteuid()
}

// crowd is how many files of one folder make it worth listing.
const crowd = 12

// crowded lists the folders in which many of the paths are files.
func (l looker) crowded(paths map[string]Path) map[string][]Child {
	count := map[string]int{}
	for _, p := range paths {
		if p.Kind == File {
			count[filepath.Dir(p.Real)]++
		}
	}
	var out map[string][]Child
	for dir, n := range count {
		if n < crowd {
			continue
		}
		if out == nil {
			out = map[string][]Child{}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			c := Child{Name: e.Name(), Kind: kindOf(e.Type())}
			if e.Type()&fs.ModeSymlink != 0 {
				target, err := os.Readlink(filepath.Join(dir, e.Name()))
				if err != nil {
					continue
				}
				c.Kind, c.Target = Link, target
			}
			out[dir] = append(out[dir], c)
		}
	}
	return out
}

// split divides a clean absolute path before its last name. filepath.Dir cleans it
// again, which costs more than all the rest when most paths are not there.
func split(p string) (dir, base string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return filepath.Dir(p), filepath.Base(p) // relative: the caller's mistake
	}
	return p[:max(i, 1)], p[i+1:]
}

// many is how many paths of one folder make reading it cheaper than asking for
// each.
const many = 8

// listFull reads the folders of which many paths are asked.
func (l looker) listFull(paths []string) {
	count := map[string]int{}
	for _, p := range paths {
		dir, _ := split(p)
		if count[dir]++; count[dir] != many {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // what was not read tells nothing
		}
		held := make(map[string]bool, len(entries))
		for _, e := range entries {
			held[strings.ToLower(e.Name())] = true // some file systems do not tell case
		}
		l.held[dir] = held
	}
}

// Names returns a function that tells what a folder holds, in lower case since some
// file systems do not tell case, and whether that could be read. It reads each
// folder once.
func Names() func(dir string) (map[string]bool, bool) {
	seen := map[string]map[string]bool{}
	return func(dir string) (map[string]bool, bool) {
		held, done := seen[dir]
		if !done {
			if entries, err := os.ReadDir(dir); err == nil {
				held = make(map[string]bool, len(entries))
				for _, e := range entries {
					held[strings.ToLower(e.Name())] = true
				}
			} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				held = map[string]bool{}
			}
			seen[dir] = held
		}
		return held, held != nil
	}
}

// absent reports whether a folder was read and does not hold the name.
func (l looker) absent(dir, base string) bool {
	held, read := l.held[dir]
	return read && !held[base] && !held[strings.ToLower(base)]
}

// sameFile looks, for those of the paths that are files with another name (hard
// links), whether one of these names lies in a folder the box will write.
func (l looker) sameFile(paths map[string]Path, writable []string) map[string][]string {
	ids := map[ID]string{}
	for p, info := range paths {
		if info.links > 1 && info.Kind == File && (ids[info.ID] == "" || p < ids[info.ID]) {
			ids[info.ID] = p
		}
	}
	if len(ids) == 0 {
		return nil
	}
	out := map[string][]string{}
	for _, root := range writable {
		left := sameFileLimit
		_ = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err != nil || !d.Type().IsRegular() {
				return nil // what cannot be read is not written through either
			}
			if fi, err := d.Info(); err == nil {
				if secret := ids[idOf(fi)]; secret != "" && paths[secret].Real != p {
					out[secret] = append(out[secret], p)
				}
			}
			return nil
		})
	}
	return out
}

// sameFileLimit is how many entries of a folder are looked at for other names of
// a file that has several. Such files are rare; nobody else waits.
const sameFileLimit = 200000

// look examines one path. It follows links: Real is where they lead; for a
// missing path it is the real path of the deepest folder that exists, with the
// rest appended.
func (l looker) look(p string) Path {
	if p == "/" {
		return Path{Kind: Dir, Real: "/"}
	}
	dir, base := split(p)
	parent := l.dir(dir)
	at := strings.TrimSuffix(parent.Real, "/") + "/" + base
	if parent.Kind == Missing || l.absent(dir, base) {
		return Path{Kind: Missing, Real: at, Hops: parent.Hops}
	}
	hops := parent.Hops
	fi, err := os.Lstat(at)
	if err == nil && fi.Mode()&fs.ModeSymlink != 0 {
		if more, _, ferr := follow(at); ferr == nil {
			hops = slices.Concat(hops, more)
		}
		real, lerr := filepath.EvalSymlinks(at)
		if lerr == nil {
			at = real
			fi, err = os.Lstat(real)
		} else {
			// Dangling: there is nothing to read behind it.
			if errors.Is(lerr, fs.ErrNotExist) {
				return Path{Kind: Missing, Real: at, Link: true, Hops: hops}
			}
			err = lerr
		}
	}
	switch {
	case err == nil:
		return Path{Kind: kindOf(fi.Mode()), Real: at, ID: idOf(fi), links: linksOf(fi), Hops: hops}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), len(filepath.Base(p)) > unix.NAME_MAX:
		return Path{Kind: Missing, Real: at, Hops: hops}
	default:
		return Path{Kind: Denied, Real: at, Hops: hops}
	}
}

func idOf(fi fs.FileInfo) ID {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return ID{}
	}
	return ID{uint64(st.Dev), st.Ino}
}

// linksOf returns how many names a file has.
func linksOf(fi fs.FileInfo) uint64 {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(st.Nlink)
}

func kindOf(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return File
	case m.IsDir():
		return Dir
	case m&fs.ModeSocket != 0:
		return Socket
	default:
		return Other
	}
}

// listening reads the pathname sockets that accept connections. Flag
// 00010000 is __SO_ACCEPTCON (net/unix/af_unix.c, unix_seq_show).
//
// The kernel hands a long list out in parts and finds its place again by
// counting: a socket that closes in between makes it skip one. Hence twice.
//
// near are the folders in which sockets with relative names are looked for.
//
// A table that cannot be read, or is not that table (a container's runtime covers
// files of /proc with empty ones), is an error: nobody knows what to hide then.
func listening(table string, near []string) ([]string, error) {
	data, parts, err := readParts(table)
	if err == nil && parts > 1 {
		var again []byte
		again, _, err = readParts(table)
		data = append(data, again...)
	}
	if err == nil && !bytes.HasPrefix(data, []byte("Num ")) {
		err = fmt.Errorf("%s is not the kernel's table of sockets", table)
	}
	if err != nil {
		return nil, err
	}
	var out []string
	var relative []unplaced
	sc := bufio.NewScanner(bytes.NewReader(data))
	for sc.Scan() {
		f := strings.SplitN(sc.Text(), " ", 8) // the path may hold spaces
		if len(f) < 8 || f[3] != "00010000" && f[4] != "0002" {
			continue // neither listening nor for datagrams, which need no listener
		}
		// The inode column is padded, so it is in one of the two.
		inode, rest, _ := strings.Cut(strings.TrimLeft(f[6]+" "+f[7], " "), " ")
		switch {
		case rest == "" || rest[0] == '@': // without a name, or abstract
			continue
		case rest[0] != '/':
			relative = append(relative, unplaced{inode, rest})
			continue
		}
		if real, err := filepath.EvalSymlinks(rest); err == nil {
			if fi, err := os.Lstat(real); err == nil && fi.Mode()&fs.ModeSocket != 0 {
				out = append(out, real)
			}
		}
	}
	if len(relative) > 0 {
		out = append(out, place(relative, near)...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// readParts reads a file of /proc to its end and counts the parts it came in.
func readParts(path string) (data []byte, parts int, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	buf := make([]byte, 64<<10)
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, 0, &fs.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return data, parts, nil
		default:
			data, parts = append(data, buf[:n]...), parts+1
		}
	}
}

// resolver returns the files behind /etc/resolv.conf that live below /run.
func resolver() []string {
	real, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !strings.HasPrefix(real, "/run/") {
		return nil
	}
	return []string{real}
}
