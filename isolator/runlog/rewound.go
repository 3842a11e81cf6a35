package runlog

import (
	"fmt"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// Words says what became of a ref, and which command shows what it had or brings it back.
func (r Ref) Words() (text, command string) {
	branch, isBranch := strings.CutPrefix(r.Ref, "refs/heads/")
	tag, isTag := strings.CutPrefix(r.Ref, "refs/tags/")
	stash := r.Ref == "refs/stash"
	name, words := "the ref "+r.Ref, "update-ref "+quote.POSIX(r.Ref)+" "+r.Old
	switch {
	case isBranch:
		name, words = "the branch "+branch, "branch "+quote.POSIX(branch)+" "+r.Old
	case isTag:
		name, words = "the tag "+tag, "tag "+quote.POSIX(tag)+" "+r.Old
	case stash:
		name, words = "the stash", "stash store "+r.Old
	}
	moved := fmt.Sprintf("%s was moved in the box from %.12s to %.12s", name, r.Old, r.New)
	switch {
	case r.New == "":
		text = fmt.Sprintf("%s was deleted in the box: it was %.12s", name, r.Old)
	case isTag:
		text, words = moved, "tag -f "+quote.POSIX(tag)+" "+r.Old
	case stash:
		text = moved + ", which does not have it"
	default:
		text, words = moved+", which does not have it", "log --oneline "+r.New+".."+r.Old
	}
	return text, "git -C " + quote.POSIX(strings.TrimSuffix(r.Repo, "/.git")) + " " + words
}
