package plan

import (
	"slices"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Every folder on the way to something that is mounted in the box's own home, and every place
// where other boxes mount something, is bound onto itself before anything goes on top.
func TestOwnHome(t *testing.T) {
	b := &builder{rc: profile.RunConfig{Home: "own"}, f: host.Facts{OwnHome: &host.OwnHome{Path: "/own", Points: []host.HomePoint{{Path: "src/other"}, {Path: ".x/file", File: true}}}}, home: "/home/u"}
	if err := b.ownHome("the home"); err != nil {
		t.Fatal(err)
	}
	b.bind("the working folder", "/home/u/src/app", "/home/u/src/app", true)
	b.tmpfs("below it", 0o700, "/home/u/src/app/.git")
	b.dataFile("a file", nil, "/home/u/.config/git/ignore")
	if err := b.pins(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range b.plan.Ops {
		got = append(got, o.Source+" "+o.Dest)
	}
	want := []string{
		"/own /home/u", "/own/.config /home/u/.config", "/own/.config/git /home/u/.config/git", "/own/.x /home/u/.x",
		"/own/.x/file /home/u/.x/file", "/own/src /home/u/src", "/own/src/other /home/u/src/other",
		"/home/u/src/app /home/u/src/app", " /home/u/src/app/.git", " /home/u/.config/git/ignore",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
	if want := []HomePoint{{Path: "src/app", Source: "/home/u/src/app"}, {Path: ".config/git/ignore", File: true}}; !slices.Equal(b.plan.HomePoints, want) {
		t.Errorf("places %v, want %v", b.plan.HomePoints, want)
	}
}
