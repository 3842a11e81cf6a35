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

// fileOf returns where in a store an object is that has a file of its own.
func fileOf(name string) string { return name[:2] + "/" + name[2:] }

// nothing is the name of no object.
const nothing = "0000000000000000000000000000000000000000"

var objectName = lazy.Regexp(`^[0-9a-f]{40}$`)

// checkNames leaves out the name of nothing.
func checkNames(names []string) (list []string, err error) {
	for _, name := range names {
		switch {
		case len(name) == 64:
			return nil, fmt.Errorf("%q is a name of SHA-256, and only repositories with SHA-1 are served", name)
		case !objectName().MatchString(name):
			return nil, fmt.Errorf("%q is not the name of an object", name)
		case name != nothing:
			list = append(list, name)
		}
	}
	return list, nil
}

// entry is one entry of a tree.
type entry struct {
	mode, name, object string
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
		e := entry{mode, name, hex.EncodeToString(data[end+1 : end+21])}
		switch mode {
		case "100644", "100755", modeLink, modeTree, gitlink:
		default:
			return nil, fmt.Errorf("a tree with the mode %q", mode)
		}
		if !goodName(name) || e.object == nothing {
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
func parseCommit(data []byte) (tree string, parents []string, err error) {
	found := commitText().FindSubmatch(data)
	if found == nil {
		return "", nil, errors.New("a commit that git would not write")
	}
	for list := found[2]; len(list) > 0; list = list[48:] {
		parents = append(parents, string(list[7:47]))
	}
	return string(found[1]), parents, nil
}

// parseTag reads a tag: what it names, and of which kind it says that this is.
func parseTag(data []byte) (object, kind string, err error) {
	found := tagText().FindSubmatch(data)
	if found == nil {
		return "", "", errors.New("a tag that git would not write")
	}
	return string(found[1]), string(found[2]), nil
}
