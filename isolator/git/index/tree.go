package index

import (
	"crypto/sha1"
	"fmt"
	"strconv"
	"strings"
)

// A commit takes its trees from the extension TREE, and what is staged is compared with these alone. So
// what is written there is computed from the entries. Of what was read, only the names of the trees
// count: they say which ones there are.

// maxDepth is how deep folders are whose trees are cached: what a box nests deeper costs no time.
const maxDepth = 100

// treeNames returns the trees that the extension names. Git takes a malformed one for none.
//
// Source: cache-tree.c (read_one) of git 2.39.
func treeNames(text string) map[ID]bool {
	names := map[ID]bool{}
	for text != "" {
		head, rest, _ := strings.Cut(text, "\n")
		_, counts, _ := strings.Cut(head, "\x00")
		if text = rest; strings.HasPrefix(counts, "-") {
			continue
		}
		if len(text) < len(ID{}) {
			break
		}
		names[ID([]byte(text[:len(ID{})]))] = true
		text = text[len(ID{}):]
	}
	return names
}

// cachedTrees returns what the extension has of the entries in a folder, whose path has that length, and
// its tree: nil where that is none of the known ones, or something below it is none. A conflict and what
// is only meant to be added are in no tree.
func (x *Index) cachedTrees(name string, entries []Entry, path, depth int) (cached []byte, id *ID) {
	var tree, below []byte
	folders, whole := 0, true
	for rest := entries; len(rest) > 0; {
		e, count := &rest[0], 1
		part, _, isFolder := strings.Cut(e.Name[path:], "/")
		mode, of := e.Mode(), &e.ID
		switch {
		case isFolder && depth == maxDepth:
			of = nil
		case isFolder:
			prefix := e.Name[:path+len(part)+1]
			for count < len(rest) && strings.HasPrefix(rest[count].Name, prefix) {
				count++
			}
			var in []byte
			in, of = x.cachedTrees(part, rest[:count], len(prefix), depth+1)
			mode, folders, below = modeFolder, folders+1, append(below, in...)
		case e.Stage() != 0, e.Extra&intentToAdd != 0:
			of = nil
		}
		if whole = whole && of != nil; whole {
			tree = append(strconv.AppendUint(tree, uint64(mode), 8), ' ')
			tree = append(append(append(tree, part...), 0), of[:]...)
		}
		rest = rest[count:]
	}
	made := objectID("tree", tree)
	if !whole || !x.trees[made] {
		return fmt.Appendf(nil, "%s\x00-1 %d\n%s", name, folders, below), nil
	}
	return fmt.Appendf(nil, "%s\x00%d %d\n%s%s", name, len(entries), folders, made[:], below), &made
}

func objectID(kind string, content []byte) ID {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content)
	return ID(h.Sum(nil))
}

// BlobID is the name of a file with this content.
func BlobID(content []byte) ID { return objectID("blob", content) }
