// Package back takes runs back, by what package undo keeps of them.
//
//	b, err := back.Of(run, folder, id) // what is to be written
//	done, err := b.Apply(ctx, refs, review.Apply)
package back

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/undo"
)

// Tops are the projects below INNER_HOME of which states are kept.
func Tops(innerHome string) (list []string) {
	names, _ := filepath.Glob(filepath.Join(ownhome.Base(innerHome), "*@undo"))
	for _, name := range names {
		if rec, err := ownhome.ReadRecord(name); err == nil && rec.Undo {
			list = append(list, rec.Project)
		}
	}
	return list
}

// Runs returns the runs of a project, the oldest first, but for those that go on, and those that cannot be read
// as errors. What runs whose end nobody saw have changed is looked at now.
func Runs(ctx context.Context, p undo.Project) (list []*undo.Run, err error) {
	if files.Exists(p.Top) {
		err = p.Settle(ctx)
	}
	names, _ := filepath.Glob(filepath.Join(p.Dir(), "*.json"))
	for _, name := range names {
		r, errRead := p.Read(strings.TrimSuffix(filepath.Base(name), ".json"))
		switch {
		case errRead != nil:
			err = errors.Join(err, errRead)
		case !r.Ended.IsZero() || r.Undoes != "":
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(x, y *undo.Run) int { return x.Begun.Compare(y.Begun) }) // the end of an id is random
	return list, err
}

// Last is the last of some runs that is not taken back, or nil. One that was, and whose undo was taken back or did
// not come to its end, is there again.
func Last(list []*undo.Run) *undo.Run {
	gone := map[string]bool{}
	for _, r := range slices.Backward(list) {
		switch {
		case gone[r.Run]:
		case r.Undoes == "":
			return r
		case !r.Ended.IsZero():
			gone[r.Undoes] = true
		}
	}
	return nil
}

// Changes are the changes of a run as package changes has them. Files of the two states are nowhere.
func Changes(r *undo.Run) (list []changes.Change) {
	top := string(r.Top)
	for _, c := range r.Changes {
		kind := cmp.Or(changes.KindOf(c.Before.Mode, c.After.Mode, c.Before.ID == c.After.ID), changes.Mode) // of a folder it may be another bit
		list = append(list, changes.Change{Source: top, Path: string(c.Path), Root: top, Old: c.Before.Mode, New: c.After.Mode, Kind: kind})
	}
	return list
}

// Undo is what takes a run back. It is a run itself, whose changes are those that are to be made: so an undo can be
// undone.
type Undo struct {
	*undo.Run
	Stays []string `json:"stays,omitempty"` // what somebody changed after the run, and what is not kept any more, with the reason behind a tab
	dir   string
	now   []copytree.State // of the changed paths
}

// Of compares a run with the project as it is, and lays out below a private folder what was before. A path that is
// not what the run left stays, and is named. name is that of the undo, the id of no other run.
func Of(r *undo.Run, dir, name string) (*Undo, error) {
	p := r.Project
	s, h, err := p.Locked(context.Background())
	if err != nil {
		return nil, err
	}
	defer h.Close()
	top, err := changes.OpenDir(p.Top)
	if err != nil {
		return nil, err
	}
	defer unix.Close(top)
	b := &Undo{dir: dir, Run: &undo.Run{About: undo.About{Run: name, Undoes: r.Run}, Top: r.Top, Begun: time.Now(), Project: p}}
	is, with := map[undo.Path]undo.Entry{}, map[index.ID][]undo.Change{}
	for _, c := range r.Changes {
		is[c.Path] = s.At(top, string(c.Path))
		switch now := undo.StateOf(is[c.Path]); {
		case unknown(now):
			b.stays(c, "is not kept as it is now")
		case now == c.Before: // it is back already
		case now == c.After, now == undo.State{} && unknown(c.After), // what was there in between is removed
			now.Mode.IsDir() && now.Mode == c.After.Mode|0o700: // an undo that was killed opened it
			b.Changes = append(b.Changes, undo.Change{Path: c.Path, Before: now, After: c.Before})
			if id, ok := c.Before.BlobID(); ok {
				with[id] = append(with[id], c)
			}
		default:
			b.stays(c, "was changed after the run")
		}
	}
	root := filepath.Join(dir, changes.TreeName(0))
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, err
	}
	err = s.Get(slices.Collect(maps.Keys(with)), func(id index.ID, data []byte) error {
		for _, c := range with[id] {
			if err := lay(root, c, data); err != nil {
				return err
			}
		}
		delete(with, id)
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.Changes = slices.DeleteFunc(b.Changes, func(c undo.Change) bool {
		switch id, _ := c.After.BlobID(); {
		case unknown(c.After):
			return b.stays(c, "is not kept")
		case with[id] != nil:
			return b.stays(c, "is not kept any more")
		}
		return false
	})
	b.place(top)
	slices.Sort(b.Stays)
	for _, c := range b.Changes {
		b.now = append(b.now, is[c.Path].State)
	}
	return b, b.Store(s)
}

// stays notes that a path stays, and why.
func (b *Undo) stays(c undo.Change, why string) bool {
	b.Stays = append(b.Stays, string(c.Path)+"\t"+why)
	return true
}

// place has those changes stay that have no place: of a folder that holds something else, and of what is in a folder
// that is none now.
func (b *Undo) place(top int) {
	gone, comes, folder := map[string]bool{}, map[string]bool{}, map[string]bool{".": true}
	slices.Reverse(b.Changes) // what is in a folder comes before it
	b.Changes = slices.DeleteFunc(b.Changes, func(c undo.Change) bool {
		if c.Before.Mode.IsDir() && !c.After.Mode.IsDir() {
			var names []string
			if f, err := copytree.List(top, string(c.Path)); err == nil {
				names, _ = f.Readdirnames(-1)
				f.Close()
			}
			if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, ".git") }) {
				return b.stays(c, "holds a .git, which is not kept")
			}
			if slices.ContainsFunc(names, func(name string) bool { return !gone[path.Join(string(c.Path), name)] }) {
				return b.stays(c, "holds what is not the run's, or is not kept")
			}
		}
		gone[string(c.Path)], comes[string(c.Path)] = c.After.Mode == 0, c.After.Mode != 0
		return false
	})
	slices.Reverse(b.Changes)
	made := map[string]bool{}
	b.Changes = slices.DeleteFunc(b.Changes, func(c undo.Change) bool {
		up := path.Dir(string(c.Path))
		if comes[string(c.Path)] && !made[up] && completes(top, string(c.Path), comes) {
			return b.stays(c, "would make a repository of git of its folder")
		}
		if _, known := folder[up]; !known {
			st, err := copytree.Lstat(top, up)
			folder[up] = err == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
		}
		if c.After.Mode != 0 && !folder[up] {
			return b.stays(c, "has no folder any more")
		}
		folder[string(c.Path)] = c.After.Mode.IsDir()
		made[string(c.Path)] = c.After.Mode.IsDir() && !c.Before.Mode.IsDir()
		return false
	})
}

