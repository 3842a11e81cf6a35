package back

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/isolator/undo"
)

// there splits a value in what the repository has, and the ids that it does not have any more.
func there(p undo.Project, value string) (has string, gone []string) {
	entries := strings.Split(value, "\n")
	entries = slices.DeleteFunc(entries, func(entry string) bool {
		id, _, _ := strings.Cut(entry, " ")
		if id == "" || id == "ref:" {
			return false
		}
		_, err := p.InGit(undo.Soon, "", "cat-file", "-e", id)
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
	for _, ref := range r.Project.Refs() {
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

// follows reports whether the index has just what HEAD has, and so may get what HEAD has then: what somebody has added stays there.
func follows(p undo.Project) bool {
	_, err := p.InGit(undo.Soon, "", "diff-index", "--cached", "--quiet", "HEAD", "--")
	return err == nil
}

func movesHead(r undo.Ref) bool {
	return r.Name == "HEAD" || strings.HasPrefix(string(r.Name), "refs/heads/")
}

// alone reports whether a ref goes into no transaction: one that leads, or led, to another, and the stash, which is its log.
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
	if _, errNone := p.InGit(undo.Soon, "", "rev-parse", "--quiet", "--verify", "HEAD"); follows && errNone == nil {
		_ = git("", "read-tree", "-m", "HEAD")
	}
	return err
}
