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
	lookNote     = "look:"     // and since when, in nanoseconds
	obeyedNote   = "obeyed:"   // tools outside obey what they find in this folder
	guardNote    = "guard:"    // a git directory that the box could not write
	unlistedNote = "unlisted:" // a folder in which nobody had looked for repositories
	beforeNote   = "before:"   // what tools outside obey, and was there before
	namedNote    = "named:"    // a path that settings of git name
	stoodNote    = "stood:"    // and what was at a path
)

// note reports whether a line of the journal is a note, and no placeholder.
func (l entry) note() bool {
	return strings.HasPrefix(l.what, lookNote) || strings.HasPrefix(l.what, stoodNote) || slices.Contains([]string{obeyedNote, guardNote, unlistedNote, beforeNote, namedNote}, l.what)
}

// Watched is what the box of a run can write, and what in there is not its work.
type Watched struct {
	Since    time.Time
	Roots    []string
	Timeless []string // roots where the time of a change says nothing
	Obeyed   []string // roots in which tools outside obey what they find
	Guarded  []string
	Unlisted []string
	Before   []string
	Named    []string
	Stood    map[string]string
}

// Watch notes what is to be looked at after this run. The next MakePlaceholders writes it down,
// Close removes it.
func (r *Run) Watch(w Watched) {
	add := func(what string, paths []string) {
		for _, p := range paths {
			r.notes = append(r.notes, entry{p, what, r.Path})
		}
	}
	if len(w.Roots) == 0 {
		return
	}
	for _, p := range w.Roots {
		since := w.Since.UnixNano()
		if slices.Contains(w.Timeless, p) {
			since = 0
		}
		add(lookNote+strconv.FormatInt(since, 10), []string{p})
	}
	add(obeyedNote, w.Obeyed)
	add(guardNote, w.Guarded)
	add(unlistedNote, w.Unlisted)
	add(beforeNote, w.Before)
	add(namedNote, w.Named)
	for _, p := range slices.Sorted(maps.Keys(w.Stood)) {
		add(stoodNote+w.Stood[p], []string{p})
	}
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
		var order []string
		living := map[string]bool{}
		keep := slices.DeleteFunc(slices.Clone(entries), func(l entry) bool {
			if !l.note() {
				return false
			}
			if _, known := living[l.run]; !known {
				living[l.run] = alive(l.run)
			}
			if living[l.run] {
				return false
			}
			w := runs[l.run]
			if w == nil {
				w = &Watched{}
				runs[l.run], order = w, append(order, l.run)
			}
			w.read(l)
			return true
		})
		for _, run := range order {
			look(*runs[run])
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
	switch l.what {
	case obeyedNote:
		w.Obeyed = append(w.Obeyed, l.path)
	case guardNote:
		w.Guarded = append(w.Guarded, l.path)
	case unlistedNote:
		w.Unlisted = append(w.Unlisted, l.path)
	case beforeNote:
		w.Before = append(w.Before, l.path)
	case namedNote:
		w.Named = append(w.Named, l.path)
	default:
		nanos, _ := strconv.ParseInt(strings.TrimPrefix(l.what, lookNote), 10, 64) // torn, it is the beginning of time
		w.Roots = append(w.Roots, l.path)
		if nanos == 0 {
			w.Timeless = append(w.Timeless, l.path)
		} else {
			w.Since = time.Unix(0, nanos)
		}
	}
}
