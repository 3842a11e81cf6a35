package stage

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a run may leave in the folders it can write is looked at when it ends. For a
// run that is killed the ledger has notes about what is still to be looked at.
const (
	lookNote  = "look:"  // and since when, in nanoseconds
	guardNote = "guard:" // a repository that was protected meanwhile
)

// note reports whether a line of the ledger is a note, and nothing borrowed.
func (l loan) note() bool { return strings.HasPrefix(l.what, lookNote) || l.what == guardNote }

// Watch notes that the box of this run can write roots, and not what is guarded. The
// next Borrow writes it down, Close strikes it out.
func (r *Run) Watch(since time.Time, roots, guarded []string) {
	for _, p := range roots {
		r.notes = append(r.notes, loan{p, lookNote + strconv.FormatInt(since.UnixNano(), 10), r.Path})
	}
	if len(roots) == 0 {
		return
	}
	for _, p := range guarded {
		r.notes = append(r.notes, loan{p, guardNote, r.Path})
	}
}

// Watched is what a killed run could write.
type Watched struct {
	Since          time.Time
	Roots, Guarded []string
}

// Interrupted calls look for every run that ended without Close and had something to
// watch, and strikes out what was noted.
func Interrupted(ledger string, look func(Watched)) error {
	if loans, err := readLedger(ledger); err != nil || !slices.ContainsFunc(loans, loan.note) {
		return err
	}
	return withLedger(ledger, func(loans []loan, _ func([]loan) error) ([]loan, error) {
		runs := map[string]*Watched{}
		var order []string
		keep := slices.DeleteFunc(slices.Clone(loans), func(l loan) bool {
			if !l.note() || alive(l.run) {
				return false
			}
			w := runs[l.run]
			if w == nil {
				w = &Watched{}
				runs[l.run], order = w, append(order, l.run)
			}
			if nanos, ok := strings.CutPrefix(l.what, lookNote); ok {
				n, _ := strconv.ParseInt(nanos, 10, 64) // torn, it is the beginning of time
				w.Since, w.Roots = time.Unix(0, n), append(w.Roots, l.path)
			} else {
				w.Guarded = append(w.Guarded, l.path)
			}
			return true
		})
		for _, run := range order {
			look(*runs[run])
		}
		return keep, nil
	})
}
