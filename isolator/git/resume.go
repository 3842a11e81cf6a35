package git

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// operations lists what a box can begin in a work tree and leave unfinished: the file or folder that git has meanwhile,
// and what a person calls the operation.
func operations() [][2]string {
	return [][2]string{{"rebase-merge", "rebase"}, {"rebase-apply", "rebase or series of patches"}, {"sequencer", "series of picks"}, {"BISECT_LOG", "bisection"}}
}

// begun returns the unfinished operation that the box began, and the one that the host had begun before; "" for none.
func (v *view) begun(box *folder) (own, hosts string) {
	for _, op := range operations() {
		switch {
		case !box.has(v.file(op[0])):
		case v.Busy[op[0]] || v.Merge[op[0]] != "":
			hosts = op[1]
		default:
			own = op[1]
		}
	}
	return own, hosts
}

// Resumed is an operation that another box left unfinished.
type Resumed struct {
	Top  string
	What string // such as "rebase"
	Why  string // why it is not continued; "" when it is
}

// Resume brings what an earlier run left unfinished into a copy that was just staged: HEAD and index, the state of the
// operation, and the objects of that box. It does so for work trees in which the host has moved nothing since. all
// reports that the other copy is not needed any more and may be removed.
func (c *Copy) Resume(dir string) (list []Resumed, all bool, err error) {
	old, err := Reopen(dir, nil)
	if err != nil {
		if errors.Is(err, errBusy) || errors.Is(err, fs.ErrNotExist) {
			err = nil // another run takes it, or has taken it
		}
		return nil, false, err
	}
	defer old.Close()
	all = !old.meta.Waits
	for _, was := range old.meta.Units {
		i := slices.IndexFunc(c.meta.Units, func(u *unit) bool { return u.Common == was.Common && u.Dev == was.Dev && u.Ino == was.Ino })
		found, elsewhere, err := c.resumeUnit(old, was, i)
		if err != nil {
			return list, false, err
		}
		list = append(list, found...)
		all = all && !elsewhere && !slices.ContainsFunc(found, func(r Resumed) bool { return r.Why != "" })
	}
	if len(list) == 0 || !slices.ContainsFunc(list, func(r Resumed) bool { return r.Why == "" }) {
		return list, false, nil
	}
	c.meta.Resumed = true
	if err := errors.Join(c.save(), unix.Syncfs(c.state.fd)); err != nil {
		return list, false, err
	}
	return list, all, nil
}

// resumeUnit does that for one repository, which is unit i of this copy, or none of its units for -1: then elsewhere
// reports whether there is something for another run.
func (c *Copy) resumeUnit(old *Copy, was *unit, i int) (list []Resumed, elsewhere bool, err error) {
	from, err := old.dir.sub(was.Box)
	if err != nil {
		return nil, false, err
	}
	defer from.close()
	var r *resumer
	for _, v := range was.Views {
		what, _ := v.begun(from)
		if what == "" {
			continue
		}
		if i < 0 {
			return nil, true, nil
		}
		if r == nil {
			if r, err = c.newResumer(old, was, c.meta.Units[i], from); err != nil {
				return nil, false, err
			}
			defer r.to.close()
		}
		one := Resumed{Top: v.Top, What: what}
		// A rebase can have lines that git runs, and git trusts the indexes of packs. So what one box leaves continues only
		// with the same profile and grants.
		switch {
		case old.meta.Profile != c.meta.Profile:
			one.Why = "it is of the profile " + plainText(old.meta.Profile, 200)
		case old.meta.Grants != c.meta.Grants:
			one.Why = "that run had other grants (folders, network, variables): run it with the same"
		default:
			if one.Why = r.view(v); one.Why == "" {
				err = r.objects()
			}
		}
		if err != nil {
			return nil, false, err
		}
		list = append(list, one)
	}
	return list, false, nil
}

// resumer carries one repository of a box over to another box.
type resumer struct {
	c, old    *Copy
	u, was    *unit
	from, to  *folder
	base      refs // of the host when that box and the host last agreed
	refs, now refSet
	stored    bool
}

func (c *Copy) newResumer(old *Copy, was, u *unit, from *folder) (*resumer, error) {
	to, err := c.dir.sub(u.Box)
	if err != nil {
		return nil, err
	}
	r := &resumer{c: c, old: old, u: u, was: was, from: from, to: to}
	b, err := old.loadBase(was)
	if err == nil {
		b.log.Close()
		r.base = b.refs
		r.refs, err = readRefs(from, u.Digits, &packed{})
	}
	if err == nil {
		r.now, err = readRefs(to, u.Digits, &packed{})
	}
	if err != nil {
		to.close()
		return nil, err
	}
	return r, nil
}

