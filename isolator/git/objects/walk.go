package objects

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Limits of what may come over: objects in a row, each named by the one before, and folders in each
// other. Git itself refuses trees that are deeper (core.maxTreeDepth).
const (
	maxRow   = 100_000
	maxDepth = 2048
)

// walk copies what the host lacks into the quarantine, from a name to what the store has no more of.
type walk struct {
	gate    *Gate
	fresh   map[string]string // the kinds of what was copied
	order   []string          // the same, each after what it names
	commits []string          // those among them
	asks    map[ask]bool
	odd     map[entry]bool // what git has an opinion on
	room    int64          // for how many more bytes
}

// ask is an object that must be there, though it was not copied. Of no kind is a name: what it leads to is looked at.
type ask struct {
	kind, name string
}

// visit copies an object that the host lacks as a file of its own, if the store has it so, and what it names.
func (w *walk) visit(kind string, name string, depth int) error {
	is, copied := w.fresh[name]
	if !copied && w.gate.hasLoose(name) {
		return nil
	}
	var o *object
	if !copied {
		var err error
		if o, err = w.gate.copy(name, w.room); err != nil || o == nil {
			return err
		}
		is = o.kind
	}
	if kind != "" && is != kind {
		return fmt.Errorf("%s is named as a %s and is a %s", name, kind, is)
	}
	if copied {
		return nil
	}
	w.room -= eachObject + o.size + int64(len(o.text))*eachByte
	if w.room < 0 || depth > maxRow {
		return errors.New("more than may come over at once")
	}
	w.fresh[name] = is
	if err := w.below(name, o, depth+1); err != nil {
		return err
	}
	w.order = append(w.order, name)
	return nil
}

// below visits what an object names. What is in a tree may be anywhere: changes asks for what is new in it.
func (w *walk) below(name string, o *object, depth int) error {
	switch o.kind {
	case "commit":
		w.commits = append(w.commits, name)
		tree, parents, err := parseCommit(o.text)
		if err != nil {
			return err
		}
		return errors.Join(w.need("tree", 0, tree), w.need("commit", depth, parents...))
	case "tag":
		target, kind, err := parseTag(o.text)
		if err != nil {
			return err
		}
		return w.need(kind, depth, target)
	case "tree":
		list, err := parseTree(o.text)
		if err != nil {
			return err
		}
		for _, e := range list {
			if e.mode == gitlink {
				continue
			}
			if err := w.visit(e.kind(), e.object, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// need visits objects, or asks for them. Of commits git will say when it compares them if they are
// no such.
func (w *walk) need(kind string, depth int, list ...string) error {
	for _, name := range list {
		if err := w.visit(kind, name, depth); err != nil {
			return err
		}
		is := w.fresh[name]
		if is == "" && !(kind == "commit" && w.gate.hasLoose(name)) || kind == "" && is != "commit" {
			w.asks[ask{kind, name}] = true
		}
	}
	return nil
}

// answer asks git for all that must be there. It returns the trees that names lead to.
func (w *walk) answer() (trees []string, err error) {
	var asks []ask
	var names []string
	for a := range w.asks {
		asks = append(asks, a)
		name := a.name
		if a.kind == "" {
			name += "^{}"
		}
		names = append(names, name)
	}
	clear(w.asks)
	list, err := w.gate.find(names)
	for i, is := range list {
		switch a := asks[i]; {
		case is.kind == "":
			return nil, fmt.Errorf("%s %w", a.name, errMissing)
		case a.kind != "" && a.kind != is.kind:
			return nil, fmt.Errorf("%s is named as a %s and is a %s", a.name, a.kind, is.kind)
		case a.kind == "" && is.kind == "tree":
			trees = append(trees, is.name)
		case is.kind == "commit" && is.name == a.name:
			w.gate.remember(a.name)
		}
	}
	return trees, err
}

// all brings what an index names, or of no kind a ref.
func (w *walk) all(kind string, list []string) error {
	switch kind {
	case "":
		return w.named(list)
	case Modules:
		for _, blob := range list {
			w.odd[entry{"100644", Modules, blob}] = true
		}
		kind = "blob"
	}
	if err := w.need(kind, 0, list...); err != nil {
		return err
	}
	_, err := w.answer()
	return err
}

// named brings what a ref names. A commit that the host has is the host's own, or was looked at when it came; a tree
// is always looked at, since it may have come as a part of another.
func (w *walk) named(list []string) error {
	if err := w.need("", 0, list...); err != nil {
		return err
	}
	trees, err := w.answer()
	if err != nil {
		return err
	}
	err = w.gate.changes(w.commits, trees, func(c change) error {
		if strings.Count(c.path, "/") > maxDepth {
			return errors.New("folders deeper than may come over")
		}
		if c.settings() {
			w.odd[c.entry] = true
		}
		if c.mode != gitlink && w.fresh[c.object] == "" {
			w.asks[ask{"blob", c.object}] = true
		}
		return w.gate.link(c)
	})
	if err == nil {
		_, err = w.answer()
	}
	return err
}

// link says whether a gitlink may come in that the trees before did not have as it is.
func (g *Gate) link(c change) error {
	if c.mode != gitlink || slices.Contains(c.was, gitlink) {
		return nil
	}
	if g.AllowedLinks != nil {
		if links, err := g.AllowedLinks(); err != nil || links[c.path] {
			return err
		}
	}
	return fmt.Errorf("brings the repository at %q: a new submodule is for outside: git submodule add, or git fetch and merge there",
		c.path)
}

// severities makes errors of faults that git-fsck(1) only warns about: files of settings that are
// links, and a .gitmodules that cannot be parsed.
const severities = "--strict=gitattributesSymlink=error,gitignoreSymlink=error,mailmapSymlink=error,gitmodulesParse=error"

// Fsck returns the flags with which git fetch checks objects as this package does.
func Fsck() []string {
	words := []string{"-c", "fetch.fsckObjects=true"}
	for kv := range strings.SplitSeq(strings.TrimPrefix(severities, "--strict="), ",") {
		words = append(words, "-c", "fetch.fsck."+kv)
	}
	return words
}

// judge lets git check files as what they are called, each in a tree of its own that does not come, as it does when
// somebody pushes that.
func (g *Gate) judge(list map[entry]bool) error {
	var entries strings.Builder
	for e := range list {
		fmt.Fprintf(&entries, "%s %s %s\t%s\x00\x00", e.mode, e.kind(), e.object, e.name)
	}
	trees, err := g.run(g.quarantine, strings.NewReader(entries.String()), "mktree", "-z", "--batch", "--missing")
	if err != nil {
		return err
	}
	pack, err := g.run(g.quarantine, strings.NewReader(trees), "pack-objects", "-q", "--stdout")
	if err == nil {
		_, err = g.run(g.quarantine, strings.NewReader(pack), "index-pack", "--stdin", severities)
	}
	return err
}
