package limits

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// prefix begins the name of every group that inner makes.
const prefix = "inner-"

// period is that of cpu.max, in microseconds: the kernel's own default.
const period = 100_000

// FolderOf returns the folder of the group of a run, "" when the plan makes none.
func (p *Plan) FolderOf(run string) string {
	if p == nil || p.Parent == "" {
		return ""
	}
	return filepath.Join(p.Parent, prefix+run)
}

// Make makes the group of the plan at p.Folder. After an error, the caller calls Remove.
func (p *Plan) Make() error {
	for _, c := range p.Enable {
		if err := write(filepath.Join(p.Parent, "cgroup.subtree_control"), "+"+c); err != nil {
			return fmt.Errorf("the controller %s cannot be switched on: %w", c, err)
		}
	}
	if err := os.Mkdir(p.Folder, 0o755); err != nil {
		return fmt.Errorf("control group: %w", err)
	}
	return fill(p.Folder, p.Group)
}

// setting is a file of a group, and what it has to say: a number, or one and of how many.
type setting struct {
	file      string
	value, of uint64
}

func (f setting) String() string {
	if f.of == 1 {
		return number(f.value)
	}
	return fmt.Sprintf("%d %d", f.value, f.of)
}

// settings are the limits of a group as its files.
func settings(v Values) []setting {
	return each(v, func(k kind, n uint64) []setting { return k.files(n) })
}

// swapFile is what a kernel that counts no swap does not have: inForce looks whether it swaps.
const swapFile = "memory.swap.max"

// fill writes the limits of a group.
func fill(dir string, v Values) error {
	for _, f := range settings(v) {
		err := write(filepath.Join(dir, f.file), f.String())
		if err != nil && (f.file != swapFile || !errors.Is(err, os.ErrNotExist)) {
			return fmt.Errorf("control group: %w", err)
		}
	}
	return nil
}

func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// Remove kills what still runs in a group that inner made, and removes it, within two seconds.
// It is no error when the group does not exist. A folder without the name of such a group is left
// alone, which is an error.
func Remove(dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), prefix) || !filepath.IsAbs(dir) {
		return fmt.Errorf("control group %q is not one of inner's", dir)
	}
	_ = write(filepath.Join(dir, "cgroup.kill"), "1") // Linux 5.14
	for end := time.Now().Add(2 * time.Second); ; time.Sleep(2 * time.Millisecond) {
		// EBUSY: the last processes of the box, killed, may take a moment to end.
		err := unix.Rmdir(dir)
		switch {
		case err == nil || err == unix.ENOENT:
			return nil
		case err != unix.EBUSY || time.Now().After(end):
			return &os.PathError{Op: "rmdir", Path: dir, Err: err}
		}
	}
}

// Group is the control group of a run in progress, whoever made it.
type Group struct {
	memory, pids int    // memory.events and pids.events, -1 when not watched
	kills, forks uint64 // how many processes were killed, and how many forks refused, for a limit

	toldKills, toldForks uint64 // of these, those that Reached has told
}

// Open checks that the group at dir has the limits v, and watches it until Close. It makes the
// kernel kill the box as a whole when its memory runs out.
func Open(dir string, v Values) (*Group, error) {
	if err := inForce(dir, v, Request{}.swapOn()); err != nil {
		return nil, err
	}
	g := &Group{memory: -1, pids: -1}
	if v.Memory > 0 {
		// Otherwise the kernel kills the largest process alone. Where the file cannot be
		// written (Linux before 4.19, a group of systemd's), the limit holds all the same.
		_ = write(filepath.Join(dir, "memory.oom.group"), "1")
		g.memory = open(filepath.Join(dir, "memory.events"))
	}
	if v.Pids > 0 {
		g.pids = open(filepath.Join(dir, "pids.events"))
	}
	return g, nil
}

// open returns a descriptor to read from, or -1.
func open(path string) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// inForce returns an error unless the group has the limits v, or lower ones; swap: there is some.
func inForce(dir string, v Values, swap bool) error {
	for _, f := range settings(v) {
		data, err := os.ReadFile(filepath.Join(dir, f.file))
		if f.file == swapFile && errors.Is(err, os.ErrNotExist) {
			if swap {
				return fmt.Errorf("control group %q: %s", dir, swapWhy)
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("control group: %w", err)
		}
		value, of := uint64(0), uint64(1)
		n, _ := fmt.Sscan(string(data), &value, &of)
		if n == 0 || of == 0 || value*f.of > f.value*of {
			return fmt.Errorf("control group %q: %s is %s, not %s", dir, f.file, strings.TrimSpace(string(data)), f)
		}
	}
	return nil
}

// Watched returns the descriptors that poll reports as exceptional (POLLPRI) when a limit is
// reached; -1 for none.
func (g *Group) Watched() [2]int {
	if g == nil {
		return [2]int{-1, -1}
	}
	return [2]int{g.memory, g.pids}
}

// Reached names the limits that were reached since it was asked before, by their keys. It is safe on nil.
func (g *Group) Reached() (keys []string) {
	if g.Look(); g == nil {
		return nil
	}
	if g.kills > g.toldKills {
		keys = append(keys, "memory")
	}
	if g.forks > g.toldForks {
		keys = append(keys, "pids")
	}
	g.toldKills, g.toldForks = g.kills, g.forks
	return keys
}

// Look sees what was reached until now: once the group is gone nothing tells. It is safe on nil.
func (g *Group) Look() {
	if g == nil {
		return
	}
	// oom_kill alone also counts kills because the whole machine is out of memory.
	if e := events(&g.memory); e["oom"] > 0 && e["oom_kill"] > 0 {
		g.kills = e["oom_kill"]
	}
	if e := events(&g.pids); e["max"] > 0 {
		g.forks = e["max"]
	}
}

// events reads a file of counters, with one name and one number per line. When the group is gone
// it closes the file, because poll would report it for ever (kernfs).
func events(fd *int) map[string]uint64 {
	if *fd < 0 {
		return nil
	}
	var buf [1024]byte
	n, err := unix.Pread(*fd, buf[:], 0)
	if err != nil {
		unix.Close(*fd)
		*fd = -1
		return nil // what it said before counts
	}
	out := map[string]uint64{}
	for line := range bytes.Lines(buf[:n]) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		if count, err := strconv.ParseUint(value, 10, 64); err == nil {
			out[name] = count
		}
	}
	return out
}

// Close stops watching the group. It is safe on nil.
func (g *Group) Close() {
	for _, fd := range g.Watched() {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}
