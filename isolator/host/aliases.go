package host

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/proc"
)

// MountAlias is a part of a disk that is seen at two places, because it is mounted twice:
// what lies below Path lies below At, too, but for what is mounted in either.
type MountAlias struct {
	Path string `json:"path"`
	At   string `json:"at"`
	Kind Kind   `json:"kind"`
}

// Mounts says which names what is mounted gives to files. Both lists are empty where nothing
// is seen at two places.
type Mounts struct {
	// MountAliases are the parts of a disk that are seen at two places, and Mounted is
	// where anything is mounted.
	MountAliases []MountAlias `json:"twins,omitempty"`
	Mounted      []string     `json:"mounted,omitempty"`
}

// MountsNow are those of the host now, for who has no Facts. There are none when the table of
// mounts cannot be read.
func MountsNow() Mounts {
	list, mounted := aliases(new(looker).mounts())
	return Mounts{list, mounted}
}

// Names returns a path without links, and then the other names that it has.
func (m Mounts) Names(p string) []string {
	out := []string{p}
	for _, t := range m.MountAliases {
		rest, ok := paths.Rest(t.Path, p)
		if !ok {
			continue
		}
		other := filepath.Join(t.At, rest)
		if !slices.Contains(out, other) && !m.over(t.Path, p) && !m.over(t.At, other) {
			out = append(out, other)
		}
	}
	return out
}

// over reports whether something is mounted on the way from top to p.
func (m Mounts) over(top, p string) bool {
	return slices.ContainsFunc(m.Mounted, func(at string) bool {
		in := paths.Below(top, at)
		on := paths.Below(at, p)
		return in && on && at != top
	})
}

// mount is a mount, as far as names of files are concerned.
type mount struct {
	device   string // "" where nobody keeps files
	root, at string
}

// mounts returns the table of mounts; none when it cannot be read. It is read once.
func (l *looker) mounts() []mount {
	if l.table == nil {
		data, _, _ := readParts("/proc/self/mountinfo")
		l.table = mountsOf(data)
	}
	return l.table
}

// aliases finds what of the host is seen at two places, and all places where something
// is mounted. A mask has a path: with a home that is mounted from another folder (an
// image-based system, a disk for data, a chroot) it would cover one of two.
func aliases(table []mount) (list []MountAlias, mounted []string) {
	return aliasesOf(table, func(p, q string) Kind {
		a, err := os.Lstat(p)
		if err != nil {
			return Missing
		}
		if b, err := os.Lstat(q); err != nil || !os.SameFile(a, b) {
			return Missing
		}
		return kindOf(a.Mode())
	})
}

// aliasesOf is aliases for this table of mounts. The function same says what two paths
// are that are one thing, else Missing: something may cover one of them, or it is out
// of reach.
func aliasesOf(list []mount, same func(p, q string) Kind) (out []MountAlias, mounted []string) {
	byDevice := map[string][]mount{}
	for _, d := range list {
		if d.device != "" {
			byDevice[d.device] = append(byDevice[d.device], d)
		}
		mounted = append(mounted, d.at)
	}
	seen := map[[2]string]bool{} // one folder may be mounted hundreds of times
	for _, d := range list {
		for _, other := range byDevice[d.device] {
			rest, ok := paths.Rest(d.root, other.root)
			p := filepath.Join(d.at, rest)
			if !ok || p == other.at || seen[[2]string{p, other.at}] {
				continue
			}
			seen[[2]string{p, other.at}], seen[[2]string{other.at, p}] = true, true
			if kind := same(p, other.at); kind != Missing {
				out = append(out, MountAlias{p, other.at, kind}, MountAlias{other.at, p, kind})
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	slices.Sort(mounted)
	return out, slices.Compact(mounted)
}

// mountsOf reads mountinfo. What the kernel makes up as it goes has nobody's files, and
// its roots may be no paths.
func mountsOf(data []byte) []mount {
	var out []mount
	for _, m := range proc.Mounts(data) {
		if m.Root[0] != '/' || m.At[0] != '/' {
			continue
		}
		d := mount{m.Device, m.Root, m.At}
		if slices.Contains([]string{"proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "mqueue"}, m.Type) {
			d.device = "" // it counts as a place only
		}
		out = append(out, d)
	}
	return out
}