// view takes over the state of a work tree, and returns why it does not, or "".
func (r *resumer) view(was *view) string {
	i := slices.IndexFunc(r.u.Views, func(v *view) bool { return v.Rel == was.Rel && v.Top == was.Top })
	if i < 0 {
		return "this box does not have that work tree"
	}
	v := r.u.Views[i]
	if why := r.moved(was, v); why != "" {
		return why + " outside since"
	}
	head, err := r.from.read(v.file("HEAD"), maxLoose)
	if err != nil || headValue(head, r.u.Digits) == "" {
		return "its HEAD says nothing that git understands"
	}
	if err := r.state(v); err != nil {
		return "its state is not what git writes: " + err.Error()
	}
	return ""
}

// moved says what has changed on the host since the other box had it, or "".
func (r *resumer) moved(was, v *view) string {
	branch := ""
	for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name"} {
		if data, err := r.from.read(was.file(name), maxLoose); err == nil {
			branch = strings.TrimSpace(string(data))
		}
	}
	digest := func(c *Copy, u *unit, v *view) string {
		if v.Index != "" {
			return v.Index
		}
		ix, _ := readIndex(c.state, baseIndexName(u, v), u.Digits/2)
		return orNone(ix.digest())
	}
	switch {
	case was.Head != v.Head, resolve(was.Head, r.base) != resolve(v.Head, r.now.refs):
		return "HEAD was moved"
	case r.base[branch] != r.now.refs[branch]:
		return plainText(branch, 200) + " was moved"
	case was.HostFile != v.HostFile && digest(r.old, r.was, was) != digest(r.c, r.u, v):
		return "the index was changed"
	}
	for _, name := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if was.Merge[name] != v.Merge[name] {
			return name + " was changed"
		}
	}
	if len(v.Busy) > len(was.Busy) {
		return "another operation was begun"
	}
	return ""
}

// state copies HEAD, index, the files that git writes in capitals, the folders of operations, and
// the refs that belong to them.
func (r *resumer) state(v *view) error {
	list, err := r.from.list(orSelf(v.Rel), maxFiles)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := r.stateFile(v, e); err != nil {
			return err
		}
	}
	v.BoxFile = ""
	if log := v.file("logs/HEAD"); r.from.has(log) {
		if err := errors.Join(r.to.mkdir(v.file("logs")), r.copy(log, maxLog)); err != nil {
			return err
		}
	}
	if v.Rel != "" {
		return nil
	}
	return r.worktreeRefs()
}

// stateFile copies one of these files or folders.
func (r *resumer) stateFile(v *view, e fs.DirEntry) error {
	name := v.file(e.Name())
	switch {
	case e.Name() == "index":
		return r.copy(name, maxText)
	case e.Type().IsRegular() && strings.Trim(e.Name(), "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "":
		return r.copy(name, maxSmall)
	case e.IsDir() && slices.Contains(busyFolders(), e.Name()), e.IsDir() && v.Rel != "" && e.Name() == "refs":
		return r.copyFolder(name)
	}
	return nil
}

// copy puts a file of the old box's git directory in the place of the new one's.
func (r *resumer) copy(name string, most int64) error {
	if err := r.to.remove(name); err != nil {
		return err
	}
	_, err := r.from.copyFile(name, r.to, name, most, 0o600)
	return err
}

// copyFolder does that for a folder with all that is in it.
func (r *resumer) copyFolder(name string) error {
	if r.to.isDir(name) {
		if err := r.to.removeTree(name); err != nil {
			return err
		}
	}
	return r.from.copyTree(name, r.to, maxFiles, func(name string) error { return r.copy(name, maxSmall) })
}

// worktreeRefs writes the refs that belong to the main worktree alone.
func (r *resumer) worktreeRefs() error {
	for name, value := range r.refs.refs {
		if !hasPrefix(name, worktreeRefs()...) {
			continue
		}
		err := r.to.mkdir(path.Dir(name))
		if err == nil {
			err = r.to.replace(name, name+".new", []byte(value+"\n"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// objects gives the new box hard links to the objects that the other one had stored.
func (r *resumer) objects() error {
	if r.stored {
		return nil
	}
	r.stored = true
	from, err := r.from.sub("objects")
	if err != nil {
		return err
	}
	defer from.close()
	to, err := r.to.sub("objects")
	if err != nil {
		return err
	}
	defer to.close()
	held, err := hold(from, to)
	if err == nil && !held {
		err = fmt.Errorf("%s: its objects could not be linked", r.old.path)
	}
	return err
}

// Resumes reports whether a copy has taken over the unfinished work of an earlier one: a run that does not start must
// not lose that.
func (c *Copy) Resumes() bool { return c.meta.Resumed }
