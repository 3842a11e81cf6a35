package launch

import (
	"strings"
	"testing"
)

// A bwrap that was started early makes the box of a plan, or is ended where it cannot: then another one makes that. It is
// ended, too, when there is no run, and nobody hears of it.
func TestEarly(t *testing.T) {
	long := sh("echo $0")
	long.Args = []string{"--setenv", "LONG", strings.Repeat("x", 64<<10)}
	files := sh("cat /tmp/8")
	for i := range earlyData + 1 {
		name := string(rune('0' + i))
		files.Data = append(files.Data, []byte(name))
		files.Args = append(files.Args, "--file", "1"+name, "/tmp/"+name)
	}
	few := files
	few.Argv, few.Data, few.Args = sh("cat /tmp/7").Argv, files.Data[:earlyData], files.Args[:3*earlyData]
	none := sh("echo ran")
	none.Dir = "\x00"
	for _, c := range []struct {
		job
		name, want string
	}{{long, "long", "/bin/sh\n"}, {files, "files", "8"}, {few, "few", "7"}, {none, "no run", ""}} {
		c.Mark = marked()
		r, out, errs := c.run(t)
		if out != c.want || errs != "" || r.Started != (c.want != "") {
			t.Errorf("%s: %q, %q, %+v", c.name, out, errs, r)
		}
		gone(t, c.Mark)
	}
}