// completes reports whether a folder that is there may be a repository of git with what comes to a path. Its
// settings may be a box's, from when they were none's.
func completes(top int, rel string, comes map[string]bool) bool {
	dir, name := path.Split(rel)
	marks, others := []string{"HEAD", "objects", "refs", "commondir"}, 0
	for _, mark := range marks {
		if _, err := copytree.Lstat(top, dir+mark); mark != name && (err == nil || comes[dir+mark]) {
			others++
		}
	}
	return others > 0 && slices.Contains(marks, name)
}

// lay writes what a path was below root.
func lay(root string, c undo.Change, data []byte) error {
	at := filepath.Join(root, string(c.Path))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	if c.Before.Mode&fs.ModeSymlink != 0 {
		return os.Symlink(string(data), at)
	}
	return os.WriteFile(at, data, 0o600)
}

// Drop lets go of an undo that is not to be.
func (b *Undo) Drop() {
	_ = b.Remove()
}

// Apply takes the run back, by what writes changes to their originals. It is written down before: of one that is killed
// in the middle all that it did can be undone, and the same undo again does the rest. With refs these get
// their old values, too.
func (b *Undo) Apply(ctx context.Context, refs []undo.Ref, apply func(context.Context, *changes.Kept, []changes.Change) ([]changes.Change, error)) (done []changes.Change, err error) {
	_, h, err := b.Project.Locked(ctx) // no run begins meanwhile
	if err != nil {
		return nil, err
	}
	defer h.Close()
	b.Head = b.Project.Head()
	for _, r := range refs {
		b.Refs = append(b.Refs, undo.Ref{Name: r.Name, Old: r.New, New: r.Old})
		if r.Name == "HEAD" {
			b.Head = r.Old
		}
	}
	if err := b.Write(); err != nil {
		return nil, err
	}
	list := Changes(b.Run)
	for i := range list {
		list[i].Tree, list[i].Current = filepath.Join(b.dir, changes.TreeName(0)), b.now[i]
	}
	kept := &changes.Kept{Dir: b.dir, Record: changes.Record{Run: b.Run.Run, Begun: b.Begun}}
	if done, err = apply(ctx, kept, list); err == nil && len(refs) > 0 {
		err = setRefs(b.Project, refs)
	}
	if err != nil {
		return done, err
	}
	b.Ended = time.Now()
	return done, b.Write()
}

