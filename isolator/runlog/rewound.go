package runlog

import (
	"fmt"
	"strings"

	"github.com/enr/inner/hooks/quote"
)

// Words says what became of a ref, and which command shows what it had or brings it back.
func (r Ref) Words() (text, command string) {
	dir, short, _ := strings.Cut(strings.TrimPrefix(r.Ref, "refs/"), "/")
	name, words := "the ref "+r.Ref, "update-ref "+quote.POSIX(r.Ref)+" "
	if kind := map[string]string{"heads": "branch", "tags": "tag"}[dir]; kind != "" {
		name, words = "the "+kind+" "+short, kind+" "+quote.POSIX(short)+" "
	} else if r.Ref == "refs/stash" {
		name, words = "the stash", "stash store "
	}
	text = fmt.Sprintf("%s was moved in the box from %.12s to %.12s", name, r.Old, r.New)
	switch {
	case r.New == "":
		text = fmt.Sprintf("%s was deleted in the box: it was %.12s", name, r.Old)
	case dir == "tags":
		words = "tag -f " + quote.POSIX(short) + " "
	default:
		if text += ", which does not have it"; r.Ref != "refs/stash" {
			words = "log --oneline " + r.New + ".."
		}
	}
	return text, "git -C " + quote.POSIX(strings.TrimSuffix(r.Repo, "/.git")) + " " + words + r.Old
}
