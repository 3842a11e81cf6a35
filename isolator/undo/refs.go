package undo

import (
	"cmp"
	"fmt"
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

// Ref is a ref of the project's repository, or HEAD. Its values are an id, or "ref: NAME" when it leads to
// another one. That of the stash is its log, a line of id and message for each entry, the newest first. What is
// empty was not there.
type Ref struct {
	Name Path   `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`

	At string `json:"-"` // the work tree that has it checked out
}

// InGit runs git in the repository.
func (p Project) InGit(within time.Duration, stdin string, args ...string) (string, error) {
	cmd := program.Command(p.Git, append([]string{"--git-dir=" + p.GitDir}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := program.Output(within, cmd)
	if err != nil {
		err = fmt.Errorf("git %s: %w", args[0], err)
	}
	return out, err
}

// Refs are the refs as they are, by their names; none where that cannot be known. Which work tree has one costs a look
// at each of these, see Ref.At.
func (p Project) Refs(trees bool) (list []Ref) {
	head := p.Head()
	if head == "" {
		return nil
	}
	format := "--format=%(objectname) %(refname) %(symref) "
	if trees {
		format += "%(worktreepath)"
	}
	out, err := p.InGit(program.Soon, "", "for-each-ref", format+"%00")
	if err != nil {
		return nil
	}
	list = []Ref{{Name: "HEAD", Old: head}}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00\n"), "\x00\n") {
		part := strings.SplitN(line, " ", 4)
		if len(part) < 4 {
			break // there is none
		}
		r := Ref{Name: Path(part[1]), Old: part[0], At: part[3]}
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

// Head is the value of HEAD, "" where that cannot be known. It is no FIFO, at which git would wait.
func (p Project) Head() string {
	if p.GitDir == "" {
		return ""
	}
	head, _ := files.Read(filepath.Join(p.GitDir, "HEAD"), files.FollowLinks, 4096)
	return strings.TrimSpace(string(head))
}

// moved are those that differ between two times, by name; none when one of them is not known. Of what others moved as
// well only what the run did last is its own.
func moved(before, after []Ref, by map[Path]Ref) []Ref {
	if before == nil || after == nil {
		return nil
	}
	was := map[Path]string{}
	for _, r := range before {
		was[r.Name] = r.Old
	}
	var list []Ref
	for _, r := range after { // nearly all are as they were
		if old := was[r.Name]; old != r.Old {
			list = append(list, Ref{Name: r.Name, Old: old, New: r.Old})
		}
		delete(was, r.Name)
	}
	for name, old := range was {
		list = append(list, Ref{Name: name, Old: old})
	}
	if by != nil {
		list = slices.DeleteFunc(list, func(r Ref) bool { return by[r.Name].Name == "" })
	}
	for i, r := range list {
		if m, ok := by[r.Name]; ok && (r.Name != "refs/stash" || !strings.HasPrefix(r.Old, m.Old) || !strings.HasPrefix(r.New, m.New)) {
			list[i] = m
		}
	}
	slices.SortFunc(list, func(a, b Ref) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
