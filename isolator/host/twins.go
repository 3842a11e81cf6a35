package host

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Twin is a part of a disk that is seen at two places, because it is mounted twice:
// what lies below Path lies below At, too, but for what is mounted in either.
type Twin struct {
	Path string `json:"path"`
	At   string `json:"at"`
	Kind Kind   `json:"kind"`
}

// disk is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type disk struct {
	device   string // "" where nobody keeps files
	root, at string
}

// twins finds what of the host is seen at two places, and all places where something
// is mounted. A mask has a path: with a home that is mounted from another folder (an
// image-based system, a disk for data, a chroot) it would cover one of two.
// known is false when the table of mounts cannot be read.
func twins() (list []Twin, mounted []string, known bool) {
	data, _, _ := readParts("/proc/self/mountinfo")
	list, mounted = twinsOf(disks(data), func(p, q string) Kind {
		a, err := os.Lstat(p)
		if err != nil {
			return Missing
		}
		if b, err := os.Lstat(q); err != nil || !os.SameFile(a, b) {
			return Missing
		}
		return kindOf(a.Mode())
	})
	return list, mounted, len(data) > 0
}

// twinsOf is twins for this table of mounts. The function same says what two paths
// are that are one thing, else Missing: something may cover one of them, or it is out
// of reach.
func twinsOf(list []disk, same func(p, q string) Kind) (out []Twin, mounted []string) {
	byDevice := map[string][]disk{}
	for _, d := range list {
		if d.device != "" {
			byDevice[d.device] = append(byDevice[d.device], d)
		}
		mounted = append(mounted, d.at)
	}
	seen := map[[2]string]bool{} // one folder may be mounted hundreds of times
	for _, d := range list {
		for _, other := range byDevice[d.device] {
			rest, ok := strings.CutPrefix(other.root, strings.TrimSuffix(d.root, "/"))
			if !ok || rest != "" && rest[0] != '/' {
				continue
			}
			p := filepath.Join(d.at, rest)
			if p == other.at || seen[[2]string{p, other.at}] {
				continue
			}
			seen[[2]string{p, other.at}], seen[[2]string{other.at, p}] = true, true
			if kind := same(p, other.at); kind != Missing {
				out = append(out, Twin{p, other.at, kind}, Twin{other.at, p, kind})
			}
		}
	}
	if len(out) == 0 {
		return nil, nil
	}
	slices.Sort(mounted)
	return out, slices.Compact(mounted)
}

// disks reads mountinfo. What the kernel makes up as it goes has nobody's files, and
// its roots may be no paths.
func disks(data []byte) []disk {
	var out []disk
	octal := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\043`, "#", `\134`, `\`)
	for line := range bytes.Lines(data) {
		f := strings.Fields(string(line))
		if len(f) < 6 || f[3][0] != '/' || f[4][0] != '/' {
			continue
		}
		d := disk{f[2], octal.Replace(f[3]), octal.Replace(f[4])}
		if i := slices.Index(f, "-"); i > 0 && i+1 < len(f) && slices.Contains([]string{"proc", "sysfs", "devpts", "devtmpfs", "cgroup", "cgroup2", "mqueue"}, f[i+1]) {
			d.device = "" // it counts as a place only
		}
		out = append(out, d)
	}
	return out
}
