package objects

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/isolator/git/index"
)

// id is the name of an object.
type id [20]byte

func (i id) String() string { return hex.EncodeToString(i[:]) }

// file returns where in a store an object is that has a file of its own.
func (i id) file() string {
	name := i.String()
	return name[:2] + "/" + name[2:]
}

func parseID(name string) (object id, err error) {
	if len(name) == 64 {
		return id{}, fmt.Errorf("%q is a name of SHA-256, and only repositories with SHA-1 are served", name)
	}
	if len(name) != 40 {
		return id{}, fmt.Errorf("%q is not the name of an object", name)
	}
	_, err = hex.Decode(object[:], []byte(name))
	return object, err
}

// parseIDs leaves out what is there twice and the name of nothing.
func parseIDs(names []string) (list []id, err error) {
	seen := map[id]bool{{}: true}
	for _, name := range names {
		object, err := parseID(name)
		if err != nil {
			return nil, err
		}
		if !seen[object] {
			seen[object] = true
			list = append(list, object)
		}
	}
	return list, nil
}

// entry is one entry of a tree.
type entry struct {
	mode, name string
	object     id
}

const (
	modeTree = "40000"
	modeLink = "120000"
	gitlink  = "160000"
)

// kind returns what an entry must lead to.
func (e entry) kind() string {
	switch e.mode {
	case modeTree:
		return "tree"
	case gitlink:
		return "commit"
	}
	return "blob"
}

// parseTree reads a tree.
func parseTree(data []byte) (list []entry, err error) {
	for len(data) > 0 {
		end := bytes.IndexByte(data, 0)
		if end < 0 || len(data) < end+21 {
			return nil, errors.New("a tree that ends early")
		}
		mode, name, found := strings.Cut(string(data[:end]), " ")
		if !found {
			return nil, errors.New("a tree with an entry that has no mode")
		}
		list = append(list, entry{mode, name, id(data[end+1 : end+21])})
		data = data[end+21:]
	}
	return list, nil
}

// checkTree says why a new tree may not come in. Modes, order and names are those that git itself
// writes; see fsck.c, fsck_tree, of git 2.39, which accepts some more for the sake of old trees.
func checkTree(list []entry) error {
	names := make(map[string]bool, len(list))
	for i, e := range list {
		switch e.mode {
		case "100644", "100755", modeLink, modeTree, gitlink:
		default:
			return fmt.Errorf("a tree with the mode %q", e.mode)
		}
		if !goodName(e.name) || e.object == (id{}) {
			return fmt.Errorf("a tree with the name %q", e.name)
		}
		if names[e.name] || i > 0 && list[i-1].sorted() >= e.sorted() {
			return fmt.Errorf("a tree with %q twice or not in order", e.name)
		}
		names[e.name] = true
	}
	return nil
}

// sorted returns what the order of a tree goes by.
func (e entry) sorted() string {
	if e.mode == modeTree {
		return e.name + "/"
	}
	return e.name
}

// goodName reports whether a name may be in a tree.
func goodName(name string) bool {
	return len(name) <= 4095 && !strings.Contains(name, "/") && index.GoodPath(name, 0)
}

// settings reports whether git may read settings from a file, so that its fsck has an opinion on what is in it or that
// it is a link. A short name of NTFS counts.
func (e entry) settings() bool {
	switch name := index.Fold(e.name); {
	case name == ".gitmodules", name == ".gitattributes", strings.Contains(e.name, "~"):
		return true
	default:
		return e.mode == modeLink && (name == ".gitignore" || name == ".mailmap")
	}
}

// commit is what a commit names.
type commit struct {
	tree    id
	parents []id
}

// Identities, dates, commits and tags as git writes them; see fsck.c, fsck_ident. A line that no git of today
// writes is refused, although old repositories have some.
const identity = `[^<>\n\x00]* <[^<>\n\x00]*> (?:0|[1-9][0-9]{0,17}) [-+][0-9]{4}\n`

var (
	commitHead = lazy.Regexp(`^tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)`)
	commitRest = lazy.Regexp(`^author ` + identity + `committer ` + identity + `(?:[^\n\x00]+\n)*(?:\n[^\x00]*)?$`)
	tagText    = lazy.Regexp(`^object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\n` +
		`tag [^\x00-\x20~^:?*\[\\\x7f]+\n(?:tagger ` + identity + `)?(?:\n[^\x00]*)?$`)
)

// parseCommit reads a commit, and checks all of it if it is new.
func parseCommit(data []byte, isNew bool) (commit, error) {
	found := commitHead().FindSubmatch(data)
	if found == nil || isNew && !commitRest().Match(data[len(found[0]):]) {
		return commit{}, errors.New("a commit that git would not write")
	}
	c := commit{tree: unhex(found[1])}
	for parents := found[2]; len(parents) > 0; parents = parents[48:] {
		c.parents = append(c.parents, unhex(parents[7:47]))
	}
	return c, nil
}

// parseTag reads a tag: what it names, and of which kind it says that this is.
func parseTag(data []byte) (object id, kind string, err error) {
	found := tagText().FindSubmatch(data)
	if found == nil {
		return id{}, "", errors.New("a tag that git would not write")
	}
	return unhex(found[1]), string(found[2]), nil
}

func unhex(digits []byte) (object id) {
	_, _ = hex.Decode(object[:], digits) // an expression has checked them
	return object
}
