package index

import (
	"errors"
	"strconv"
	"strings"
)

// resolved is a conflict of the extension REUC, which `git checkout -m PATH` brings back: what the
// path was in each of the three stages.
type resolved struct {
	path  string
	modes [3]uint32 // 0 where there was nothing
	ids   [3]ID
}

var errUndo = errors.New("index: the extension REUC is malformed")

// next reads a conflict, and returns what follows it.
//
// Source: resolve-undo.c (resolve_undo_read) of git 2.39.
func (r *resolved) next(text string) (rest string, err error) {
	*r = resolved{}
	path, rest, found := strings.Cut(text, "\x00")
	r.path = path
	for i := range r.modes {
		digits, after, ends := strings.Cut(rest, "\x00")
		mode, err := strconv.ParseUint(digits, 8, 32)
		if !found || !ends || err != nil {
			return "", errUndo
		}
		r.modes[i], rest = uint32(mode), after
	}
	for i := range r.ids {
		if r.modes[i] != 0 {
			if len(rest) < len(r.ids[i]) {
				return "", errUndo
			}
			rest = rest[copy(r.ids[i][:], rest):]
		}
	}
	return rest, nil
}

// conflicts returns those of an extension that git reads.
func conflicts(content []byte) map[resolved]bool {
	had := map[resolved]bool{}
	var r resolved
	var err error
	for text := string(content); text != ""; {
		if text, err = r.next(text); err != nil {
			break
		}
		had[r] = true
	}
	return had
}

// undo checks resolved conflicts, which are entries again when a person asks git for that.
func (c *checker) undo(content []byte) error {
	had := conflicts(c.host.undo)
	var r resolved
	var err error
	for text := string(content); text != ""; {
		if text, err = r.next(text); err != nil {
			return err
		}
		for i, mode := range r.modes {
			if mode == 0 || had[r] {
				continue
			}
			if !isMode(mode) {
				return errUndo
			}
			if err := c.comes(r.path, mode, r.ids[i]); err != nil {
				return err
			}
		}
	}
	if len(content) > 0 {
		c.out.Index.undo = content
	}
	return nil
}
