package profile

import (
	"strings"
	"testing"
	"time"
)

func TestNarrower(t *testing.T) {
	base := RunConfig{Workdir: "/w", WorkdirMode: RO, Base: "host", Home: "isolated", Network: NetOff, GitDir: "ro"}
	for _, c := range []struct {
		what     string
		from, to func(*RunConfig)
		want     string // part of the one line, "" for none
	}{
		{"the same", func(*RunConfig) {}, func(*RunConfig) {}, ""},
		{"read, then written", func(*RunConfig) {}, func(c *RunConfig) { c.WorkdirMode = RW }, ""},
		{"written, then read", func(c *RunConfig) { c.WorkdirMode = RW }, func(*RunConfig) {}, "can change files in"},
		{"a list of hosts, then all", func(c *RunConfig) { c.Network, c.NetworkAllow = NetAllowlist, []string{"a.example"} }, func(c *RunConfig) { c.Network = NetFull }, ""},
		{"all hosts, then a list", func(c *RunConfig) { c.Network = NetFull }, func(c *RunConfig) { c.Network, c.NetworkAllow = NetAllowlist, []string{"a.example"} }, "can use the network"},
		{"a host less", func(c *RunConfig) { c.Network, c.NetworkAllow = NetAllowlist, []string{"a.example", "b.example"} }, func(c *RunConfig) { c.Network, c.NetworkAllow = NetAllowlist, []string{"a.example"} }, "b.example"},
		{"less hidden", func(c *RunConfig) { c.Hide = []string{"/w/x"} }, func(*RunConfig) {}, ""},
		{"more hidden", func(*RunConfig) {}, func(c *RunConfig) { c.Hide = []string{"/w/x"} }, "/w/x"},
		{"a mount of what is in a writable folder", func(c *RunConfig) { c.Mounts = []Mount{{Source: "/w/a", Dest: "/w/a", Mode: RW}} }, func(c *RunConfig) { c.WorkdirMode = RW }, ""},
		{"a mount elsewhere", func(c *RunConfig) { c.Mounts = []Mount{{Source: "/w/a", Dest: "/a", Mode: RW}} }, func(c *RunConfig) { c.WorkdirMode = RW }, "/w/a"},
		{"a mount of the host", func(c *RunConfig) { c.Mounts = []Mount{{Source: "/srv", Dest: "/srv", Mode: RO}} }, func(c *RunConfig) { c.Home = "host" }, ""},
		{"a listed home, then all of it", func(c *RunConfig) { c.HomeAllow = []string{"/home/u/x"} }, func(c *RunConfig) { c.Home = "host" }, ""},
		{"all of the home, then a list", func(c *RunConfig) { c.Home = "host" }, func(*RunConfig) {}, "only what is listed"},
		{"a higher limit", func(c *RunConfig) { c.Limits.Memory = "1G" }, func(c *RunConfig) { c.Limits.Memory = "2048M" }, ""},
		{"a lower limit", func(c *RunConfig) { c.Limits.Memory = "1G" }, func(c *RunConfig) { c.Limits.Memory = "512M" }, "512M"},
		{"a new limit", func(*RunConfig) {}, func(c *RunConfig) { c.Limits.Pids = "9" }, "processes 9"},
		{"more time", func(c *RunConfig) { c.Output.Timeout = time.Minute }, func(c *RunConfig) { c.Output.Timeout = time.Hour }, ""},
		{"less time", func(*RunConfig) {}, func(c *RunConfig) { c.Output.Timeout = time.Hour }, "time 1h"},
		{"git written", func(*RunConfig) {}, func(c *RunConfig) { c.GitDir = "checked" }, ""},
		{"another program", func(c *RunConfig) { c.Entrypoint.Written = []string{"a"} }, func(c *RunConfig) { c.Entrypoint.Written = []string{"b"} }, ""},
	} {
		from, to := base, base
		c.from(&from)
		c.to(&to)
		var texts []string
		for _, g := range Narrower(from, to) {
			texts = append(texts, g.Text)
		}
		if got := strings.Join(texts, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
