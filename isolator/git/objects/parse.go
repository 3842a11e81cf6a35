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
	if e.mode == modeTree {
		return "tree"
	}
	return "blob"
}

// parseTree reads a tree that is new. Modes, order and names are those that git itself writes; see
// fsck.c, fsck_tree, of git 2.39, which accepts some more for the sake of old trees.
func parseTree(data []byte) (list []entry, err error) {
	names := map[string]bool{}
	for len(data) > 0 {
		end := bytes.IndexByte(data, 0)
		if end < 0 || len(data) < end+21 {
			return nil, errors.New("a tree that ends early")
		}
		mode, name, _ := strings.Cut(string(data[:end]), " ")
		e := entry{mode, name, id(data[end+1 : end+21])}
		switch mode {
		case "100644", "100755", modeLink, modeTree, gitlink:
		default:
			return nil, fmt.Errorf("a tree with the mode %q", mode)
		}
		if !goodName(name) || e.object == (id{}) {
			return nil, fmt.Errorf("a tree with the name %q", name)
		}
		if names[name] || len(list) > 0 && list[len(list)-1].sorted() >= e.sorted() {
			return nil, fmt.Errorf("a tree with %q twice or not in order", name)
		}
		names[name] = true
		list = append(list, e)
		data = data[end+21:]
	}
	return list, nil
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

// Identities, dates, commits and tags as git writes them; see fsck.c, fsck_ident. A line that no git of today
// writes is refused, although old repositories have some.
const identity = `[^<>\n\x00]* <[^<>\n\x00]*> (?:0|[1-9][0-9]{0,17}) [-+][0-9]{4}\n`

var (
	commitText = lazy.Regexp(`^tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)` +
		`author ` + identity + `committer ` + identity + `(?:[^\n\x00]+\n)*(?:\n[^\x00]*)?$`)
	tagText = lazy.Regexp(`^object ([0-9a-f]{40})\ntype (commit|tree|blob|tag)\n` +
		`tag [^\x00-\x20~^:?*\[\\\x7f]+\n(?:tagger ` + identity + `)?(?:\n[^\x00]*)?$`)
)

// parseCommit reads a new commit: what it names.
func parseCommit(data []byte) (tree id, parents []id, err error) {
	found := commitText().FindSubmatch(data)
	if found == nil {
		return id{}, nil, errors.New("a commit that git would not write")
	}
	for list := found[2]; len(list) > 0; list = list[48:] {
		parents = append(parents, unhex(list[7:47]))
	}
	return unhex(found[1]), parents, nil
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
