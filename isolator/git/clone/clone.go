// Package clone gives a box a git directory of its own where the host's cannot be served to it (package
// share). It is a folder of text; objects are the host's, and those of the box's store. Both sides do not
// see each other until the box is gone:
//
//	c := clone.Clone{Repository: r, Run: id}
//	err := c.Make(say)             // c.Folder() is bound over the repository in the box, its store over objects
//	moved, err := c.Bring(s, say)  // no process of the box is left
//
// A ref moves outside only where it still is what it was at the start, HEAD and the branch that is
// checked out only together with the entries of its commit in the index. What cannot move arrives as
// refs/inner/RUN/… with the words to merge it, and so do stashes; what the gate refuses waits for another
// Bring. No git runs over what the box wrote: it is read here, beneath its folder. What is staged or set
// in the box stays there.
package clone

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/profile/gitconfig"
)

// Clone is the git directory of one box in one run. Of those with one private folder one lives at a time.
type Clone struct {
	server.Repository
	Run string
	At  string // the box's git directory where the box had a copy of the work tree, too; "" else
}

// Folder is what the box has in the place of the repository. What is half done in it goes on in the next run.
func (c *Clone) Folder() string {
	if c.At != "" {
		return c.At
	}
	if at := kept(c.Private, c.Run); files.Exists(at) {
		return at
	}
	return filepath.Join(c.Private, "clone")
}

// kept is where the folder of a run lies that could not be read, once another run needs one.
func kept(private, run string) string { return filepath.Join(private, "clone-"+run) }

// halfDone are names of what git goes on with later, and pending of what the person does, too.
var (
	halfDone = []string{"rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG", "BISECT_START", "BISECT_TERMS", "BISECT_NAMES", "BISECT_EXPECTED_REV"}
	pending  = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"}
)

// copied are names of what the box gets as it is, in the git directory and in that of a linked worktree.
var copied = append([]string{
	"HEAD", "packed-refs", "refs", "logs", "index", "shallow", "info/exclude",
	"info/attributes", "ORIG_HEAD", "MERGE_MODE", "MERGE_MSG", "commondir", "gitdir",
}, pending...)

// Make makes the clone.
func (c *Clone) Make(say func(format string, args ...any)) error {
	for _, s := range States(c.Private) {
		if at := kept(c.Private, s.Run); s.Run != c.Run && s.Box == nil && !files.Exists(at) {
			if err := os.Rename(c.Folder(), at); err != nil {
				return err
			}
		}
	}
	g, err := gate.Open(c.Repository.Repository, say)
	if err != nil {
		return err
	}
	defer g.Close()
	had, _ := os.ReadDir(c.Folder())
	for _, e := range had {
		if !slices.Contains(halfDone, e.Name()) {
			err = errors.Join(err, copytree.Remove(filepath.Join(c.Folder(), e.Name())))
		}
	}
	c.Leave()
	settings, errSettings := c.Visible()
	config := gitconfig.File("Settings of the sandbox: inner makes them of yours.", append(settings, c.Ours...))
	err = errors.Join(err, errSettings, os.MkdirAll(filepath.Join(c.Folder(), "objects"), 0o700), os.MkdirAll(filepath.Join(c.Folder(), c.Place()), 0o700),
		os.WriteFile(filepath.Join(c.Folder(), "config"), config, 0o600), c.Fill(c.Folder()))
	for _, dir := range slices.Compact([]string{".", c.Place()}) {
		for _, name := range copied {
			_, errCopy := copytree.Copy(context.Background(), filepath.Join(c.Dir, dir, name),
				filepath.Join(c.Folder(), dir, name), copytree.Options{})
			if name == "index" && !errors.Is(errCopy, fs.ErrNotExist) { // without it git would take all for removed
				err = errors.Join(err, errCopy)
			}
		}
	}
	start, errStart := read(c.Folder(), c.Place())
	return errors.Join(err, g.ServeIn(c.Folder()), errStart,
		State{Private: c.Private, Run: c.Run, Top: c.Top, Start: start}.Write())
}

