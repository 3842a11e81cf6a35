// Package userns gives a box the user and group ids that rootless containers
// need: more than the one of its user.
//
// A user namespace made by a plain user maps one id. To map more, the kernel
// requires a helper with privileges on the host, newuidmap(1), which allows the
// ids that /etc/subuid assigns to the user. So the namespace is made first, the
// helpers write its maps ([Map.Write]), and bwrap joins it. Package launch makes
// and joins it.
//
// The map that works, for user 1000 with the range 100000:65536:
//
//	box      host     how many
//	0        100000   1
//	1000     1000     1
//	100001   100001   65535
//
// It contains id 0, without which container tools cannot set up their own
// children. They must not be able to copy the map, however. They first try to write
// the same map into their child, and when that succeeds, they continue with a child
// that has no id 0. When it fails, they use newuidmap for the range that [Range.File]
// names (measured with podman 4.3).
//
// The package reads no file and decides nothing about mounts. The paths of the
// helpers come from package host, which checks who could have written them.
package userns

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/helper"
)

// Need is how many subordinate ids a container needs: the ids of a 16-bit
// system.
const Need = 65536

// helperPatience is how long newuidmap may take. It works in milliseconds,
// unless a name service behind /etc/nsswitch.conf hangs.
const helperPatience = 10 * time.Second

// Range is a range of subordinate ids: Count ids from Start on.
type Range struct {
	Start int `json:"start"`
	Count int `json:"count"`
}

// Subordinate finds in the text of /etc/subuid or /etc/subgid the first range
// of at least Need ids for the user, by name or by user id (subuid(5), subgid(5)).
// A range that contains own, the id that the user has already, is skipped: no id
// can be mapped twice.
func Subordinate(text []byte, name string, uid, own int) (r Range, ok bool) {
	for who, e := range assigned(text) {
		// The last id, -1, is nobody's.
		usable := e.Count >= Need && e.Start != 0 && uint64(e.Start)+uint64(e.Count) <= 1<<32-1
		if !usable || who == "" || who != name && who != strconv.Itoa(uid) {
			continue
		}
		if own < e.Start || own >= e.Start+e.Count {
			return e, true
		}
	}
	return Range{}, false
}

// Free returns the first range of Need ids from 100000 on (useradd(8), SUB_UID_MIN) that the text
// of /etc/subuid or /etc/subgid assigns to nobody.
func Free(text []byte) Range {
	var taken []Range
	for _, e := range assigned(text) {
		taken = append(taken, e)
	}
	slices.SortFunc(taken, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	start := 100000
	for _, e := range taken {
		if start+Need <= e.Start {
			break
		}
		start = max(start, e.Start+e.Count)
	}
	return Range{Start: start, Count: Need}
}

// assigned yields the users that the text of /etc/subuid or /etc/subgid names, by name or by
// number, each with a range of theirs. Lines that are no assignment are skipped.
func assigned(text []byte) iter.Seq2[string, Range] {
	return func(yield func(string, Range) bool) {
		for line := range strings.Lines(string(text)) {
			f := strings.Split(strings.TrimSpace(line), ":")
			if len(f) != 3 {
				continue
			}
			start, err1 := strconv.ParseUint(f[1], 10, 32)
			count, err2 := strconv.ParseUint(f[2], 10, 32)
			if err1 == nil && err2 == nil && !yield(f[0], Range{Start: int(start), Count: int(count)}) {
				return
			}
		}
	}
}

// File returns the text of /etc/subuid or /etc/subgid in the box: the range without its first
// id, for the user of that name. It is only one line, because podman adds up a line with the
// name and one with the number.
func (r Range) File(name string) []byte {
	return fmt.Appendf(nil, "%s:%d:%d\n", name, r.Start+1, r.Count-1)
}

// Extent is one line of a map: Count ids from Box on are those from Host on.
type Extent struct{ Box, Host, Count int }

// Extents returns the map of a box whose user or group has the given id and the range.
func (r Range) Extents(id int) []Extent {
	return []Extent{{0, r.Start, 1}, {id, id, 1}, {r.Start + 1, r.Start + 1, r.Count - 1}}
}

// Map holds the two maps that the helpers write for one box.
type Map struct {
	NewUIDMap string   `json:"newuidmap"` // absolute path, as the next one
	NewGIDMap string   `json:"newgidmap"`
	UIDs      []Extent `json:"uids"`
	GIDs      []Extent `json:"gids"`
}

// Write gives the user namespace of the process its ids. It runs the helpers,
// with an empty environment and in the root folder, and waits at most helperPatience
// for each. After an error the namespace may have one of the two maps.
func (m Map) Write(pid int) error {
	for _, h := range []struct {
		path    string
		extents []Extent
	}{{m.NewUIDMap, m.UIDs}, {m.NewGIDMap, m.GIDs}} {
		if err := write(h.path, pid, h.extents); err != nil {
			return err
		}
	}
	return nil
}

func write(path string, pid int, extents []Extent) error {
	args := []string{strconv.Itoa(pid)}
	for _, e := range extents {
		args = append(args, strconv.Itoa(e.Box), strconv.Itoa(e.Host), strconv.Itoa(e.Count))
	}
	out, complaint, err := helper.Ask(helperPatience, nil, path, args...)
	if err == nil {
		return nil
	}
	if line, _, _ := strings.Cut(strings.TrimSpace(out+complaint), "\n"); line != "" {
		err = errors.New(line)
	}
	return fmt.Errorf("%s cannot give the box its ids: %w", path, err)
}
