package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// TestLandlockAsked: what is asked of Landlock follows the kernel and the
// profile, and a profile that requires it does not start without.
func TestLandlockAsked(t *testing.T) {
	x11 := &host.Display{Kind: "x11", Name: ":0"}
	for _, c := range []struct {
		name    string
		abi     int
		rc      profile.RunConfig
		display *host.Display
		want    string // s: signals, a: abstract sockets, w: writes; refused
	}{
		{"no kernel", 0, profile.RunConfig{Landlock: "auto"}, nil, ""},
		{"without REFER", 1, profile.RunConfig{Landlock: "auto"}, nil, ""},
		{"files only", 5, profile.RunConfig{Landlock: "auto"}, nil, "w"},
		{"all", 7, profile.RunConfig{Landlock: "auto"}, nil, "saw"},
		{"required", 6, profile.RunConfig{Landlock: "required"}, nil, "saw"},
		{"required, too old", 5, profile.RunConfig{Landlock: "required"}, nil, "refused"},
		{"required, none", 0, profile.RunConfig{Landlock: "required"}, nil, "refused"},
		{"off", 7, profile.RunConfig{Landlock: "off"}, nil, ""},
		{"containers mount", 7, profile.RunConfig{Landlock: "auto", Allow: []string{nestedKey}}, nil, "sa"},
		{"network", 7, profile.RunConfig{Landlock: "auto", Network: profile.NetFull}, nil, "saw"},
		{"network and X11", 7, profile.RunConfig{Landlock: "auto", Network: profile.NetFull, Clipboard: true}, x11, "sw"},
		{"X11 alone", 7, profile.RunConfig{Landlock: "auto", Network: profile.NetOff, Clipboard: true}, x11, "saw"},
	} {
		b := &builder{rc: c.rc, f: host.Facts{Landlock: c.abi, Display: c.display}, allowed: map[string]bool{}}
		for _, k := range c.rc.Allow {
			b.allowed[k] = true
		}
		got := ""
		if r := fault.AsRefusal(b.landlock()); r != nil {
			got = "refused"
			if r.Code != 125 || r.Hint != "inner doctor" {
				t.Errorf("%s: %+v", c.name, r)
			}
		} else if l := b.plan.Landlock; l != nil {
			for _, part := range []struct {
				on   bool
				word string
			}{{l.Signals, "s"}, {l.Abstract, "a"}, {l.Writes, "w"}} {
				if part.on {
					got += part.word
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLandlockWritable: what is meant to be written, once; not what is there to
// hide something.
func TestLandlockWritable(t *testing.T) {
	b := &builder{s: Staged{Binds: []Bind{{Box: paths.BoxBlocked}}}}
	b.bind("", "/", "/", false)
	b.op(Op{Kind: OpDev, Dest: "/dev"})
	b.tmpfs("", 0o1777, "/tmp")
	b.tmpfsMask("", "/home")
	b.bind("", "/home/u", "/home/u", false)
	b.bind("", "/home/u/app", "/home/u/app", true)
	b.bind("", "/home/u/app/.git", "/home/u/app/.git", true)
	b.bind("", "/home/u/app/.inner", "/home/u/app/.inner", false)
	b.bind("", "/home/u/other", "/home/u/other", true)
	b.tmpfs("", 0o555, "/home/u/other") // hidden after all
	if got, want := b.writableFolders(), []string{"/dev", "/home/u/app", "/proc", paths.BoxBlocked, "/tmp"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
