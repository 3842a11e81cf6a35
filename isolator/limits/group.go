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

// fill writes the limits of a group.
func fill(dir string, v Values) error {
	set := func(file, value string) error {
		if err := write(filepath.Join(dir, file), value); err != nil {
			return fmt.Errorf("control group: %w", err)
		}
		return nil
	}
	if v.Memory > 0 {
		if err := set("memory.max", strconv.FormatUint(v.Memory, 10)); err != nil {
			return err
		}
		// A kernel that counts no swap has no such file: inForce looks whether it swaps.
		if err := set("memory.swap.max", "0"); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if v.CPU > 0 {
		if err := set("cpu.max", fmt.Sprintf("%d %d", v.CPU*period/1000, period)); err != nil {
			return err
		}
	}
	if v.Pids > 0 {
		return set("pids.max", strconv.FormatUint(v.Pids+Own, 10))
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
	Memory, Pids bool   // the limit was reached
	Kills, Forks uint64 // how many processes were killed, and how many forks refused, for that

	memory, pids int // memory.events and pids.events, -1 when not watched
}

// Open checks that the group at dir has the limits v, and watches it until Close. It makes the
// kernel kill the box as a whole when its memory runs out.
func Open(dir string, v Values) (*Group, error) {
	if err := inForce(dir, v); err != nil {
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

// inForce returns an error unless the group has the limits v.
func inForce(dir string, v Values) error {
	for _, l := range []struct {
		file string
		want uint64
	}{{"memory.max", v.Memory}, {"pids.max", v.Pids}} {
		if l.want == 0 {
			continue
		}
		if l.file == "pids.max" {
			l.want += Own
		}
		text, err := read(dir, l.file)
		if err != nil {
			return err
		}
		if n, err := strconv.ParseUint(text, 10, 64); err != nil || n > l.want {
			return fmt.Errorf("control group %q: %s is %s, not %d", dir, l.file, text, l.want)
		}
	}
	if v.Memory > 0 {
		if err := noSwap(dir, Request{}.swapOn()); err != nil {
			return err
		}
	}
	if v.CPU == 0 {
		return nil
	}
	text, err := read(dir, "cpu.max")
	if err != nil {
		return err
	}
	var quota, of uint64
	if n, _ := fmt.Sscanf(text, "%d %d", &quota, &of); n != 2 || of == 0 || quota*1000 > v.CPU*of {
		return fmt.Errorf("control group %q: cpu.max is %s, not %s", dir, text, CPU(v.CPU))
	}
	return nil
}

// noSwap returns an error unless nothing of the group can be swapped out; on: there is swap.
func noSwap(dir string, on bool) error {
	text, err := read(dir, "memory.swap.max")
	switch {
	case errors.Is(err, os.ErrNotExist) && on:
		return fmt.Errorf("control group %q: %s", dir, swapWhy)
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err == nil && text != "0":
		return fmt.Errorf("control group %q: memory.swap.max is %s, not 0", dir, text)
	}
	return err
}

// read returns the content of a file of the group at dir, without the newline.
func read(dir, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return "", fmt.Errorf("control group: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Watched returns the descriptors that poll reports as exceptional (POLLPRI) when a limit is
// reached; -1 for none.
func (g *Group) Watched() [2]int {
	if g == nil {
		return [2]int{-1, -1}
	}
	return [2]int{g.memory, g.pids}
}

// Look brings the exported fields up to date. It is safe on nil.
func (g *Group) Look() {
	if g == nil {
		return
	}
	// oom_kill alone also counts kills because the whole machine is out of memory.
	if e := events(&g.memory); e["oom"] > 0 && e["oom_kill"] > 0 {
		g.Memory, g.Kills = true, e["oom_kill"]
	}
	if e := events(&g.pids); e["max"] > 0 {
		g.Pids, g.Forks = true, e["max"]
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
