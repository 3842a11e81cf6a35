package launch

import (
	"strings"
	"testing"
	"time"
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

// A bwrap that ends before it has read its words, which are more than a pipe has room for, is not waited for.
func TestEarlyEnds(t *testing.T) {
	for _, early := range []time.Duration{0, 1} {
		j := sh("echo never")
		j.Bwrap = writeFile(t, "bwrap", "#!/bin/sh\nkill -9 $$\n", 0o755)
		j.Args = []string{"--setenv", "LONG", strings.Repeat("x", 2<<20)}
		j.Early, j.Mark = early, marked()
		r, out, errs := j.run(t)
		if r.Code != 125 || r.Started || out != "" || !strings.Contains(errs+r.Reason, "killed by signal 9") {
			t.Errorf("%q, %q, %+v", out, errs, r)
		}
		gone(t, j.Mark)
	}
}
