package objects

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of a walk. Git itself refuses trees that are deeper (core.maxTreeDepth).
const (
	maxDepth   = 2048
	maxHistory = 100_000    // commits in a row
	maxTags    = 20         // tags of tags
	maxObjects = 1_000_000  // that have files of their own
	maxLooks   = 50_000_000 // entries of trees: a few trees can be compared with each other in very many ways
)

// walk looks at what may come over: from a name to what the host has. Each tree is compared with those of its commit's
// parents at the same path.
type walk struct {
	gate       *Gate
	quarantine quarantine
	host       *cats // what the host has
	git        *cats // the same, and the pack that is looked at
	packed     bool  // there is one: git itself has checked what is in it and that nothing is missing

	fresh   map[id]*object // read from the store
	order   []id           // the same, each after what it names
	commits []id           // those that were looked at
	done    map[string]bool
	links   map[string]bool // of the host's index, once they were asked for
	allowed int             // gitlinks that came in because of their paths
	looks   int
	bytes   int64 // of all that is fresh
	held    int64 // of what of it is in memory
	odd     bool  // there are settings of git
}

// errMissing is an object that neither the host nor the box has.
var errMissing = errors.New("is neither in the repository nor in the box's store")

// load reads an object of the store that the host lacks, and puts a copy into the quarantine. It returns nil if the
// store has none.
func (w *walk) load(name id) (*object, error) {
	if o := w.fresh[name]; o != nil || w.packed || w.gate.hasLoose(name) {
		return o, nil
	}
	o, err := w.quarantine.copy(name, min(maxBlob, maxBytes-w.bytes))
	if err != nil || o == nil {
		return nil, err
	}
	w.bytes += o.size
	w.held += int64(len(o.text))
	if w.held > maxHeld || len(w.fresh) == maxObjects {
		return nil, errors.New("more than may come over at once")
	}
	w.fresh[name] = o
	if o.kind == "blob" {
		w.order = append(w.order, name)
	}
	return o, nil
}

// need returns an error if an object is not there or of another kind. Those in the store are read; that the host has
// such an object in a pack as well does no harm. Of the others git says whether they are there.
func (w *walk) need(kind string, list ...id) error {
	if w.packed {
		return nil
	}
	var ask []id
	for _, name := range list {
		o, err := w.load(name)
		switch {
		case err != nil:
			return err
		case o == nil:
			ask = append(ask, name)
		case o.kind != kind:
			return fmt.Errorf("%s is named as a %s and is a %s", name, kind, o.kind)
		}
	}
	kinds, err := w.git.kinds(ask...)
	if err != nil {
		return err
	}
	for i, k := range kinds {
		if k == "" {
			return fmt.Errorf("%s %w", ask[i], errMissing)
		}
		if k != kind {
			return fmt.Errorf("%s is named as a %s and is a %s", ask[i], kind, k)
		}
	}
	return nil
}

// read returns the text of a commit, tree or tag. What was read lately is in memory, but is looked for all the same.
func (w *walk) read(name id, kind string) ([]byte, error) {
	o, err := w.load(name)
	if err != nil {
		return nil, err
	}
	if known := w.gate.known[name]; o == nil && known != nil && w.gate.hasLoose(name) {
		o = known
	}
	if o != nil {
		if o.kind != kind {
			return nil, fmt.Errorf("%s is named as a %s and is a %s", name, kind, o.kind)
		}
		return o.text, nil
	}
	text, err := w.git.read(name, kind)
	if err == nil {
		w.gate.remember(name, &object{kind: kind, text: text})
	}
	return text, err
}

// finish puts an object in order, once all that it names is.
func (w *walk) finish(name id) {
	if w.fresh[name] != nil && !w.done[string(name[:])] {
		w.order = append(w.order, name)
	}
	w.done[string(name[:])] = true
}

// named looks at what a ref names. A commit that the host has is the host's own, or was looked at when it came; a tree
// is always looked at, since it may have come as a part of another.
func (w *walk) named(name id, depth int) error {
	kind := ""
	switch o, err := w.load(name); {
	case err != nil:
		return err
	case o != nil:
		kind = o.kind
	default:
		kinds, err := w.host.kinds(name)
		if err != nil {
			return err
		}
		if kind = kinds[0]; kind == "" {
			return fmt.Errorf("%s %w", name, errMissing)
		}
	}
	switch {
	case kind == "commit" && w.fresh[name] != nil:
		return w.commit(name, 0)
	case kind == "tree":
		return w.tree(name, nil, "", 0)
	case kind == "tag":
		return w.tag(name, depth)
	}
	return nil
}

