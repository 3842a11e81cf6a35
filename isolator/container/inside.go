package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/proc"
)

// IsInside reports whether this process was started as the first of a container.
func IsInside(args []string) bool {
	return len(args) == 2 && args[0] == paths.BoxSelf && args[1] == wire.ContainerWord
}

// Inside is the life of that process; it returns the exit code.
func Inside() int { return box.RunIn(box.Container{Dial: dialLauncher, Look: look}) }

// dialLauncher connects to the launcher: an engine passes no descriptors.
func dialLauncher() (sock int, err error) {
	if sock, err = unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, err
	}
	return sock, unix.Connect(sock, &unix.SockaddrUnix{Name: wire.ContainerSocket})
}

// look makes sure that the container is what was asked for.
func look(c *wire.Container) error {
	err := rights(c.UID)
	if err == nil && c.NoNet {
		err = onlyLoopback("/proc/net/dev")
	}
	var table []proc.Mount
	if err == nil {
		table, err = mounts("/proc/self/mountinfo")
	}
	if err == nil {
		err = compare(c.Mounts, table, func(p string) bool { return unix.Access(p, unix.W_OK) == nil })
	}
	if err != nil {
		return fmt.Errorf("the container that %s made is not the one that was asked for: %w", c.Engine, err)
	}
	return nil
}

// rights looks at what the process may do.
func rights(want int) error {
	if uid := os.Getuid(); uid != want {
		return fmt.Errorf("the user is %d there, and not %d", uid, want)
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

// mounts reads a table like /proc/self/mountinfo, in which every line must be a mount.
func mounts(file string) ([]proc.Mount, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	table := proc.Mounts(data)
	if len(table) != bytes.Count(data, []byte("\n")) {
		return nil, fmt.Errorf("%s has a line without mount", file)
	}
	return table, nil
}

// engineFiles are what engines mount of their own beside /proc, /sys and /dev.
func engineFiles() []string {
	return []string{"/etc/hostname", "/etc/hosts", "/etc/resolv.conf", "/run/.containerenv"}
}

// compare compares all mounts of the container with those that it must have.
func compare(wanted []wire.ContainerMount, table []proc.Mount, writable func(string) bool) error {
	at := map[string]proc.Mount{}
	for _, m := range table { // of several at one place the last is seen
		at[m.At] = m
	}
	for _, w := range wanted {
		m, there := at[w.Path]
		if !there {
			return fmt.Errorf("nothing is mounted at %q", w.Path)
		}
		if err := named(m, w, writable); err != nil {
			return err
		}
		delete(at, w.Path)
	}
	for _, p := range []string{"/", "/proc/sys"} {
		if m, there := at[p]; !there || m.Write {
			return fmt.Errorf("%q can be written", p)
		}
	}
	if _, masked := at["/proc/keys"]; !masked && unix.Access("/proc/keys", unix.F_OK) == nil {
		return errors.New("your keys in the kernel are listed in /proc/keys")
	}
	for _, m := range at {
		if err := unnamed(m, writable); err != nil {
			return err
		}
	}
	return nil
}

// named says what is wrong with a mount that the plan asks for.
func named(m proc.Mount, w wire.ContainerMount, writable func(string) bool) error {
	can := m.Write
	if w.Tmpfs {
		can = writable(w.Path)
	}
	switch {
	case w.Tmpfs && m.Type != "tmpfs":
		return fmt.Errorf("%q is not an empty folder in memory", w.Path)
	case w.Tmpfs && w.Write && !can:
		return fmt.Errorf("%q cannot be written: in the image it is a folder that not everybody may write", w.Path)
	case !w.Write && can:
		return fmt.Errorf("%q can be written", w.Path)
	}
	return nil
}

// unnamed says what is wrong with a mount that the plan does not name: engines have some
// of their own.
func unnamed(m proc.Mount, writable func(string) bool) error {
	written := false
	switch p := m.At; {
	case p == "/" || paths.Below("/proc", p) || paths.Below("/dev", p):
	case paths.Below("/sys", p):
		written = m.Write && m.Type != "tmpfs"
	case slices.Contains(engineFiles(), p):
		written = m.Write && writable(p)
	default:
		return fmt.Errorf("something is mounted at %q that the profile does not name", p)
	}
	if written {
		return fmt.Errorf("%q can be written", m.At)
	}
	return nil
}
