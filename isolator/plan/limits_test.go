package plan

import (
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/profile"
)

// TestLimits holds what the machine can hold, and refuses the rest.
func TestLimits(t *testing.T) {
	none := &limits.Host{Systemd: limits.Manager{Why: "no manager"}, Group: limits.Parent{Why: "no group"}}
	group := &limits.Host{Systemd: none.Systemd, Group: limits.Parent{Parent: "/sys/fs/cgroup/u", Holds: []string{"memory", "cpu", "pids"}}}
	open := &limits.Host{Systemd: none.Systemd, Group: group.Group, Open: true}
	all := profile.Limits{Memory: "2G", CPU: "150%", Pids: "64", Files: "99", FileSize: "1G", Disk: "10M"}
	for _, tc := range []struct {
		name    string
		limits  profile.Limits
		host    *limits.Host
		loose   bool
		allow   []string
		refused string
		held    string
	}{
		{name: "none", host: none},
		{name: "in a group", limits: all, host: group, held: "memory=cgroup cpu=cgroup pids=cgroup files=rlimit file_size=rlimit disk=tmpfs"},
		{name: "no group", limits: all, host: none, refused: "the memory limit 2 GiB, the cpu limit 1.5 processors cannot be held on this host (no manager; no group)"},
		{name: "no group, not required", limits: all, host: none, loose: true, held: "pids=rlimit files=rlimit file_size=rlimit disk=tmpfs"},
		{name: "processes", limits: profile.Limits{Pids: "64"}, host: none, held: "pids=rlimit"},
		{name: "a group of its own to change", limits: all, host: open, allow: []string{nestedKey}, refused: "can change its control group; they are mounted without nsdelegate"},
		{name: "the same without that key", limits: all, host: open, held: "memory=cgroup cpu=cgroup pids=cgroup files=rlimit file_size=rlimit disk=tmpfs"},
		{name: "processes with ids of their own", limits: profile.Limits{Pids: "64"}, host: none, allow: []string{nestedKey}, refused: "has more than one count of processes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rc, f := config(), nestedMachine()
			rc.Limits, rc.LimitsLoose, rc.Allow, f.Limits = tc.limits, tc.loose, tc.allow, tc.host
			plan, err := build(rc, f, staged())
			if tc.refused != "" {
				r := fault.AsRefusal(err)
				if r == nil || r.Code != 125 || !strings.Contains(r.Msg, tc.refused) || !strings.Contains(r.Hint, "limits_required = false") {
					t.Errorf("%+v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var held []string
			if plan.Limits != nil {
				for _, h := range plan.Limits.Held {
					held = append(held, h.Key+"="+string(h.Engine))
				}
			}
			if strings.Join(held, " ") != tc.held {
				t.Errorf("held: %q", held)
			}
		})
	}
}

// TestLimitOfDisk gives every folder in memory its size, and closes /dev, where
// it cannot be given.
func TestLimitOfDisk(t *testing.T) {
	rc := config()
	for _, disk := range []string{"", "10M"} {
		rc.Limits.Disk = disk
		plan, err := build(rc, machine(), staged())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, o := range plan.Ops {
			if o.Kind == OpTmpfs {
				n++
				if sized := o.Size == 10485760; sized != (disk != "" && o.Dest != "/run") { // /run is sealed
					t.Errorf("disk %q: %q", disk, o.Words())
				}
			}
		}
		if n < 3 {
			t.Errorf("%d folders in memory", n)
		}
		words := plan.Words()
		if got := after(words, "--dev", "/dev", "--tmpfs", "/dev/shm", "--remount-ro", "/dev"); got != (disk != "") {
			t.Errorf("disk %q: /dev is closed: %t", disk, got)
		}
		if plan.Limits != nil != (disk != "") {
			t.Errorf("disk %q: %+v", disk, plan.Limits)
		}
	}
}
