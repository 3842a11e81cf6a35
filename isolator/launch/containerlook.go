package launch

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
)

// containerSpec is what a container must be before the program starts in it. An engine has
// settings of its own, and versions that differ: what it was told is looked at.
type containerSpec struct {
	Engine string
	Mounts []plan.ContainerMount
	Filter []byte
	UID    int
	NoNet  bool
}

func (c *containerSpec) encode(e *encoder) {
	e.str(c.Engine)
	e.u32(uint32(len(c.Mounts)))
	for _, m := range c.Mounts {
		e.str(m.Path)
		e.u32(uint32(boolByte(m.Write)))
		e.u32(uint32(boolByte(m.Tmpfs)))
	}
	e.str(string(c.Filter))
	e.u32(uint32(c.UID))
	e.u32(uint32(boolByte(c.NoNet)))
}

func (c *containerSpec) decode(d *decoder) {
	c.Engine = d.str()
	for n := d.u32(); n > 0 && !d.bad; n-- {
		c.Mounts = append(c.Mounts, plan.ContainerMount{Path: d.str(), Write: d.u32() != 0, Tmpfs: d.u32() != 0})
	}
	c.Filter = []byte(d.str())
	c.UID, c.NoNet = int(d.u32()), d.u32() != 0
}

// look makes sure that the container is what it must be.
func (c *containerSpec) look() error {
	if c == nil {
		return nil
	}
	err := c.rights()
	if err == nil && c.NoNet {
		err = onlyLoopback("/proc/net/dev")
	}
	if err == nil {
		var table []boxMount
		if table, err = boxMounts("/proc/self/mountinfo"); err == nil {
			err = c.mounts(table, func(p string) bool { return unix.Access(p, unix.W_OK) == nil })
		}
	}
	if err != nil {
		return fmt.Errorf("the container that %s made is not the one that was asked for: %w", c.Engine, err)
	}
	return nil
}

// rights looks at what the process may do.
func (c *containerSpec) rights() error {
	if uid := os.Getuid(); uid != c.UID {
		return fmt.Errorf("the user is %d there, and not %d", uid, c.UID)
	}
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	return noRights(string(data))
}

func noRights(status string) error {
	seen := 0
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb":
			if seen++; strings.Trim(value, "0") != "" {
				return fmt.Errorf("it has capabilities (%s %s)", key, value)
			}
		case "NoNewPrivs":
			if seen++; value != "1" {
				return errors.New("programs can get new privileges")
			}
		}
	}
	if seen != 6 {
		return errors.New("/proc/self/status does not say what it may do")
	}
	return nil
}

// onlyLoopback looks at a table like /proc/net/dev.
func onlyLoopback(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name != "lo" {
			return fmt.Errorf("it has the network %s", name)
		}
	}
	return nil
}

// boxMount is a mount as the kernel lists it.
type boxMount struct {
	path     string
	readOnly bool
	kind     string // of its file system
}

// boxMounts reads a table like /proc/self/mountinfo. Of several mounts at one place the last
// is seen.
func boxMounts(file string) ([]boxMount, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []boxMount
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		dash := slices.Index(words, "-")
		if dash < 6 || dash+1 >= len(words) {
			return nil, fmt.Errorf("%s has a line without mount", file)
		}
		m := boxMount{path: unescaped(words[4]), readOnly: slices.Contains(strings.Split(words[5], ","), "ro"), kind: words[dash+1]}
		out = append(slices.DeleteFunc(out, func(o boxMount) bool { return o.path == m.path }), m)
	}
	return out, lines.Err()
}

// unescaped reads the \040 of proc(5).
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// engineFiles are what engines mount of their own beside /proc, /sys and /dev.
func engineFiles() []string {
	return []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"}
}

// mounts compares all mounts of the container with those that it must have.
func (c *containerSpec) mounts(table []boxMount, writable func(string) bool) error {
	at := map[string]boxMount{}
	for _, m := range table {
		at[m.path] = m
	}
	for _, w := range c.Mounts {
		m, there := at[w.Path]
		switch {
		case !there:
			return fmt.Errorf("nothing is mounted at %q", w.Path)
		case w.Tmpfs && m.kind != "tmpfs":
			return fmt.Errorf("%q is not an empty folder in memory", w.Path)
		case w.Tmpfs && w.Write && !writable(w.Path):
			return fmt.Errorf("%q cannot be written: in the image it is a folder that not everybody may write", w.Path)
		case w.Tmpfs && !w.Write && writable(w.Path), !w.Tmpfs && !w.Write && !m.readOnly:
			return fmt.Errorf("%q can be written", w.Path)
		}
		delete(at, w.Path)
	}
	for _, p := range []string{"/", "/proc/sys"} {
		if m, there := at[p]; !there || !m.readOnly {
			return fmt.Errorf("%q can be written", p)
		}
	}
	if _, masked := at["/proc/keys"]; !masked && unix.Access("/proc/keys", unix.F_OK) == nil {
		return errors.New("your keys in the kernel are listed in /proc/keys")
	}
	for p, m := range at {
		switch {
		case p == "/" || paths.Below("/proc", p) || paths.Below("/dev", p):
		case paths.Below("/sys", p):
			if !m.readOnly && m.kind != "tmpfs" {
				return fmt.Errorf("%q can be written", p)
			}
		case slices.Contains(engineFiles(), p):
			if !m.readOnly && writable(p) {
				return fmt.Errorf("%q can be written", p)
			}
		default:
			return fmt.Errorf("something is mounted at %q that the profile does not name", p)
		}
	}
	return nil
}
