package undo

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/internal/files"
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

	at string // the work tree that has it checked out
}

// soon is how long git may take to say something: it may wait for a FIFO that a box has put into its directory. A test
// lowers it.
var soon = 10 * time.Second

func (p Project) inGit(within time.Duration, stdin string, args ...string) (string, error) {
	cmd := program.Command(p.Git, append([]string{"--git-dir=" + p.GitDir}, args...)...)
	var out, bad strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &bad
	err := cmd.Start()
	if err == nil {
		defer time.AfterFunc(within, func() { _ = cmd.Process.Kill() }).Stop()
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(bad.String()))
	}
	return out.String(), err
}

// refs are the refs as they are, by their names; none where that cannot be known.
func (p Project) refs() (list []Ref) {
	head := p.head()
	if head == "" {
		return nil
	}
	out, err := p.inGit(soon, "", "for-each-ref", "--format=%(objectname) %(refname) %(symref) %(worktreepath)%00")
	if err != nil {
		return nil
	}
	list = []Ref{{Name: "HEAD", Old: head}}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00\n"), "\x00\n") {
		part := strings.SplitN(line, " ", 4)
		if len(part) < 4 {
			break // there is none
		}
		r := Ref{Name: Path(part[1]), Old: part[0], at: part[3]}
		if part[2] != "" {
			r.Old = "ref: " + part[2]
		} else if r.Name == "refs/stash" {
			r.Old = p.stash(r.Old)
		}
		list = append(list, r)
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
	entries := strings.Split(value, "\n")
	entries = slices.DeleteFunc(entries, func(entry string) bool {
		id, _, _ := strings.Cut(entry, " ")
		if id == "" || id == "ref:" {
			return false
		}
		_, err := p.inGit(soon, "", "cat-file", "-e", id)
		if err != nil {
			gone = append(gone, id)
		}
		return err != nil
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

// moved are those that differ between two times, by name; none when one of them is not known.
func moved(before, after []Ref) []Ref {
	if before == nil || after == nil {
		return nil
	}
	all := map[Path]Ref{}
	for _, r := range before {
		all[r.Name] = r
	}
	for _, r := range after {
		all[r.Name] = Ref{Name: r.Name, Old: all[r.Name].Old, New: r.Old}
	}
	list := slices.SortedFunc(maps.Values(all), func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	return slices.DeleteFunc(list, func(r Ref) bool { return r.Old == r.New })
}

// Standing returns the refs that are as the run left them, and in words those that cannot come back: somebody has moved
// them since, or what they named is gone, or they are checked out. Those that are back already are in neither.
func (r *Run) Standing() (list []Ref, stays []string) {
	if len(r.Refs) == 0 {
		return nil, nil
	}
	now := map[Path]Ref{}
	for _, ref := range r.project.refs() {
		now[ref.Name] = ref
	}
	head := now["HEAD"].Old
	if head == "" {
		return nil, []string{"refs\tgit does not say what they are"}
	}
	say := func(name Path, why string, args ...any) {
		stays = append(stays, string(name)+"\t"+fmt.Sprintf(why, args...))
	}
	elsewhere := head != r.Head  // the branch of HEAD moves only with a HEAD that is as before the run, too
	for _, ref := range r.Refs { // HEAD is the first
		is, at := now[ref.Name].Old, now[ref.Name].at
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
		has, gone := r.project.there(ref.Old)
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
	if slices.ContainsFunc(list, Ref.movesHead) && !r.project.follows() {
		say("index", "has more than the commit that HEAD names: git reset puts that aside")
	}
	return list, stays
}

// follows reports whether the index has just what HEAD has, and so may get what HEAD has then: what somebody has added stays there.
func (p Project) follows() bool {
	_, err := p.inGit(soon, "", "diff-index", "--cached", "--quiet", "HEAD", "--")
	return err == nil
}

func (r Ref) movesHead() bool {
	return r.Name == "HEAD" || strings.HasPrefix(string(r.Name), "refs/heads/")
}

// alone reports whether a ref goes into no transaction: one that leads, or led, to another, and the stash, which is its log.
func (r Ref) alone() bool {
	return r.Name == "HEAD" || r.Name == "refs/stash" || strings.HasPrefix(r.Old, "ref: ") || strings.HasPrefix(r.New, "ref: ")
}

// setRefs gives refs their old values again, in one transaction but for those that lead to others. No hook runs.
func (p Project) setRefs(list []Ref) (err error) {
	git := func(stdin string, args ...string) error {
		if err == nil {
			_, err = p.inGit(time.Hour, stdin, args...) // what is half done is worse
		}
		return err
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
	if transact(func(Ref) bool { return true }) != nil { // a/b may have come to the place of a
		err = nil
		_ = transact(func(r Ref) bool { return r.Old == "" })
		_ = transact(func(r Ref) bool { return r.Old != "" })
	}
	for _, r := range list {
		to, symbolic := strings.CutPrefix(r.Old, "ref: refs/")
		switch name := string(r.Name); {
		case !r.alone():
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
	if _, errNone := p.inGit(soon, "", "rev-parse", "--quiet", "--verify", "HEAD"); follows && errNone == nil {
		_ = git("", "read-tree", "-m", "HEAD")
	}
	return err
}