// tag looks at a tag and what it names.
func (w *walk) tag(name id, depth int) error {
	text, err := w.read(name, "tag")
	if err != nil {
		return err
	}
	target, kind, err := parseTag(text)
	switch {
	case depth == maxTags:
		return errors.New("too many tags of tags")
	case err != nil && w.fresh[name] == nil:
		return nil // an old one of the host's
	case err != nil:
		return err
	}
	if err := w.need(kind, target); err != nil {
		return err
	}
	if err := w.named(target, depth+1); err != nil {
		return err
	}
	w.finish(name)
	return nil
}

// commit looks at a new commit, after its parents: at all of them if they are new as well. All commits of a pack are
// looked at anyway.
func (w *walk) commit(name id, depth int) error {
	if w.done[string(name[:])] {
		return nil
	}
	if depth > maxHistory {
		return errors.New("a history longer than may come over at once")
	}
	text, err := w.read(name, "commit")
	if err != nil {
		return err
	}
	c, err := parseCommit(text, !w.packed)
	if err != nil {
		return err
	}
	var olds []id
	for _, parent := range c.parents {
		text, err := w.read(parent, "commit")
		if err != nil {
			return err
		}
		p, err := parseCommit(text, false)
		if err != nil {
			return err
		}
		olds = append(olds, p.tree)
		if w.fresh[parent] != nil {
			if err := w.commit(parent, depth+1); err != nil {
				return err
			}
		}
	}
	if err := w.commitTree(name, c.tree, olds); err != nil {
		return err
	}
	w.finish(name)
	w.commits = append(w.commits, name)
	return nil
}

// commitTree compares the tree of a commit with those of its parents. What the host's own commit brings is not new.
func (w *walk) commitTree(name, tree id, olds []id) error {
	err := w.tree(tree, olds, "", 0)
	if errors.As(err, new(NewLink)) {
		if kinds, kerr := w.host.kinds(name); kerr == nil && kinds[0] != "" {
			return nil
		}
	}
	return err
}

// tree looks at what is other in a tree than in those at the same path of the parents. at ends with a slash.
func (w *walk) tree(name id, olds []id, at string, depth int) error {
	if slices.Contains(olds, name) {
		return nil
	}
	pair := "compared " + string(name[:])
	for _, old := range olds {
		pair += string(old[:])
	}
	if w.done[pair] {
		return nil
	}
	if depth > maxDepth {
		return errors.New("folders deeper than may come over")
	}
	list, err := w.entries(name)
	if err != nil {
		return err
	}
	changed, was, err := w.changed(list, olds)
	if err != nil {
		return err
	}
	allowed := w.allowed
	if err := w.look(changed, was, at, depth); err != nil {
		return err
	}
	w.finish(name)
	w.done[pair] = allowed == w.allowed // else it may come in at this path only
	return nil
}

// entries reads a tree.
func (w *walk) entries(name id) ([]entry, error) {
	text, err := w.read(name, "tree")
	if err != nil {
		return nil, err
	}
	list, err := parseTree(text)
	if err == nil && w.fresh[name] != nil {
		err = checkTree(list)
	}
	if w.looks += len(list) + 1; w.looks > maxLooks {
		err = errors.New("more folders than can be looked at")
	}
	return list, err
}

// changed returns the entries that no old tree has, and what the old trees have of each name.
func (w *walk) changed(list []entry, olds []id) (changed []entry, was map[string][]entry, err error) {
	was = map[string][]entry{}
	for _, old := range olds {
		before, err := w.entries(old)
		if err != nil {
			return nil, nil, err
		}
		for _, e := range before {
			was[e.name] = append(was[e.name], e)
		}
	}
	for _, e := range list {
		same := func(old entry) bool { return old.object == e.object && old.kind() == e.kind() }
		if !slices.ContainsFunc(was[e.name], same) {
			changed = append(changed, e)
		}
	}
	return changed, was, nil
}

// look looks at entries of a tree that are new.
func (w *walk) look(changed []entry, was map[string][]entry, at string, depth int) error {
	var blobs []id
	for _, e := range changed {
		if e.kind() == "blob" {
			blobs = append(blobs, e.object)
		}
	}
	if err := w.need("blob", blobs...); err != nil {
		return err
	}
	for _, e := range changed {
		w.odd = w.odd || e.settings()
		switch e.kind() {
		case "commit":
			if err := w.link(at+e.name, was[e.name]); err != nil {
				return err
			}
		case "tree":
			var olds []id
			for _, old := range was[e.name] {
				if old.kind() == "tree" {
					olds = append(olds, old.object)
				}
			}
			if err := w.tree(e.object, olds, at+e.name+"/", depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// link says whether a gitlink may come in that the trees before did not have as it is.
func (w *walk) link(path string, was []entry) error {
	if slices.ContainsFunc(was, func(old entry) bool { return old.kind() == "commit" }) {
		return nil
	}
	if w.links == nil && w.gate.AllowedLinks != nil {
		links, err := w.gate.AllowedLinks()
		if err != nil {
			return err
		}
		w.links = links
	}
	if !w.links[path] {
		return NewLink(path)
	}
	w.allowed++
	return nil
}
