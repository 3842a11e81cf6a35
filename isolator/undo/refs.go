package undo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/helper"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/git/program"
)

// Path is a name of any bytes.
type Path = changes.Path

// Ref is a ref of the project's repository, or HEAD. Its values are an id, or "ref: NAME" when it leads to another one. That of
// the stash is its log, a line of id and message for each entry, the newest first. What is empty was not there.
type Ref struct {
	Name Path   `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
}

// refs are the refs as they are, by their names; none where that cannot be known.
func (p Project) refs() (list []Ref) {
	if p.GitDir == "" {
		return nil
	}
	head := p.head()
	if head == "" {
		return nil
	}
	cmd := program.Command(p.Git, "--git-dir="+p.GitDir, "for-each-ref", "--format=%(objectname) %(refname) %(symref)")
	out, _, err := helper.Ask(10*time.Second, cmd.Env, cmd.Path, cmd.Args[1:]...)
	if err != nil {
		return nil
	}
	list = []Ref{{Name: "HEAD", Old: head}}
	for line := range strings.Lines(out) {
		part := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		if len(part) != 3 {
			return nil
		}
		if part[2] != "" {
			part[0] = "ref: " + part[2]
		}
		if part[1] == "refs/stash" {
			part[0] = p.stash(part[0])
		}
		list = append(list, Ref{Name: Path(part[1]), Old: part[0]})
	}
	return list
}

// stash is the value of the stash: its id alone where its log is not to be read, or is no log of it.
func (p Project) stash(id string) string {
	log, _ := files.Read(filepath.Join(p.GitDir, "logs", "refs", "stash"), files.NoLinks, 1<<20)
	var entries []string
	for line := range strings.Lines(strings.ToValidUTF8(string(log), "?")) {
		entry, msg, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		part := strings.Split(entry, " ") // what was before, and what is
		if len(part) < 2 || len(part[1]) != len(id) || strings.Trim(part[1], "0123456789abcdef") != "" || strings.Contains(msg, "\x00") {
			return id
		}
		entries = append(entries, strings.TrimSpace(part[1]+" "+msg))
	}
	slices.Reverse(entries)
	if len(entries) == 0 || !strings.HasPrefix(entries[0], id) {
		return id
	}
	return strings.Join(entries, "\n")
}

// there splits a value in what the repository has, and the ids that it does not have any more.
func (p Project) there(value string) (has string, gone []string) {
	if value == "" || strings.HasPrefix(value, "ref: ") {
		return value, nil
	}
	entries := strings.Split(value, "\n")
	entries = slices.DeleteFunc(entries, func(entry string) bool {
		id, _, _ := strings.Cut(entry, " ")
		if program.Command(p.Git, "--git-dir="+p.GitDir, "cat-file", "-e", id).Run() == nil {
			return false
		}
		gone = append(gone, id)
		return true
	})
	return strings.Join(entries, "\n"), gone
}

// head is the value of HEAD, "" where that cannot be known. It is no FIFO, at which git would wait.
func (p Project) head() string {
	if p.GitDir == "" {
		return ""
	}
	head, _ := files.Read(filepath.Join(p.GitDir, "HEAD"), files.FollowLinks, 4096)
	return strings.TrimSpace(string(head))
}

// checkedOut are the branches that are checked out in some work tree, with its folder.
func (p Project) checkedOut() (map[Path]string, error) {
	cmd := program.Command(p.Git, "--git-dir="+p.GitDir, "for-each-ref", "--format=%(refname) %(worktreepath)", "refs/heads")
	out, _, err := helper.Ask(10*time.Second, cmd.Env, cmd.Path, cmd.Args[1:]...)
	at := map[Path]string{}
	for line := range strings.Lines(out) {
		if name, dir, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); dir != "" {
			at[Path(name)] = dir
		}
	}
	return at, err
}

// moved are those that differ between two times; none when one of them is not known.
func moved(before, after []Ref) (list []Ref) {
	if before == nil || after == nil {
		return nil
	}
	now := map[Path]string{}
	for _, r := range after {
		now[r.Name] = r.Old
	}
	for _, r := range before {
		if r.New = now[r.Name]; r.New != r.Old {
			list = append(list, r)
		}
		delete(now, r.Name)
	}
	for _, r := range after {
		if _, is := now[r.Name]; is {
			list = append(list, Ref{Name: r.Name, New: r.Old})
		}
	}
	return list
}

// Standing returns the refs that are as the run left them, and in words those that cannot come back: somebody has moved
// them since, or what they named is gone, or they are checked out. Those that are back already are in neither.
func (r *Run) Standing() (list []Ref, stays []string) {
	if len(r.Refs) == 0 {
		return nil, nil
	}
	at, err := r.project.checkedOut()
	if err != nil {
		return nil, []string{"refs\t" + err.Error()}
	}
	now := map[Path]string{}
	for _, ref := range r.project.refs() {
		now[ref.Name] = ref.Old
	}
	elsewhere := now["HEAD"] != r.Head // the branch of HEAD moves only with a HEAD that is as before the run, too
	for _, ref := range r.Refs {       // HEAD is the first
		is, was := now[ref.Name], cmp.Or(ref.Old, "not there")
		if ref.Name == "refs/stash" {
			was, _, _ = strings.Cut(was, "\n")
		}
		switch {
		case is == ref.Old:
			elsewhere = elsewhere && ref.Name != "HEAD"
			continue
		case is == ref.New:
			has, gone := r.project.there(ref.Old)
			for _, id := range gone {
				stays = append(stays, string(ref.Name)+"\twas "+id+", which the repository does not have any more")
			}
			if len(gone) > 0 && (has == "" || has == is) {
				elsewhere = elsewhere || ref.Name == "HEAD"
				continue
			}
			ref.Old = has
		}
		switch {
		case is == ref.New && at[ref.Name] != "" && (elsewhere || now["HEAD"] != "ref: "+string(ref.Name)):
			stays = append(stays, string(ref.Name)+"\tis checked out in "+at[ref.Name]+"; it was "+was)
		case is == ref.New:
			list = append(list, ref)
		default:
			stays = append(stays, string(ref.Name)+"\tsomebody moved it after the run; it was "+was)
		}
	}
	if slices.ContainsFunc(list, Ref.movesHead) && !r.project.follows() {
		stays = append(stays, "index\thas more than the commit that HEAD names: git reset puts that aside")
	}
	return list, stays
}

// follows reports whether the index has just what HEAD has, and so may get what HEAD has then: what somebody has added stays there.
func (p Project) follows() bool {
	return program.Command(p.Git, "--git-dir="+p.GitDir, "diff-index", "--cached", "--quiet", "HEAD", "--").Run() == nil
}

func (r Ref) movesHead() bool {
	return r.Name == "HEAD" || strings.HasPrefix(string(r.Name), "refs/heads/")
}

// alone reports whether a ref goes into no transaction: one that leads, or led, to another, and the stash, which is its log.
func (r Ref) alone() bool {
	return r.Name == "HEAD" || r.Name == "refs/stash" || strings.HasPrefix(r.Old, "ref: ") || strings.HasPrefix(r.New, "ref: ")
}

// setRefs gives refs their old values again, in one transaction but for those that lead to others. No hook runs.
func (p Project) setRefs(list []Ref) error {
	git := func(stdin string, args ...string) error {
		cmd := program.Command(p.Git, append([]string{"--git-dir=" + p.GitDir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	follows := slices.ContainsFunc(list, Ref.movesHead) && p.follows()
	transact := func(which func(Ref) bool) error {
		words := "start\x00"
		for _, r := range list {
			if !r.alone() && which(r) {
				none := strings.Repeat("0", max(len(r.Old), len(r.New)))
				words += fmt.Sprintf("option no-deref\x00update %s\x00%s\x00%s\x00", r.Name, cmp.Or(r.Old, none), cmp.Or(r.New, none))
			}
		}
		return git(words+"prepare\x00commit\x00", "update-ref", "--stdin", "-z", "-m", "inner undo")
	}
	err := transact(func(Ref) bool { return true })
	if err != nil { // a/b may have come to the place of a
		if err = transact(func(r Ref) bool { return r.Old == "" }); err == nil {
			err = transact(func(r Ref) bool { return r.Old != "" })
		}
	}
	for _, r := range list {
		to, symbolic := strings.CutPrefix(r.Old, "ref: refs/")
		switch name := string(r.Name); {
		case err != nil || !r.alone():
		case symbolic:
			err = git("", "symbolic-ref", "-m", "inner undo", name, "refs/"+to)
		case name == "refs/stash":
			if is := strings.Fields(r.New); len(is) > 0 {
				args := []string{"update-ref", "--no-deref", "-d", name}
				if is[0] != "ref:" {
					args = append(args, is[0]) // none that came meanwhile goes
				}
				err = git("", args...)
			}
			entries := strings.FieldsFunc(r.Old, func(c rune) bool { return c == '\n' })
			for _, entry := range slices.Backward(entries) { // as git stash store does, which asks for a work tree
				if id, msg, _ := strings.Cut(entry, " "); err == nil {
					err = git("", "update-ref", "--create-reflog", "-m", cmp.Or(msg, "inner undo"), name, id)
				}
			}
		case r.Old == "":
			err = git("", "symbolic-ref", "-d", name)
		default:
			err = git("", "update-ref", "--no-deref", "-m", "inner undo", name, r.Old)
		}
	}
	if err == nil && follows && git("", "rev-parse", "--quiet", "--verify", "HEAD") == nil {
		err = git("", "read-tree", "-m", "HEAD")
	}
	return err
}
