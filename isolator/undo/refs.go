package undo

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/enr/inner/isolator/git/program"
)

// Path is a name of any bytes: in JSON it is quoted as Go does where it is no UTF-8.
type Path string

// MarshalText quotes what JSON cannot have, and what would be taken for that.
func (p Path) MarshalText() ([]byte, error) {
	if !utf8.ValidString(string(p)) || strings.HasPrefix(string(p), `"`) {
		return []byte(strconv.Quote(string(p))), nil
	}
	return []byte(p), nil
}

// UnmarshalText undoes it.
func (p *Path) UnmarshalText(text []byte) error {
	*p = Path(text)
	if name, err := strconv.Unquote(string(text)); err == nil {
		*p = Path(name)
	}
	return nil
}

// Ref is a ref of the project's repository, or HEAD: an id, or "ref: NAME". What is empty was not there.
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
	out, err := program.Command(p.Git, "--git-dir="+p.GitDir, "for-each-ref", "--format=%(objectname) %(refname)").Output()
	head, errHead := os.ReadFile(filepath.Join(p.GitDir, "HEAD"))
	if errors.Join(err, errHead) != nil {
		return nil
	}
	list = []Ref{{Name: "HEAD", Old: strings.TrimSpace(string(head))}}
	for line := range strings.Lines(string(out)) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		list = append(list, Ref{Name: Path(name), Old: id})
	}
	return list
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

// Standing returns the refs that are as the run left them, and those that somebody has moved since; none of
// those that are back already.
func (r *Run) Standing() (list, others []Ref) {
	now := map[Path]string{}
	for _, ref := range r.project.refs() {
		now[ref.Name] = ref.Old
	}
	for _, ref := range r.Refs {
		switch now[ref.Name] {
		case ref.New:
			list = append(list, ref)
		case ref.Old:
		default:
			others = append(others, ref)
		}
	}
	return list, others
}

// setRefs gives refs their old values again, in one transaction. No hook runs. The index follows where it has
// just what HEAD had: what somebody has added stays there.
func (p Project) setRefs(list []Ref) error {
	git := func(stdin string, args ...string) error {
		cmd := program.Command(p.Git, append([]string{"--git-dir=" + p.GitDir}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	follows := git("", "diff-index", "--cached", "--quiet", "HEAD", "--") == nil
	words, head := "start\x00", ""
	for _, r := range list {
		if r.Name == "HEAD" {
			head = r.Old
			continue
		}
		none := strings.Repeat("0", max(len(r.Old), len(r.New)))
		words += fmt.Sprintf("update %s\x00%s\x00%s\x00", r.Name, cmp.Or(r.Old, none), cmp.Or(r.New, none))
	}
	err := git(words+"prepare\x00commit\x00", "update-ref", "--stdin", "-z", "-m", "inner undo")
	if err != nil {
		return err
	}
	if name, is := strings.CutPrefix(head, "ref: "); is {
		err = git("", "symbolic-ref", "-m", "inner undo", "HEAD", name)
	} else if head != "" {
		err = git("", "update-ref", "--no-deref", "-m", "inner undo", "HEAD", head)
	}
	if err == nil && follows && slices.ContainsFunc(list, func(r Ref) bool { return r.Name == "HEAD" || strings.HasPrefix(string(r.Name), "refs/heads/") }) {
		err = git("", "read-tree", "-m", "HEAD")
	}
	return err
}
