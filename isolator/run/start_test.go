package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

// Another plan, after a start that failed, has what the first one had: the marker of a box.
func TestAgain(t *testing.T) {
	work := t.TempDir()
	app := filepath.Join(work, "home", "app")
	if err := os.MkdirAll(app, 0o700); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(work, "home", ".inner")
	who := &caller.Caller{Home: filepath.Join(work, "home"), InnerHome: inner, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	text := "schema_version = \"1\"\n[sandbox]\nhome = \"isolated\"\n[entrypoint]\ncmd = \"/bin/sh\"\n"
	s := settings.Of(who)
	place, err := s.At(app)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Loader(place).LoadBytes(profile.File{Path: filepath.Join(app, "test.toml"), Data: []byte(text)}, profile.Direct)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Context(place, profile.Overrides{}, false)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Show(s, Call{Profile: p, Context: c}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	marked := func() bool {
		return slices.ContainsFunc(b.Plan.Ops, func(o plan.Op) bool { return o.Dest == paths.BoxMarker })
	}
	if !marked() {
		t.Fatal("the first plan has no marker")
	}
	b.Facts.MoveMount = true
	if b.Result.Reason = "a mount of the sandbox cannot be made from outside: no memory"; b.learned() {
		t.Error("what somebody may cause has bwrap make the masks")
	}
	b.Result.Forbidden = true
	if !b.learned() || !b.again() {
		t.Fatal("there is no other plan")
	}
	if b.learned() {
		t.Error("the same plan is made again")
	}
	if !marked() {
		t.Error("the other plan has no marker")
	}
}