// Diff is what a run changed of files and links, as git diff prints it with these options; of all of it, or of
// the paths alone.
func Diff(r *undo.Run, options []string, paths ...string) ([]byte, error) {
	ref := "refs/inner/" + r.Run
	args := append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-renames"}, options...)
	return r.Project.Store().Command(append(append(args, ref+"^", ref, "--"), paths...)...).Output()
}

// unknown reports whether the content is not known of what has one: then nobody may take it for another.
func unknown(st undo.State) bool { return st.Mode != 0 && !st.Mode.IsDir() && st.ID == "" }

// there splits a value in what the repository has, and the ids that it does not have any more.
func there(p undo.Project, value string) (has string, gone []string) {
	entries := strings.Split(value, "\n")
	entries = slices.DeleteFunc(entries, func(entry string) bool {
		id, _, _ := strings.Cut(entry, " ")
		if id == "" || id == "ref:" {
			return false
		}
		_, err := p.InGit(program.Soon, "", "cat-file", "-e", id)
		if err != nil {
			gone = append(gone, id)
		}
		return err != nil
	})
	return strings.Join(entries, "\n"), gone
}

// Standing returns the refs that are as the run left them, and in words those that cannot come back: somebody has moved
// them since, or what they named is gone, or they are checked out. Those that are back already are in neither.
func Standing(r *undo.Run) (list []undo.Ref, stays []string) {
	if len(r.Refs) == 0 {
		return nil, nil
	}
	now := map[undo.Path]undo.Ref{}
	for _, ref := range r.Project.Refs(true) {
		now[ref.Name] = ref
	}
	head := now["HEAD"].Old
	if head == "" {
		return nil, []string{"refs\tgit does not say what they are"}
	}
	say := func(name undo.Path, why string, args ...any) {
		stays = append(stays, string(name)+"\t"+fmt.Sprintf(why, args...))
	}
	elsewhere := head != r.Head  // the branch of HEAD moves only with a HEAD that is as before the run, too
	for _, ref := range r.Refs { // HEAD is the first
		is, at := now[ref.Name].Old, now[ref.Name].At
		was, _, _ := strings.Cut(cmp.Or(ref.Old, "not there"), "\n") // of the stash the newest
		if ref.Name == "refs/stash" {
			was, _, _ = strings.Cut(was, " ")
		}
		if is == ref.Old {
			elsewhere = elsewhere && ref.Name != "HEAD"
			continue
		}
		if is != ref.New {
			say(ref.Name, "somebody moved it after the run; it was %s", was)
			continue
		}
		has, gone := there(r.Project, ref.Old)
		for _, id := range gone {
			say(ref.Name, "was %s, which the repository does not have any more", id)
		}
		ref.Old = has
		switch {
		case len(gone) > 0 && (has == "" || has == is):
			elsewhere = elsewhere || ref.Name == "HEAD"
		case at != "" && (elsewhere || head != "ref: "+string(ref.Name)):
			say(ref.Name, "is checked out in %s; it was %s", at, was)
		default:
			list = append(list, ref)
		}
	}
	if slices.ContainsFunc(list, movesHead) && !follows(r.Project) {
		say("index", "has more than the commit that HEAD names: git reset puts that aside")
	}
	return list, stays
}

