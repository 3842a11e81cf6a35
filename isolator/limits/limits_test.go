package limits

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tree makes a host of files: a path that ends in a slash is a folder, one
// whose content is "(read-only)" cannot be written.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		p := filepath.Join(root, path)
		if strings.HasSuffix(path, "/") {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		mode := os.FileMode(0o644)
		text, ro := strings.CutSuffix(text, "(read-only)")
		if ro {
			mode = 0o444
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	group   = "/sys/fs/cgroup"
	plainV2 = "25 20 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	hybrid  = "25 20 0:22 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n26 20 0:23 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
)

// with is a group that its user may divide.
func with(files map[string]string, dir, controllers, on, procs string) map[string]string {
	files[dir+"/cgroup.controllers"] = controllers
	files[dir+"/cgroup.subtree_control"] = on
	files[dir+"/cgroup.procs"] = procs
	files[dir+"/cgroup.events"] = "populated 1"
	files[dir+"/cgroup.type"] = "domain"
	return files
}

func host(own, mounts string) map[string]string {
	return map[string]string{
		"/proc/self/cgroup": "4:memory:/x\n0::" + own + "\n", "/proc/self/mountinfo": mounts,
		"/proc/sys/kernel/osrelease": "6.1.0-test\n",
	}
}

func TestParent(t *testing.T) {
	if os.Getuid() == 0 {
		t.Fatal("root may write everything: run me as a plain user")
	}
	ro := func(files map[string]string, dir string) map[string]string {
		for _, f := range []string{"cgroup.procs", "cgroup.subtree_control"} {
			files[dir+"/"+f] += "(read-only)"
		}
		return files
	}
	root := func(files map[string]string, dir string) map[string]string {
		delete(files, dir+"/cgroup.events")
		delete(files, dir+"/cgroup.type")
		return files
	}
	for _, tc := range []struct {
		name                   string
		files                  map[string]string
		parent, holds, enables string
		why                    string
	}{
		{"no version 2", map[string]string{"/proc/self/cgroup": "3:pids:/\n"}, "", "", "", "the kernel has no control groups of version 2"},
		{"not mounted", host("/", ""), "", "", "", "control groups of version 2 are not mounted, or not those of this process"},
		{"outside the view", host("/../other", plainV2), "", "", "", "control groups of version 2 are not mounted, or not those of this process"},
		{"hybrid, all controllers elsewhere", with(host("/", hybrid), group+"/unified", "hugetlb", "", "1"), "", "", "", "no control group of version 2"},
		{"delegated, with processes of ours above", with(host("/u/shell", plainV2), group+"/u/shell", "memory pids", "", "77"), "", "", "", "no control group of version 2"},
		{
			"the shell is in a leaf", with(with(host("/u/leaf", plainV2), group+"/u", "cpu memory pids", "memory pids", ""), group+"/u/leaf", "memory pids", "", "77"),
			group + "/u", "memory cpu pids", "cpu", "",
		},
		{
			"handed on, not to be changed", func() map[string]string {
				f := with(with(host("/u/leaf", plainV2), group+"/u", "cpu memory pids", "memory pids", ""), group+"/u/leaf", "memory pids", "", "77")
				f[group+"/u/cgroup.subtree_control"] = "memory pids(read-only)"
				return f
			}(),
			group + "/u", "memory pids", "", "",
		},
		{"not ours", ro(with(with(host("/u/leaf", plainV2), group+"/u", "memory pids", "memory pids", ""), group+"/u/leaf", "memory pids", "", "77"), group+"/u"), "", "", "", "no control group of version 2"},
		{"threaded", func() map[string]string {
			f := with(host("/u", plainV2), group+"/u", "memory pids", "pids", "")
			f[group+"/u/cgroup.type"] = "threaded"
			return f
		}(), "", "", "", "no control group of version 2"},
		{"the root of all", root(with(host("/", plainV2), group, "cpu memory pids", "", "1 2 3"), group), group, "memory cpu pids", "memory cpu pids", ""},
		{
			"the one that holds the most", with(with(host("/u/v", plainV2), group+"/u", "cpu memory pids", "cpu memory pids", ""), group+"/u/v", "pids", "pids", ""),
			group + "/u", "memory cpu pids", "", "",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tree(t, tc.files)
			got := Probe(Request{Root: dir, UID: 1000}).Group
			if got.Parent != tc.parent || strings.Join(got.Holds, " ") != tc.holds || strings.Join(got.Enable, " ") != tc.enables || !strings.HasPrefix(got.Why, tc.why) || (got.Why == "") != (tc.why == "") {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestManager has a manager's socket answer, and not.
func TestManager(t *testing.T) {
	uid := os.Getuid()
	service := fmt.Sprintf("%s/user.slice/user-%d.slice/user@%d.service", group, uid, uid)
	base := with(host("/x", plainV2), service, "memory pids", "memory pids", "")
	find := func(name string) (string, string) { return "/usr/bin/" + name, "" }
	probe := func(root, runtime string) Manager {
		return Probe(Request{Root: root, UID: uid, Runtime: runtime, Find: find}).Systemd
	}
	if uid == 0 {
		t.Fatal("root asks the system's manager: run me as a plain user")
	}
	root := tree(t, base)
	if m := probe(root, ""); !strings.Contains(m.Why, "XDG_RUNTIME_DIR") {
		t.Errorf("without a runtime folder: %+v", m)
	}
	if m := probe(root, "/run/u"); !strings.Contains(m.Why, "no such file") {
		t.Errorf("without a socket: %+v", m)
	}
	// The path of a socket is at most 107 bytes.
	short, err := os.MkdirTemp("/tmp", "l")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	if err := os.CopyFS(short, os.DirFS(root)); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(short, "run/u/systemd"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(short, "run/u/systemd/private"))
	if err != nil {
		t.Fatal(err)
	}
	m := probe(short, "/run/u")
	if m.Why != "" || strings.Join(m.Holds, " ") != "memory pids" {
		t.Errorf("with one that answers: %+v", m)
	}
	// cpu it was not given: another engine, or none.
	p, missing := Choose(Values{Memory: 1 << 30, CPU: 1500, Pids: 10}, Host{Systemd: m})
	want := "/usr/bin/systemd-run --user --scope --quiet --collect --no-ask-password -p MemoryMax=1073741824 -p MemorySwapMax=0 -p TasksMax=34 -- /usr/bin/env -i"
	if got := strings.Join(p.Scope, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(missing) != 1 || missing[0].Key != "cpu" || !strings.Contains(missing[0].Why, "holds only memory, pids") {
		t.Errorf("missing: %+v", missing)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if m := probe(short, "/run/u"); !strings.Contains(m.Why, "connection refused") {
		t.Errorf("with one that is gone: %+v", m)
	}
}

func TestChoose(t *testing.T) {
	systemd := Manager{Run: "/r", Env: "/e", User: true, Runtime: "/run/u", Holds: []string{"memory", "pids"}}
	parent := Parent{Parent: "/g", Holds: []string{"memory", "cpu", "pids"}, Enable: []string{"cpu", "pids"}}
	none := Host{Systemd: Manager{Why: "no manager"}, Group: Parent{Why: "no group"}}
	for _, tc := range []struct {
		name          string
		v             Values
		h             Host
		held, missing string
	}{
		{"nothing", Values{}, none, "", ""},
		{"what needs no help", Values{Files: 64, FileSize: 1 << 20, Disk: 3 << 19}, none, "files 64 rlimit, file_size 1 MiB rlimit, disk 1.5 MiB tmpfs", ""},
		{"processes alone", Values{Pids: 5}, none, "pids 5 rlimit", ""},
		{"all of them", Values{1 << 31, 1500, 5, 64, 10, 20}, Host{Group: parent}, "memory 2 GiB cgroup, cpu 1.5 processors cgroup, pids 5 cgroup, files 64 rlimit, file_size 10 bytes rlimit, disk 20 bytes tmpfs", ""},
		{"systemd first", Values{Memory: 1 << 31, Pids: 5}, Host{Systemd: systemd, Group: parent}, "memory 2 GiB systemd-run, pids 5 systemd-run", ""},
		{"one group that holds more", Values{Memory: 1 << 31, CPU: 500}, Host{Systemd: systemd, Group: parent}, "memory 2 GiB cgroup, cpu 0.5 processors cgroup", ""},
		{"nothing for memory and cpu", Values{Memory: 1 << 31, CPU: 500, Pids: 4}, none, "pids 4 rlimit", "memory 2 GiB (no manager; no group), cpu 0.5 processors (no manager; no group)"},
		{"root", Values{Pids: 4}, Host{Systemd: none.Systemd, Group: none.Group, NprocWhy: "root"}, "", "pids 4 (no manager; no group; root)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, missing := Choose(tc.v, tc.h)
			var held, not []string
			if p != nil {
				for _, h := range p.Held {
					held = append(held, fmt.Sprintf("%s %s %s", h.Key, h.Text, h.Engine))
				}
			}
			for _, m := range missing {
				not = append(not, fmt.Sprintf("%s %s (%s)", m.Key, m.Text, m.Why))
			}
			if strings.Join(held, ", ") != tc.held || strings.Join(not, ", ") != tc.missing {
				t.Errorf("held %s\nmissing %s", strings.Join(held, ", "), strings.Join(not, ", "))
			}
		})
	}
	p, _ := Choose(Values{Memory: 1 << 31, Pids: 5}, Host{Group: parent})
	if p.FolderOf("7") != "/g/inner-7" || !slices.Equal(p.Enable, []string{"pids"}) || p.Group != (Values{Memory: 1 << 31, Pids: 5}) {
		t.Errorf("%+v", p)
	}
}

func TestNproc(t *testing.T) {
	for release, holds := range map[string]bool{"6.18.1-x": true, "5.14": true, "5.13.9": false, "4.19.0": false, "": false} {
		root := tree(t, map[string]string{"/proc/sys/kernel/osrelease": release + "\n"})
		if why := (Request{Root: root, UID: 1000}).nproc(); (why == "") != holds {
			t.Errorf("%q: %q", release, why)
		}
		if why := (Request{Root: root}).nproc(); why == "" {
			t.Errorf("%q: root is held", release)
		}
	}
}

// TestGroup writes a group's files and reads them back, with a folder in the
// place of the kernel's.
func TestGroup(t *testing.T) {
	dir := tree(t, map[string]string{
		"memory.max": "", "memory.swap.max": "", "memory.oom.group": "0", "cpu.max": "", "pids.max": "",
		"memory.events": "low 0\noom 0\noom_kill 0\n", "pids.events": "max 0\n",
	})
	v := Values{Memory: 1 << 20, CPU: 1500, Pids: 5}
	if err := fill(dir, v); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"memory.max": "1048576", "memory.swap.max": "0", "cpu.max": "150000 100000", "pids.max": strconv.Itoa(5 + Own)} {
		if got, _ := os.ReadFile(filepath.Join(dir, file)); string(got) != want {
			t.Errorf("%s: %q, not %q", file, got, want)
		}
	}
	g, err := Open(dir, v)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if got, _ := os.ReadFile(filepath.Join(dir, "memory.oom.group")); string(got) != "1" {
		t.Errorf("memory.oom.group: %q", got)
	}
	if keys := g.Reached(); keys != nil {
		t.Errorf("nothing was reached: %v", keys)
	}
	// The machine ran out of memory, not the group.
	if err := os.WriteFile(filepath.Join(dir, "memory.events"), []byte("oom 0\noom_kill 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if g.Reached() != nil {
		t.Error("the machine's want of memory is taken for the limit")
	}
	for file, text := range map[string]string{"memory.events": "oom 1\noom_kill 1\n", "pids.events": "max 3\n"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if keys := g.Reached(); !slices.Equal(keys, []string{"memory", "pids"}) {
		t.Errorf("reached: %v", keys)
	}
	if keys := g.Reached(); keys != nil {
		t.Errorf("reached again: %v", keys)
	}
	// What a group does not say is not in force.
	for _, says := range [][2]string{{"memory.max", "max"}, {"memory.swap.max", "max"}, {"memory.swap.max", "4096"}, {"cpu.max", "max 100000"}, {"pids.max", "500"}} {
		file, text := says[0], says[1]
		old, _ := os.ReadFile(filepath.Join(dir, file))
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir, v); err == nil || !strings.Contains(err.Error(), file+" is "+text) {
			t.Errorf("%s = %q: %v", file, text, err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), old, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Without this file the kernel counts no swap.
	if err := os.Remove(filepath.Join(dir, "memory.swap.max")); err != nil {
		t.Fatal(err)
	}
	if err := inForce(dir, v, false); err != nil {
		t.Errorf("nowhere to swap to: %v", err)
	}
	if err := inForce(dir, v, true); err == nil || !strings.Contains(err.Error(), swapWhy) {
		t.Errorf("swap on: %v", err)
	}
	var none *Group
	none.Look()
	none.Close()
}

func TestRemove(t *testing.T) {
	base := t.TempDir()
	for _, bad := range []string{base, "inner-1", ""} {
		if err := Remove(bad); err == nil {
			t.Errorf("%q was removed", bad)
		}
	}
	if err := Remove(base + "/inner-1"); err != nil {
		t.Errorf("one that is gone: %v", err)
	}
	if err := os.Mkdir(base+"/inner-1", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Remove(base + "/inner-1"); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(base + "/inner-1"); !errors.Is(err, os.ErrNotExist) {
		t.Error("it is still there")
	}
}

func TestWords(t *testing.T) {
	for n, want := range map[uint64]string{1500: "1.5 processors", 10: "0.01 processors", 1000: "1 processor", 2000: "2 processors"} {
		if got := CPU(n); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}

// TestTrueGroup makes a control group of the kernel's and runs into its
// limits. That takes a machine with a group that may be divided.
func TestTrueGroup(t *testing.T) {
	h := Probe(Request{UID: os.Getuid()})
	held := false
	for _, c := range []struct {
		name string
		v    Values
		run  string
	}{
		{"pids", Values{Pids: 5}, "for i in $(seq 200); do sleep 5 & done 2>/dev/null; wait"},
		{"memory", Values{Memory: 16 << 20}, "head -c 200M /dev/zero | tail -c 199M >/dev/null"},
	} {
		if !slices.Contains(h.Group.Holds, c.name) {
			continue
		}
		held = true
		p, _ := Choose(c.v, Host{Group: h.Group})
		p.Folder = p.FolderOf("test-" + strconv.Itoa(os.Getpid()))
		if err := p.Make(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = Remove(p.Folder) })
		g, err := Open(p.Folder, c.v)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		dir, err := unix.Open(p.Folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", c.run)
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: dir}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(2 * time.Minute); !slices.Contains(g.Reached(), c.name); {
			if time.Now().After(end) {
				t.Fatalf("%s: the limit was not reached", c.name)
			}
			fds := g.Watched()
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(max(fds[0], fds[1])), Events: unix.POLLPRI}}, 100)
		}
		if err := Remove(p.Folder); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		_ = cmd.Wait()
		unix.Close(dir)
	}
	if !held {
		fmt.Fprintf(os.Stderr, "inner: not run here: a control group of the kernel's (%s)\n", h.Group.Why)
	}
}