// State is what is left of a clone: a file in the private folder.
type State struct {
	Private string `json:"-"`
	Run     string
	Top     string   // the work tree
	Start   side     // what both sides were when they agreed
	Box     side     // what of the box is to come, nil for all that is in its folder
	Lines   []string // why it waits, nil before anything was tried
}

func (s State) file() string { return kept(s.Private, s.Run) + ".json" }

// Begin notes what a box begins with that has a copy of a work tree and its git directory, which is at.
func Begin(private, run, top, at string) error {
	start, err := read(at, ".")
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(private, 0o700), State{Private: private, Run: run, Top: top, Start: start}.Write())
}

// States returns those of private folders, given as a pattern.
func States(private string) (list []State) {
	names, _ := filepath.Glob(State{Private: private, Run: "*"}.file())
	for _, name := range names {
		var s State
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &s) == nil {
			s.Private = filepath.Dir(name)
			list = append(list, s)
		}
	}
	return list
}

// Settled is a file beside the folders of repositories that says that none of them has a state: a start need not look
// into each. Who writes a state takes it away before and after, and who makes it looks once more.
const Settled = ".settled"

// Write writes a state.
func (s State) Write() error {
	settled := filepath.Join(s.Private, "../..", Settled)
	data, err := json.Marshal(s)
	return errors.Join(err, os.RemoveAll(settled), files.Write(s.file(), data, 0o600), os.RemoveAll(settled))
}

// Drop removes a state, and a folder that was kept for it.
func (s State) Drop() error {
	return errors.Join(copytree.Remove(kept(s.Private, s.Run)), os.RemoveAll(s.file()))
}

// side is what HEAD ("ref: NAME" or an id) and refs are, outside or in the box.
type side map[string]string

func (s side) tip() string {
	if name, symbolic := strings.CutPrefix(s["HEAD"], "ref: "); symbolic {
		return s[name]
	}
	return s["HEAD"]
}

func (s side) at() string { return s["HEAD"] + " " + s.tip() }

// read reads HEAD, the refs and the stashes of a git directory, beneath it and through no link. What cannot be
// read has a value that is not git's.
func read(dir, tree string) (side, error) {
	root, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	plain := func(name string, limit int64) (string, error) {
		text, err := copytree.Read(int(root.Fd()), name, limit)
		return string(text), err
	}
	head, errHead := plain(filepath.Join(tree, "HEAD"), maxRef)
	packed, errPacked := plain("packed-refs", maxFile)
	if errors.Is(errPacked, fs.ErrNotExist) {
		errPacked = nil
	}
	refs, seen := side{}, int64(0)
	lines, errRefs := gate.Packed(packed)
	for name, line := range lines {
		refs[name] = line[:len(nothing)]
	}
	err = copytree.Walk(dir, []string{"refs"}, func(name string, st unix.Stat_t) bool {
		if st.Mode&unix.S_IFMT == unix.S_IFDIR { // it is read as a whole
			seen += st.Size
			return seen <= maxFile
		}
		if text, err := plain(name, maxRef); err != nil {
			refs[name] = err.Error()
		} else if !strings.HasSuffix(name, ".lock") {
			refs[name] = strings.TrimSuffix(text, "\n")
		}
		return false
	})
	if seen > maxFile {
		err = errors.New("more refs than inner reads")
	}
	log, _ := plain("logs/refs/stash", maxFile)
	for _, name := range []string{"MERGE_AUTOSTASH", "rebase-merge/autostash", "rebase-apply/autostash"} {
		id, _ := plain(filepath.Join(tree, name), maxRef)
		log += "\n" + nothing + " " + strings.TrimSpace(id) + " put aside"
	}
	for _, m := range stashLine().FindAllStringSubmatch(log, maxTries) {
		refs["stash/"+m[1]] = m[1]
	}
	refs["HEAD"] = strings.TrimSuffix(head, "\n")
	return refs, errors.Join(err, errHead, errPacked, errRefs)
}

var stashLine = lazy.Regexp(`(?m)^[0-9a-f]{40} ([0-9a-f]{40}) .*$`)
