package host

import (
	"fmt"
	"slices"
	"testing"
)

func TestTwins(t *testing.T) {
	const table = `27 1 254:0 / / rw - ext4 /dev/vda rw
28 27 254:0 /data/home /home rw - ext4 /dev/vda rw
29 27 254:1 / /srv/disk\040one rw - btrfs /dev/vdb rw
30 27 254:1 /@home/ann/.ssh /home/ann/.ssh rw - btrfs /dev/vdb rw
31 27 254:0 /data/homes /opt/gone rw - ext4 /dev/vda rw
32 27 0:22 / /proc rw - proc proc rw
33 27 0:22 / /opt/proc rw - proc proc rw
34 27 0:4 net:[4026532] /run/netns/x rw - nsfs nsfs rw
35 27 254:2 / /alone rw - ext4 /dev/vdc rw
36 27 254:0 /usr /usr rw - ext4 /dev/vda rw
`
	same := func(p, _ string) Kind {
		if p == "/data/homes" {
			return Missing
		}
		return Dir
	}
	got, mounted := aliasesOf(mountsOf([]byte(table)), same)
	want := []MountAlias{
		{"/data/home", "/home", Dir},
		{"/home", "/data/home", Dir},
		{"/srv/disk one/@home/ann/.ssh", "/home/ann/.ssh", Dir},
		{"/home/ann/.ssh", "/srv/disk one/@home/ann/.ssh", Dir},
	}
	if !slices.Equal(got, want) {
		t.Errorf("aliases %v, want %v", got, want)
	}
	if !slices.Contains(mounted, "/opt/proc") || !slices.Contains(mounted, "/srv/disk one") {
		t.Errorf("mounted %q", mounted)
	}
	if got, mounted := aliasesOf(mountsOf([]byte("27 1 254:0 / / rw - ext4 /dev/vda rw\n")), same); got != nil || mounted != nil {
		t.Errorf("one mount: %v %v", got, mounted)
	}
}

// One folder that is mounted hundreds of times costs one look at each pair.
func TestTwinsOfMany(t *testing.T) {
	var list []mount
	for i := range 400 {
		list = append(list, mount{"254:0", "/data", fmt.Sprintf("/mnt/%d", i)})
	}
	looks := 0
	got, _ := aliasesOf(list, func(_, _ string) Kind { looks++; return Dir })
	if want := 400 * 399; len(got) != want || looks != want/2 {
		t.Errorf("%d aliases and %d looks, want %d and %d", len(got), looks, want, want/2)
	}
}
