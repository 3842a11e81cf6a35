package index

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// A commit takes its trees from the extension TREE, and what is staged is compared with these
// alone. So they are computed again: one that is not that of its entries is a lie.

// cachedTree is one of the extension, which has them from the root down.
type cachedTree struct {
	name    string
	entries int // how many are in it, or -1 where its tree is not known
	folders int // how many of those in it follow
	id      ID
}

func (c *cachedTree) known() bool { return c.entries >= 0 }

var errTrees = errors.New("index: the extension TREE is not that of its entries")

// next reads a cached tree, and returns what follows it. Git takes malformed ones for none.
//
// Source: cache-tree.c (read_one) of git 2.39.
func (c *cachedTree) next(text string) (rest string, err error) {
	name, rest, found := strings.Cut(text, "\x00")
	line, rest, ends := strings.Cut(rest, "\n")
	entries, folders, both := strings.Cut(line, " ")
	count, err := strconv.Atoi(entries)
	below, err2 := strconv.Atoi(folders)
	if !found || !ends || !both || err != nil || err2 != nil || count < -1 || below < 0 {
		return "", errTrees
	}
	*c = cachedTree{name: name, entries: count, folders: below}
	if !c.known() {
		return rest, nil
	}
	if len(rest) < len(c.id) {
		return "", errTrees
	}
	return rest[copy(c.id[:], rest):], nil
}

// treeNames returns which trees are known, true or not.
func treeNames(content []byte) map[ID]bool {
	known := map[ID]bool{}
	var c cachedTree
	var err error
	for text := string(content); text != ""; {
		if text, err = c.next(text); err != nil {
			break
		}
		if c.known() {
			known[c.id] = true
		}
	}
	return known
}

// verifyTrees returns an error unless cached trees are those of the entries.
func verifyTrees(content []byte, entries []Entry) error {
	v := treeVerifier{text: string(content)}
	root, err := v.next()
	if err == nil && root.name == "" {
		_, _, err = v.verify(root, entries, 0)
	}
	if err != nil || root.name != "" || v.text != "" {
		return errTrees
	}
	return nil
}

type treeVerifier struct {
	text string // what is not read yet
	buf  []byte // the trees that are being written, one in the other
}

func (v *treeVerifier) next() (c cachedTree, err error) {
	v.text, err = c.next(v.text)
	return c, err
}

// verify reads what is cached below a tree, and compares this with the entries in that folder,
// whose path has that length. It is whole where all in it can be known.
func (v *treeVerifier) verify(c cachedTree, entries []Entry, path int) (id ID, whole bool, err error) {
	below := map[string]*ID{} // nil where it is not known
	for range c.folders {
		folder, err := v.next()
		if err != nil {
			return id, false, err
		}
		in := inFolder(entries, path, folder.name)
		if _, twice := below[folder.name]; twice || len(in) == 0 {
			return id, false, errTrees
		}
		id, whole, err := v.verify(folder, in, path+len(folder.name)+1)
		if err != nil {
			return id, false, err
		}
		below[folder.name] = nil
		if whole {
			below[folder.name] = &id
		}
	}
	id, whole = v.compute(entries, path, below, c.known())
	if c.known() && (!whole || c.entries != len(entries) || c.id != id) {
		return id, false, errTrees
	}
	return id, whole, nil
}

// compute returns the tree of the entries in a folder, of which some below are computed already,
// and the others are where all are wanted. A conflict and what is only meant to be added are in
// no tree.
func (v *treeVerifier) compute(entries []Entry, path int, below map[string]*ID, all bool) (id ID, whole bool) {
	start := len(v.buf)
	for rest := entries; len(rest) > 0; {
		e := &rest[0]
		name, _, isFolder := strings.Cut(e.Name[path:], "/")
		mode, of, count := e.Mode(), &e.ID, 1
		if isFolder {
			in := inFolder(rest, path, name)
			mode, count = modeFolder, len(in)
			computed, found := below[name]
			if of = computed; !found && all {
				if id, whole := v.compute(in, path+len(name)+1, nil, true); whole {
					of = &id
				}
			}
		} else if e.Stage() != 0 || e.Extra&intentToAdd != 0 {
			of = nil
		}
		if of == nil {
			v.buf = v.buf[:start]
			return id, false
		}
		v.buf = append(strconv.AppendUint(v.buf, uint64(mode), 8), ' ')
		v.buf = append(append(append(v.buf, name...), 0), of[:]...)
		rest = rest[count:]
	}
	id = objectID("tree", v.buf[start:])
	v.buf = v.buf[:start]
	return id, true
}

// inFolder returns those of the entries whose next part of the path is a folder of that name.
func inFolder(entries []Entry, path int, name string) []Entry {
	prefix := name + "/"
	first := sort.Search(len(entries), func(i int) bool { return entries[i].Name[path:] >= prefix })
	last := first
	for last < len(entries) && strings.HasPrefix(entries[last].Name[path:], prefix) {
		last++
	}
	return entries[first:last]
}

func objectID(kind string, content []byte) ID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return ID(h.Sum(nil))
}

// BlobID is the name of a file with this content.
func BlobID(content []byte) ID { return objectID("blob", content) }
