package index

import (
	"encoding/hex"
	"fmt"
	"path"
	"slices"
)

// Rules is what Check cannot see in an index. Each must be set.
type Rules struct {
	// Sparse says that the host's work tree is a part of the repository (core.sparseCheckout).
	Sparse bool
	// Written is when the host's index was written, in nanoseconds. Git looks at the content of files that are no older,
	// and a younger index would have it look no more.
	Written int64
	// Protected reports whether the box may not write or see the file at a path.
	Protected func(path string) bool
	// Gitlink reports whether the host, not a box, has a submodule at a path that is not in its index now, as a
	// branch that it made has, and no box can have made a repository there.
	Gitlink func(path string) bool
	// True reports whether the file of an entry has its times and its content, as TimesTrue does.
	True func(e *Entry) bool
}

// Checked is what becomes of an index that a box wrote.
type Checked struct {
	Index *Index   // what the host's is to be
	Blobs []string // what it names and the host's did not, in hexadecimal: the host must have these before
	Away  []Change
	// Modules are those of Blobs, or of what the host has, that become .gitmodules, in any spelling.
	Modules []string
}

// Change is a protected file that is another one in what the box checked out.
type Change struct {
	Was, Is *Entry // of stage 0; nil where there was none, and where there is none
}

// Check makes what a box wrote into what the host's index is to be. An error says what the box may
// not do. What is only a hint for git (bits, times) is taken out without a word
// where it is not the host's and not seen to be true. A host without an index has an empty one.
func Check(box, host *Index, rules Rules) (*Checked, error) {
	if box.Partial || host.Partial {
		return nil, errPartial
	}
	c := checker{rules: rules, host: host, named: map[ID]bool{}}
	c.out.Index = &Index{Entries: slices.Clone(box.Entries)}
	rest := host.Entries // from where the box's are
	for i := range c.out.Index.Entries {
		is := &c.out.Index.Entries[i]
		for len(rest) > 0 && compare(&rest[0], is) < 0 {
			c.gone(&rest[0])
			rest = rest[1:]
		}
		var was *Entry
		if len(rest) > 0 && compare(&rest[0], is) == 0 {
			was, rest = &rest[0], rest[1:]
		}
		if err := c.pair(is, was); err != nil {
			return nil, err
		}
	}
	for i := range rest {
		c.gone(&rest[i])
	}
	return &c.out, nil
}

type checker struct {
	rules Rules
	host  *Index
	out   Checked
	named map[ID]bool // what is in out.Blobs
}

// gone notes a protected file that the box has not.
func (c *checker) gone(was *Entry) {
	if was.Stage() == 0 && c.rules.Protected(was.Name) && len(c.out.Index.at(was.Name)) == 0 {
		c.out.Away = append(c.out.Away, Change{Was: was})
	}
}

// pair checks an entry of the box against the host's at the same path and stage, nil for none.
func (c *checker) pair(is, was *Entry) error {
	same := was != nil && was.Mode() == is.Mode() && was.ID == is.ID
	if !same {
		if err := c.comes(is.Name, is.Mode(), is.ID); err != nil {
			return err
		}
	}
	protected := is.Stage() == 0 && c.rules.Protected(is.Name)
	if protected && same {
		*is = *was // the box sees another file there
		return nil
	}
	c.bits(is, was, protected)
	if protected {
		c.out.Away = append(c.out.Away, Change{was, is})
	}
	hadTimes := same && is.Stat == was.Stat && is.changed() < c.rules.Written
	if !hadTimes && is.Stat != is.withoutTimes() && !c.rules.True(is) {
		is.Stat = is.withoutTimes()
	}
	return nil
}

// comes checks what the host's index did not have, and notes it.
func (c *checker) comes(name string, mode uint32, id ID) error {
	switch {
	case !GoodPath(name, mode):
		return fmt.Errorf("index: no path of a box: %q", name)
	case mode == modeGitlink:
		had := slices.ContainsFunc(c.host.at(name), func(e Entry) bool { return e.Mode() == modeGitlink })
		if !had && !c.rules.Gitlink(name) {
			return fmt.Errorf("index: %q is a new submodule, which is for outside: git submodule add", name)
		}
		return nil
	}
	if gitmodules().MatchString(Fold(path.Base(name))) {
		c.out.Modules = append(c.out.Modules, hex.EncodeToString(id[:]))
	}
	if !c.named[id] {
		c.named[id] = true
		c.out.Blobs = append(c.out.Blobs, hex.EncodeToString(id[:]))
	}
	return nil
}

// bits takes away what keeps git outside from looking at a file, where the host had not set it.
func (c *checker) bits(is, was *Entry, protected bool) {
	var flags, extra uint16
	if was != nil {
		flags, extra = was.Flags, was.Extra
	}
	is.Flags &^= assumeValid &^ flags
	switch {
	case protected: // Served has set it
		is.Extra = is.Extra&^skipWorktree | extra&skipWorktree
	case !c.rules.Sparse:
		is.Extra &^= skipWorktree &^ extra
	}
}