// follows reports whether the index has just what HEAD has, and so may get what HEAD has then: what somebody
// has added stays there.
func follows(p undo.Project) bool {
	_, err := p.InGit(program.Soon, "", "diff-index", "--cached", "--quiet", "HEAD", "--")
	return err == nil
}

func movesHead(r undo.Ref) bool {
	return r.Name == "HEAD" || strings.HasPrefix(string(r.Name), "refs/heads/")
}

// alone reports whether a ref goes into no transaction: one that leads, or led, to another, and the stash,
// which is its log.
func alone(r undo.Ref) bool {
	return r.Name == "HEAD" || r.Name == "refs/stash" || strings.HasPrefix(r.Old, "ref: ") || strings.HasPrefix(r.New, "ref: ")
}

// setRefs gives refs their old values again, in one transaction but for those that lead to others. No hook runs.
func setRefs(p undo.Project, list []undo.Ref) (err error) {
	git := func(stdin string, args ...string) error {
		if err == nil {
			_, err = p.InGit(time.Hour, stdin, args...) // what is half done is worse
		}
		return err
	}
	follows := slices.ContainsFunc(list, movesHead) && follows(p)
	transact := func(which func(undo.Ref) bool) error {
		words := "start\x00"
		for _, r := range list {
			if !alone(r) && which(r) {
				none := strings.Repeat("0", max(len(r.Old), len(r.New)))
				words += fmt.Sprintf("option no-deref\x00update %s\x00%s\x00%s\x00", r.Name, cmp.Or(r.Old, none), cmp.Or(r.New, none))
			}
		}
		return git(words+"prepare\x00commit\x00", "update-ref", "--stdin", "-z", "-m", "inner undo")
	}
	if transact(func(undo.Ref) bool { return true }) != nil { // a/b may have come to the place of a
		err = nil
		_ = transact(func(r undo.Ref) bool { return r.Old == "" })
		_ = transact(func(r undo.Ref) bool { return r.Old != "" })
	}
	for _, r := range list {
		to, symbolic := strings.CutPrefix(r.Old, "ref: refs/")
		switch name := string(r.Name); {
		case !alone(r):
		case symbolic:
			_ = git("", "symbolic-ref", "-m", "inner undo", name, "refs/"+to)
		case name == "refs/stash":
			if is := strings.Fields(r.New); len(is) > 0 {
				args := []string{"update-ref", "--no-deref", "-d", name}
				if is[0] != "ref:" {
					args = append(args, is[0]) // none that came meanwhile goes
				}
				_ = git("", args...)
			}
			entries := strings.FieldsFunc(r.Old, func(c rune) bool { return c == '\n' })
			for _, entry := range slices.Backward(entries) { // as git stash store does, which asks for a work tree
				id, msg, _ := strings.Cut(entry, " ")
				_ = git("", "update-ref", "--create-reflog", "-m", cmp.Or(msg, "inner undo"), name, id)
			}
		case r.Old == "":
			_ = git("", "symbolic-ref", "-d", name)
		default:
			_ = git("", "update-ref", "--no-deref", "-m", "inner undo", name, r.Old)
		}
	}
	if _, errNone := p.InGit(program.Soon, "", "rev-parse", "--quiet", "--verify", "HEAD"); follows && errNone == nil {
		_ = git("", "read-tree", "-m", "HEAD")
	}
	return err
}
