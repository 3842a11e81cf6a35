package stage

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a run may leave in the folders it can write is looked at when it ends. For a
// run that is killed the journal has notes about what is still to be looked at.
const (
	lookNote  = "look:"  // and since when, in nanoseconds
	stoodNote = "stood:" // and what was at a path
)

// lists returns the lists of paths, each with its word in the journal.
func (w *Watched) lists() []noted {
	return []noted{{"obeyed:", &w.Obeyed}, {"guard:", &w.Guarded}, {"unlisted:", &w.Unlisted}, {"before:", &w.Before}, {"named:", &w.Named}, {"paths:", &w.Paths}}
}

type noted struct {
	word  string
	paths *[]string
}

// note reports whether a line of the journal is a note, and no placeholder.
func (l entry) note() bool {
	return strings.HasPrefix(l.what, lookNote) || strings.HasPrefix(l.what, stoodNote) ||
		slices.ContainsFunc(new(Watched).lists(), func(n noted) bool { return n.word == l.what })
}

// Watched is what the box of a run can write, and what in there is not its work.
type Watched struct {
	Since    time.Time         // when the run began, as files know it
	Roots    []string          // folders the box could write
	Obeyed   []string          // those in which tools outside obey what they find
	Guarded  []string          // git directories that the box could not write, and what leads to them
	Unlisted []string          // folders in which nobody had looked for repositories, real paths
	Before   []string          // what is not the box's, with all that is in it: it was there before, or inner made it
	Named    []string          // paths that settings of git name
	Paths    []string          // folders of programs in the homes that PATH names
	Stood    map[string]string // what was at places of Guarded and Before, see package repos
}

// Watch notes what is to be looked at after this run. The next MakePlaceholders writes it down,
// and what then stands at places of it, which stood returns once the placeholders are made. Close
// removes it.
func (r *Run) Watch(w Watched, stood func() map[string]string) {
	if len(w.Roots) == 0 {
		return
	}
	r.stood = stood
	add := func(what, path string) { r.notes = append(r.notes, entry{path, what, r.Path}) }
	for _, p := range w.Roots {
		add(lookNote+strconv.FormatInt(w.Since.UnixNano(), 10), p)
	}
	for _, n := range w.lists() {
		for _, p := range *n.paths {
			add(n.word, p)
		}
	}
}

// noteStood returns the notes of what stands at places that are watched, once.
func (r *Run) noteStood() []entry {
	if r.stood == nil {
		return nil
	}
	stood := r.stood()
	r.stood = nil
	var out []entry
	for _, p := range slices.Sorted(maps.Keys(stood)) {
		out = append(out, entry{p, stoodNote + stood[p], r.Path})
	}
	return out
}

// Interrupted calls look for every run that ended without Close and had something to
// watch, and strikes out what was noted.
func Interrupted(journal string, look func(Watched)) error {
	if isEmpty(journal) {
		return nil
	}
	if entries, err := readJournal(journal); err != nil || !slices.ContainsFunc(entries, entry.note) {
		return err
	}
	return withJournal(journal, func(entries []entry, _ func([]entry) error) ([]entry, error) {
		runs := map[string]*Watched{}
		var order []*Watched
		living := livingRuns()
		keep := slices.DeleteFunc(slices.Clone(entries), func(l entry) bool {
			if !l.note() || living(l.run) {
				return false
			}
			w := runs[l.run]
			if w == nil {
				w = &Watched{}
				runs[l.run], order = w, append(order, w)
			}
			w.read(l)
			return true
		})
		for _, w := range order {
			look(*w)
		}
		return keep, nil
	})
}

// read takes up one note.
func (w *Watched) read(l entry) {
	if what, ok := strings.CutPrefix(l.what, stoodNote); ok {
		if w.Stood == nil {
			w.Stood = map[string]string{}
		}
		w.Stood[l.path] = what
		return
	}
	if since, ok := strings.CutPrefix(l.what, lookNote); ok {
		w.Roots = append(w.Roots, l.path)
		nanos, _ := strconv.ParseInt(since, 10, 64) // torn, it is the beginning of time
		w.Since = time.Unix(0, nanos)
		return
	}
	for _, n := range w.lists() {
		if n.word == l.what {
			*n.paths = append(*n.paths, l.path)
		}
	}
}
