package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/launch/wire"
	"github.com/enr/inner/isolator/proc"
)

// What an engine makes is compared with what it was told: each fault is found, and without it
// the container is the right one.
func TestContainerMounts(t *testing.T) {
	spec := &wire.Container{Engine: "podman", Mounts: []wire.ContainerMount{
		{Path: "/home/u", Write: true, Tmpfs: true}, {Path: "/home/u/app", Write: true}, {Path: "/home/u/app/.env"}, {Path: "/run", Tmpfs: true},
	}}
	good := map[string]string{
		"/": "ro ext4", "/proc": "rw proc", "/proc/sys": "ro proc", "/proc/keys": "rw devtmpfs", "/dev": "rw tmpfs", "/dev/shm": "rw tmpfs", "/sys": "ro sysfs",
		"/sys/fs/cgroup": "rw tmpfs", "/etc/hostname": "ro ext4", "/home/u": "rw tmpfs", "/home/u/app": "rw ext4", "/home/u/app/.env": "ro ext4", "/run": "ro tmpfs",
	}
	for _, c := range []struct{ at, is, want string }{
		{"", "", ""},
		{"/", "rw ext4", `"/" can be written`},
		{"/proc/sys", "", `"/proc/sys" can be written`},
		{"/proc/keys", "", "keys in the kernel"},
		{"/home/u/app/.env", "rw ext4", `"/home/u/app/.env" can be written`},
		{"/home/u/app/.env", "", `nothing is mounted at "/home/u/app/.env"`},
		{"/home/u", "rw ext4", `"/home/u" is not an empty folder`},
		{"/run", "rw tmpfs", `"/run" can be written`},
		{"/sys", "rw sysfs", `"/sys" can be written`},
		{"/etc/hostname", "rw ext4", `"/etc/hostname" can be written`},
		{"/run/secrets", "ro tmpfs", `something is mounted at "/run/secrets"`},
		{"/home/u/app/data", "rw ext4", `something is mounted at "/home/u/app/data"`},
	} {
		var table []proc.Mount
		for p, is := range good {
			if p == c.at {
				is = c.is
			}
			if is != "" {
				table = append(table, mountAs(p, is))
			}
		}
		if _, known := good[c.at]; c.at != "" && !known {
			table = append(table, mountAs(c.at, c.is))
		}
		writable := func(p string) bool {
			for _, m := range table {
				if m.At == p {
					return m.Write
				}
			}
			return false
		}
		err := compare(spec.Mounts, table, writable)
		if got := errText(err); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s %q: %q, want %q", c.at, c.is, got, c.want)
		}
	}
}

func mountAs(path, is string) proc.Mount {
	how, kind, _ := strings.Cut(is, " ")
	return proc.Mount{At: path, Write: how == "rw", Type: kind}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A folder in memory that the image made private is no place for the program.
func TestContainerTmpfsOfTheImage(t *testing.T) {
	spec := &wire.Container{Mounts: []wire.ContainerMount{{Path: "/tmp", Write: true, Tmpfs: true}}}
	err := compare(spec.Mounts, []proc.Mount{{At: "/tmp", Type: "tmpfs", Write: true}}, func(string) bool { return false })
	if !strings.Contains(errText(err), `"/tmp" cannot be written`) {
		t.Error(err)
	}
}

func TestNoRights(t *testing.T) {
	good := "Name:\tx\nCapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\nCapBnd:\t0000\nCapAmb:\t0000\nNoNewPrivs:\t1\n"
	for text, want := range map[string]string{
		good: "",
		strings.Replace(good, "CapBnd:\t0000", "CapBnd:\t0400", 1):   "capabilities (CapBnd 0400)",
		strings.Replace(good, "NoNewPrivs:\t1", "NoNewPrivs:\t0", 1): "new privileges",
		strings.Replace(good, "CapEff:\t0000\n", "", 1):              "does not say",
		strings.Replace(good, "CapPrm:\t0000", "CapPrm:\t1", 1):      "capabilities",
	} {
		if got := errText(noRights(text)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBoxMounts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mountinfo")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1 0 0:1 / /a\\040b rw,relatime - ext4 x rw\n2 0 0:1 / /c ro,nosuid shared:1 master:2 - tmpfs y rw\n3 0 0:1 / /c rw - ext4 y rw\n")
	table, err := mounts(file)
	if err != nil || len(table) != 3 || table[0].At != "/a b" || !table[0].Write || table[0].Type != "ext4" || table[1].Write {
		t.Errorf("%+v, %v", table, err)
	}
	write("1 0 0:1 / /a rw\n")
	if _, err := mounts(file); err == nil {
		t.Error("a line without a file system is read")
	}
}

func TestOnlyLoopback(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dev")
	for text, want := range map[string]string{
		"Inter-| Receive\n face |bytes\n    lo: 0 0\n":              "",
		"Inter-| Receive\n face |bytes\n    lo: 0 0\n  eth0: 0 0\n": "network eth0",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := errText(onlyLoopback(file)); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
