package features

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/plan"
)

// A user that the password file does not know is added to the host's; one that it knows needs nothing.
func TestWhoIAm(t *testing.T) {
	host, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		etc, name string
		id        int
		want      string // of passwd, after what the host has
		fails     bool
	}{
		{"host", "ann", 54321, string(host) + "ann:x:54321:54321::/home/ann:/bin/sh\n", false},
		{"minimal", "ann", 54321, "ann:x:54321:54321::/home/ann:/bin/sh\n", false},
		{"minimal", "root", 0, "root:x:0:0::/home/ann:/bin/sh\n", false},
		{"host", "root", 0, "", false},
		{"host", "a:b", 54321, "", false},
		{"minimal", "a:b", 54321, "", true},
	} {
		run := new(Run)
		run.Spec.Etc, run.Facts.User, run.Facts.UID, run.Facts.GID, run.Facts.Home = c.etc, c.name, c.id, c.id, "/home/ann"
		if err := whoIAm(run); (err != nil) != c.fails {
			t.Errorf("%+v: %v", c, err)
		}
		got := map[string]string{}
		for _, f := range run.Assets.Parts {
			got[f.Op.Dest] = string(f.Data)
		}
		if got["/etc/passwd"] != c.want {
			t.Errorf("%s, %s: passwd is %q", c.etc, c.name, got["/etc/passwd"])
		}
		if group := got["/etc/group"]; (group == "") != (c.want == "") || c.id == 54321 && c.want != "" && !strings.HasSuffix(group, "ann:x:54321:\n") {
			t.Errorf("%s, %s: group is %q", c.etc, c.name, group)
		}
	}
}

// What ssh's settings include of root's is copied, also what that includes; what is the user's own, or
// anybody's, stays as it is, and so does what cannot be read.
func TestIncluded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	mine := write("mine", "Port 1\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.conf")); err != nil {
		t.Fatal(err)
	}
	settings := write("settings", "# Include /etc/shells\nHost x\n  include \"/etc/hostn[a]me\" "+mine+" ../group /none\nInclude="+dir+"/*.conf\n")
	want := []string{files.Real("/etc/hostname"), "/etc/group", "/etc/passwd"}
	if os.Geteuid() == 0 {
		want = slices.Insert(want, 1, mine)
	}
	var got []string
	for _, f := range included(settings, nil) {
		got = append(got, f.Op.Dest)
		if text, err := os.ReadFile(f.Op.Dest); err != nil || string(text) != string(f.Data) {
			t.Errorf("%s: %q %v", f.Op.Dest, f.Data, err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	round := write("round", "Include "+mine+"\n")
	if found := included(round, []string{mine}); slices.ContainsFunc(found, func(f plan.Part) bool { return f.Op.Dest == mine }) {
		t.Error("a file that includes itself is read again")
	}
}
