// Package clone gives a box a git directory of its own where the host's cannot be served to it (package
// share). It borrows the host's objects; both sides do not see each other until the box is gone:
//
//	c, err := clone.Open(options)     // of a folder that is empty, or kept from another run
//	report, err := c.Bring(gate)      // what a killed run left
//	lines, err := c.Make()            // c.Dir is bound over the repository in the box
//	report, err = c.Bring(gate)       // no process of the box is left
//
// A ref moves outside only where it still is what it was at the start, HEAD and the branch that is
// checked out only together with the entries of its commit in the index. What cannot move arrives as
// refs/inner/RUN/… with the words to merge it; what the gate refuses stays, and is tried again. No git
// runs over what the box wrote: it is read here, below its folder. What is staged, half done or set in
// the box stays there, but for settings of branches; a clone has one work tree and no submodules.
package clone

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/share"
	"github.com/enr/inner/profile/gitconfig"
)

// Options say what is cloned, and where. The caller sees to it that a folder has one box at a time.
type Options struct {
	Git                 string   // the host's
	Env                 []string // its environment, without variables of git
	GitDir, Common, Top string   // of the work tree, of the repository, the work tree
	Folder              string   // private, kept between runs
	Objects             string   // where the box sees the host's
	Run                 string
	Index               share.Index
	Settings            []gitconfig.Entry
	Branch              func(key string, value *string) error // sets a setting of a branch outside
}

// Clone is the git directory of a box.
type Clone struct {
	Options
	Dir, rel string   // rel is the place of GitDir in Common
	root     *os.Root // Dir
	file     string   // of the state
	was      state
	now      side // outside
}

// side is what HEAD ("ref: NAME" or an id) and refs are, outside or in the box.
type side struct {
	Head string
	Refs map[string]string
}

func (s side) tip() string {
	if name, symbolic := strings.CutPrefix(s.Head, "ref: "); symbolic {
		return s.Refs[name]
	}
	return s.Head
}

func (s side) at() string { return s.Head + " " + s.tip() }

// state is what both sides were when they agreed, and of which run. Left says that nobody has brought that.
type state struct {
	side
	Run  string
	Left bool
}

// unfinished is what git has half done; the first ones the box has of the host.
var unfinished = []string{
	"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_MODE", "MERGE_MSG", "rebase-merge", "rebase-apply", "sequencer",
	"BISECT_LOG", "BISECT_START", "BISECT_TERMS", "BISECT_NAMES", "BISECT_EXPECTED_REV", "refs/bisect",
}

// Open opens a folder for a clone, with what a run may have left there.
func Open(o Options) (*Clone, error) {
	if err := os.MkdirAll(filepath.Join(o.Folder, "git"), 0o700); err != nil {
		return nil, err
	}
	return open(o, "git", "state.json", state{})
}

func open(o Options, box, file string, s state) (c *Clone, err error) {
	c = &Clone{Options: o, Dir: filepath.Join(o.Folder, box), file: filepath.Join(o.Folder, file), was: s}
	if data, err := os.ReadFile(c.file); !errors.Is(err, fs.ErrNotExist) {
		if err = errors.Join(err, json.Unmarshal(data, &c.was)); err != nil {
			return nil, err
		}
	}
	if c.rel, err = filepath.Rel(o.Common, o.GitDir); err == nil {
		c.root, err = os.OpenRoot(c.Dir)
	}
	if err == nil {
		if info, err := c.root.Lstat("objects"); err == nil && !info.IsDir() {
			_ = c.root.Remove("objects")
		}
		err = errors.Join(c.root.MkdirAll("objects", 0o700), c.look())
	}
	return c, err
}

func (c *Clone) save() error {
	data, err := json.Marshal(c.was)
	return errors.Join(err, files.Write(c.file, data, 0o600))
}

// Close closes what Open has opened.
func (c *Clone) Close() error { return c.root.Close() }

// Make makes the clone. What the run before has half done goes on, or a line says why not.
func (c *Clone) Make() (lines []string, err error) {
	format, err := c.git("", "rev-parse", "--show-object-format")
	switch {
	case err != nil || format != "sha1":
		return nil, errors.Join(err, fmt.Errorf("inner reads no objects of the format %q", format))
	case files.Exists(filepath.Join(c.Common, "objects/info/alternates")):
		return nil, errors.New("the repository borrows objects from another one, which is not in the sandbox")
	case c.was.Left:
		return nil, errors.New("what run " + c.was.Run + " did in git is not brought over")
	}
	refs := c.refused()
	going := filepath.Join(c.Folder, "going")
	if lines = c.Unfinished(going); files.Exists(going) {
		_ = os.Rename(filepath.Join(c.Dir, c.rel, "index"), filepath.Join(going, "index"))
	}
	for _, name := range append(names(c.Dir), "objects/info") {
		if name != "objects" {
			err = errors.Join(err, copytree.Remove(filepath.Join(c.Dir, name)))
		}
	}
	c.was = state{c.now, c.Run, true}
	err = errors.Join(err, c.fill(refs))
	for _, name := range names(going) {
		to := strings.Replace(name, "bisect", "refs/bisect", 1)
		err = errors.Join(err, os.Rename(filepath.Join(going, name), filepath.Join(c.Dir, c.rel, to)))
	}
	return lines, errors.Join(err, os.RemoveAll(going), c.save())
}

