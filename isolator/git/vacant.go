package git

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// An index can name other repositories (gitlinks), which git enters by itself. Where nothing is there, as with a submodule
// that was not initialised, a box could make a repository, and `git status` outside would run what it says. So in the box
// such a place is an empty folder of the copy. What it holds in the end goes to the host, without the repository.

// maxVacant is the most of them in one work tree: each is a mount.
const maxVacant = 200

// vacancy is such a place.
type vacancy struct {
	Top, Path string
	Made      bool // the host's folder was made for this run
}

// Gitlinks returns the places below the top of a work tree in which git looks for another repository, however deep: those in
// which it finds none, and those in which one is.
func Gitlinks(r *Repo) (vacant, there []string, err error) {
	dir, err := openFolder(r.Dir)
	if err != nil {
		return nil, nil, err
	}
	defer dir.close()
	return gitlinksOf(dir, r.Top, r.Digits)
}

func gitlinksOf(dir *folder, tree string, digits int) (vacant, there []string, err error) {
	list, err := dir.list(".", maxFiles)
	if err != nil {
		return nil, nil, err
	}
	var out []string
	for _, e := range list {
		if e.Name() != "index" && !strings.HasPrefix(e.Name(), "sharedindex.") || !e.Type().IsRegular() {
			continue
		}
		text, err := dir.readText(e.Name())
		if err != nil {
			return nil, nil, err
		}
		links, err := gitlinksIn(text, digits/2)
		if err != nil {
			return nil, nil, unfit(e.Name() + " cannot be read: " + err.Error())
		}
		out = append(out, links...)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	top, err := openPath(tree, unix.O_PATH)
	if err != nil {
		return nil, nil, nil // no files, nothing to enter
	}
	defer top.close()
	for _, p := range out {
		switch {
		case treePath(p) != "":
		case top.has(p + "/.git"):
			there = append(there, p)
		default:
			vacant = append(vacant, p)
		}
	}
	if len(vacant) > maxVacant {
		return nil, nil, unfit(fmt.Sprintf("it has more than %d submodules that are not initialised", maxVacant))
	}
	return vacant, there, nil
}

// gitlinksIn returns the paths of gitlinks in an index of any form. It looks at the entries only if there is one.
func gitlinksIn(text string, hashLen int) (out []string, err error) {
	if !strings.Contains(text, "\x00\x00\xe0\x00") {
		return nil, nil
	}
	r, count, err := newIndexReader(strings.NewReader(text), hashLen)
	if err != nil {
		return nil, err
	}
	for range count {
		e, err := r.next()
		if err != nil && !errors.Is(err, errIndexForm) { // a folder that stands for what is in it has no gitlinks
			return nil, err
		}
		if e.mode == modeGitlink {
			out = append(out, string(e.name))
		}
	}
	return out, nil
}

// vacancies gives the box folders of its own for these places of a work tree.
func (s *stager) vacancies(v *view) error {
	dir, err := s.from.sub(orSelf(v.Rel))
	if err != nil {
		return err
	}
	defer dir.close()
	list, _, err := gitlinksOf(dir, v.Top, s.unit.Digits)
	if err != nil || len(list) == 0 {
		return err
	}
	top, err := openFolder(v.Top)
	if err != nil {
		return err
	}
	defer top.close()
	top.host = true
	for _, p := range list {
		if !s.writable(filepath.Join(v.Top, p)) {
			continue
		}
		if err := s.vacancy(top, vacancy{Top: v.Top, Path: p}); err != nil {
			return err
		}
	}
	return nil
}

func (s *stager) vacancy(top *folder, v vacancy) error {
	c, at := s.copy, filepath.Join(v.Top, v.Path)
	if _, err := top.stat(v.Path); errors.Is(err, fs.ErrNotExist) {
		if err := top.mkdir(v.Path); err != nil {
			return err
		}
		v.Made = true
	}
	if !top.isDir(v.Path) { // a file is no repository, and stays one
		c.show(at, at)
		return nil
	}
	rel := c.meta.vacant(len(c.meta.Vacant))
	c.Mounts = append(c.Mounts, Mount{Source: filepath.Join(c.path, rel), Dest: at, Write: true})
	c.meta.Vacant = append(c.meta.Vacant, v)
	return c.dir.mkdir(rel)
}

func (meta) vacant(i int) string { return fmt.Sprintf("vacant/%d", i) }

// Settle moves what the box has made in vacancies into the host's work tree, without the repositories in it. Call it when the
// box is gone, before what it left is inspected. What cannot be moved stays in the copy.
func (c *Copy) Settle() {
	for i, v := range c.meta.Vacant {
		if err := c.settle(c.meta.vacant(i), v); err != nil {
			c.unsettled = append(c.unsettled, fmt.Sprintf("what the box has in %s is in %s: %v", filepath.Join(v.Top, v.Path), filepath.Join(c.path, c.meta.vacant(i)), err))
		}
	}
	c.settled = true
}

func (c *Copy) settle(rel string, v vacancy) error {
	from, err := c.dir.sub(rel)
	if err != nil {
		return err
	}
	defer from.close()
	list, err := from.list(".", maxFiles)
	if err != nil {
		return err
	}
	top, err := openFolder(v.Top)
	if err != nil {
		return err
	}
	defer top.close()
	if len(list) == 0 {
		if v.Made { // others may have put something there
			_ = top.rmdir(v.Path)
		}
		return nil
	}
	to, err := top.sub(v.Path)
	if err != nil {
		return err
	}
	defer to.close()
	var fault error
	for _, e := range list {
		switch {
		case e.Name() == ".git" && !e.IsDir(): // it leads to a git directory of the box's
		case treePath(e.Name()) != "":
			fault = cmp.Or(fault, errors.New("there is a repository in it"))
		default:
			fault = cmp.Or(fault, unix.Renameat2(from.fd, e.Name(), to.fd, e.Name(), unix.RENAME_NOREPLACE))
		}
	}
	return fault
}

// unsettledLines says what is still in the copy and nowhere else.
func (c *Copy) unsettledLines() []string {
	if c.settled {
		return c.unsettled
	}
	var out []string
	for i, v := range c.meta.Vacant {
		if list, err := c.dir.list(c.meta.vacant(i), maxFiles); err != nil || len(list) > 0 {
			out = append(out, fmt.Sprintf("what the box had in %s is in %s", filepath.Join(v.Top, v.Path), filepath.Join(c.path, c.meta.vacant(i))))
		}
	}
	return out
}
