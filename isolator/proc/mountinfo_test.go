package proc

import (
	"os"
	"reflect"
	"testing"
)

func TestMounts(t *testing.T) {
	const text = `23 1 254:1 / / rw,relatime shared:1 master:2 - ext4 /dev/vda1 rw,errors=remount-ro
31 23 0:26 /../.. /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw
40 23 254:1 /a\040b /c\134\011\012\043 ro - ext4 /dev/with\040blank rw
41 23 254:1 /x /y rw - ext4 /dev/vda1 ro

not a line - of it
50 23 0:4 mnt:[4026532] /ns rw shared:5 - nsfs nsfs rw
60 23 0:67 / /mnt rw - tmpfs  rw
`
	got, points := Mounts([]byte(text)), Points([]byte(text))
	want := []Mount{
		{"254:1", "/", "/", "ext4", true},
		{"0:26", "/../..", "/sys/fs/cgroup", "cgroup2", true},
		{"254:1", "/a b", "/c\\\t\n#", "ext4", false},
		{"254:1", "/x", "/y", "ext4", false},
		{"0:4", "mnt:[4026532]", "/ns", "nsfs", true},
		{"0:67", "/", "/mnt", "tmpfs", true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant\n%+v", got, want)
	}
	for _, m := range got {
		if !points[m.At] {
			t.Errorf("nothing is mounted at %q", m.At)
		}
	}
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || len(Mounts(data)) == 0 {
		t.Errorf("this process has no mounts: %v", err)
	}
}
