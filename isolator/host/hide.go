package host

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitignore"
)

// Hide is what [sandbox] hide comes to on this host.
type Hide struct {
	// Paths are what the patterns matched, sorted; of a folder only the folder.
	Paths []string `json:"paths"`
	// Why says what could not be done; then nothing may start, for some of what is
	// said to be hidden would be seen.
	Why  string `json:"why,omitempty"`
	Hint string `json:"hint,omitempty"` // something to do about it
}

// How much is looked through for [sandbox] hide before the run is refused, and how
// much may be found: where bwrap covers them, each costs it a look through all
// others (measured with bwrap 0.8.0: 1000 files take 2.7 s, 100 take 0.1 s).
const (
	hideEntries = 1_000_000
	hideTime    = 10 * time.Second
	hideMost    = 1000
)

// hider looks for what patterns match. The folders it reads are only those in
// which something can match.
type hider struct {
	*looker
	list  gitignore.List
	found map[string]bool
	left  int       // how many entries may still be looked at
	until time.Time // and until when
}

// find looks for what the patterns match.
func (h *hider) find(patterns []string) error {
	for _, text := range patterns {
		p, err := gitignore.Parse(text)
		if err != nil {
			return err
		}
		h.list = append(h.list, p)
	}
	return h.folder("/", h.list.Start())
}

// folder looks at what a folder holds. dir is its real path.
func (h *hider) folder(dir string, s gitignore.State) error {
	names, known := h.list.Names(s)
	var list []files.Entry
	if !known && !systemMade(dir) {
		var was syscall.Stat_t
		err := syscall.Lstat(dir, &was)
		if err == nil {
			list, err = files.ReadDir(dir)
		}
		if err != nil {
			return h.unread(dir, err)
		}
		matter := func(name string, what fs.FileMode) bool {
			_, _, matched := h.list.Step(s, name, false)
			return matched || !what.IsRegular()
		}
		h.walked[dir] = walked{notes{list, true, was}, matter}
	}
	for _, e := range list { // whether a file that matches can be looked at, entry sees
		if _, _, matched := h.list.Step(s, e.Name, false); matched || !e.Type.IsRegular() {
			names = append(names, e.Name)
		} else if err := h.count(dir); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := h.entry(dir, name, s); err != nil {
			return err
		}
	}
	return nil
}

func (h *hider) entry(dir, name string, s gitignore.State) error {
	if err := h.count(dir); err != nil {
		return err
	}
	p := paths.Join(dir, name)
	at := h.look(p)
	switch at.Kind {
	case Missing:
		return nil
	case Denied:
		return h.unread(dir, fs.ErrPermission)
	}
	next, named, matched := h.list.Step(s, name, at.Kind == Dir)
	if matched {
		return h.add(p)
	}
	if at.Real != p {
		// It is what a link leads to that is hidden, and looked into where a name of the
		// pattern leads there; "**" goes through no link, as everywhere.
		next = named
	}
	if at.Kind != Dir || !h.list.Live(next) {
		return nil
	}
	return h.folder(at.Real, next)
}

func (h *hider) add(p string) error {
	h.found[p] = true
	if len(h.found) > hideMost {
		return fault.Refuse(125, "name their folders in hide, with a slash at the end",
			"the patterns match more than %d files, %s among them", hideMost, p)
	}
	return nil
}

// unread decides about a folder that cannot be looked into: it is hidden as a whole, for the box may
// reach what is in it, by its name or after a chmod.
func (h *hider) unread(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil
	case !errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s cannot be looked into: %w", dir, err)
	}
	return h.add(dir)
}

// count keeps the search from taking for ever.
func (h *hider) count(at string) error {
	if h.left--; h.left >= 0 && (h.left%256 != 0 || time.Now().Before(h.until)) {
		return nil
	}
	return fault.Refuse(125, "name a folder nearer to what is to be hidden",
		"the search for it was not finished after %d files, at %s", hideEntries-max(h.left, 0), at)
}

// systemMade reports whether the kernel makes up what is in a folder: a box has its own.
func systemMade(dir string) bool { return dir == "/proc" || dir == "/sys" || dir == "/dev" }

// hide looks for what the patterns match.
func (l *looker) hide(patterns []string) *Hide {
	if len(patterns) == 0 {
		return nil
	}
	h := &hider{looker: l, found: map[string]bool{}, left: hideEntries, until: time.Now().Add(hideTime)}
	out := &Hide{}
	if err := h.find(patterns); err != nil {
		out.Why = err.Error()
		if r := fault.AsRefusal(err); r != nil {
			out.Hint = r.Hint
		}
	}
	out.Paths = slices.Sorted(maps.Keys(h.found))
	return out
}