func names(dir string) (out []string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// fill writes what the box gets: refs come on top of the host's.
func (c *Clone) fill(refs map[string]string) error {
	maps.Copy(refs, c.now.Refs)
	var packed strings.Builder
	packed.WriteString("# pack-refs with: sorted \n")
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		packed.WriteString(refs[name] + " " + name + "\n")
	}
	index, err := files.Read(filepath.Join(c.GitDir, "index"), files.NoLinks, maxFile)
	if err == nil {
		index, err = c.Index.Served(filepath.Join(c.rel, "index"), index)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	text := map[string][]byte{
		"packed-refs": []byte(packed.String()), "objects/info/alternates": []byte(c.Objects + "\n"),
		"refs/heads/": nil, filepath.Join(c.rel, "refs") + "/": nil,
		"config": gitconfig.File("Settings of the sandbox: inner makes them of yours.", c.Settings),
	}
	copyOf := func(dir, to string, names ...string) {
		for _, name := range names {
			text[filepath.Join(to, name)], _ = files.Read(filepath.Join(dir, name), files.NoLinks, maxFile)
		}
	}
	copyOf(c.Common, ".", "HEAD", "info/exclude", "info/attributes", "shallow", "logs/refs/stash")
	copyOf(c.GitDir, c.rel, append(unfinished[:5:5], "ORIG_HEAD", "commondir", "gitdir", "logs/HEAD")...)
	text[filepath.Join(c.rel, "HEAD")], text[filepath.Join(c.rel, "index")] = []byte(c.now.Head+"\n"), index
	for name, data := range text {
		err = errors.Join(err, c.root.MkdirAll(filepath.Dir(name), 0o700))
		if data != nil {
			err = errors.Join(err, c.root.WriteFile(name, data, 0o600))
		}
	}
	if info, errStat := os.Stat(filepath.Join(c.GitDir, "index")); errStat == nil { // git believes times that are older
		err = errors.Join(err, c.root.Chtimes(filepath.Join(c.rel, "index"), info.ModTime(), info.ModTime()))
	}
	return err
}

// Unfinished moves what is half done in the box to a private folder if HEAD outside is what it is in the box; else a
// line says that it does not go on.
func (c *Clone) Unfinished(to string) (lines []string) {
	box, _, err := c.box()
	if err == nil && box.at() != c.now.at() {
		err = errors.New("HEAD outside is another; git reflog has what was done")
	}
	for _, name := range c.halfDone() {
		errMove := err
		if err == nil {
			errMove = errors.Join(os.MkdirAll(to, 0o700), os.Rename(filepath.Join(c.Dir, c.rel, name), filepath.Join(to, filepath.Base(name))))
		}
		if errMove != nil {
			lines = append(lines, fmt.Sprintf("%s of run %s does not go on: %v", name, c.was.Run, errMove))
		}
	}
	return lines
}

// halfDone are those that only the box has.
func (c *Clone) halfDone() (list []string) {
	for _, name := range unfinished {
		if _, err := c.root.Lstat(filepath.Join(c.rel, name)); err == nil && !files.Exists(filepath.Join(c.GitDir, name)) {
			list = append(list, name)
		}
	}
	return list
}

// RunOf returns the run of the clone in a folder of a box, "" for none.
func RunOf(folder string) string {
	s, _ := readState(folder)
	return s.Run
}

// Left reports whether a run has ended without that what it did was brought.
func Left(folder string) bool {
	s, _ := readState(folder)
	return s.Left
}

func readState(folder string) (s state, err error) {
	data, err := os.ReadFile(filepath.Join(folder, "clone", "state.json"))
	if err == nil {
		return s, json.Unmarshal(data, &s)
	}
	if data, err = os.ReadFile(filepath.Join(folder, "state", "copy.json")); err == nil { // of the last version
		err = json.Unmarshal(data, &s)
	}
	return s, err
}

// OfLastVersion opens what an inner left that had an exchange with each box, in a folder below git/RUN of its home: a clone
// for each work tree, to be brought as others are.
func OfLastVersion(dir string, options func(gitDir, common, top string) Options) (list []*Clone, err error) {
	var meta struct {
		Run   string
		Units []struct {
			N           int
			Common, Box string
			Views       []struct{ Rel, Top, Head string }
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "state/copy.json"))
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	for _, u := range meta.Units {
		// The refs as both sides had them last: those of the start, and lines of what crossed since.
		base := filepath.Join(dir, fmt.Sprintf("state/refs.%d", u.N))
		packed, _ := os.ReadFile(base)
		log, _ := os.ReadFile(base + ".log")
		refs := packedRefs(string(packed))
		for line := range strings.Lines(string(log)) {
			if name, id, _ := strings.Cut(strings.TrimSpace(line), " "); refs != nil && strings.HasPrefix(name, "=") {
				if refs[name[1:]] = id; id == "" {
					delete(refs, name[1:])
				}
			}
		}
		for i, v := range u.Views {
			o := options(filepath.Join(u.Common, v.Rel), u.Common, v.Top)
			o.Folder = dir
			c, err := open(o, u.Box, fmt.Sprintf("state/clone.%d.%d", u.N, i), state{side{v.Head, refs}, meta.Run, true})
			if err != nil {
				return list, err
			}
			list = append(list, c)
		}
	}
	return list, err
}
