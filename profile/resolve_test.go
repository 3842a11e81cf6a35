package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// context is that of a person standing in the project's pkg folder.
func (w *world) context() Context {
	env := map[string]string{"SHELL": "/bin/zsh", "GOPATH": w.home + "/go", "EMPTY": "", "REL": "rel", "STAR": "/a*b"}
	return Context{
		Home: w.home, InnerHome: w.inner, UID: 1000, Cwd: filepath.Join(w.project, "pkg"), Project: w.project,
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func resolveWorld(t testing.TB, text string) (*world, *Profile) {
	t.Helper()
	w := newWorld(t, map[string]string{"local/p": "V1\n" + text})
	for _, dir := range []string{"src/app/pkg", "src/app/data", "data", "other/app", "box/in", "link-target", ".ssh", ".inner/workspaces"} {
		must(t, os.MkdirAll(filepath.Join(w.home, dir), 0o700))
	}
	must(t, os.WriteFile(filepath.Join(w.home, "file"), nil, 0o600))
	must(t, os.Symlink(filepath.Join(w.home, ".inner"), filepath.Join(w.home, "sneaky")))
	must(t, os.Symlink(w.project, filepath.Join(w.home, "alias")))
	must(t, os.Symlink("/run", filepath.Join(w.home, "run")))
	p, err := w.load("p")
	must(t, err)
	return w, p
}

func TestResolveDefaults(t *testing.T) {
	w, p := resolveWorld(t, "")
	rc, err := p.Resolve(w.context())
	must(t, err)
	want := RunConfig{
		Name: "p", Path: p.Path, Files: []string{p.Path}, Scope: Local, HomeDir: w.home, Project: w.project, Workdir: w.project, Cwd: w.project + "/pkg",
		WorkdirMode: RW, Base: "host", Etc: "host", Home: "host", Network: NetOff, GitDir: "checked", Proc: "auto",
		Seccomp: "default", Landlock: "auto", Backend: "bwrap", Entrypoint: Entrypoint{Cmd: "/bin/zsh", Written: []string{""}, Interactive: true}, Output: Output{Folder: w.inner + "/logs"},
		Real: map[string]string{w.project: w.project},
	}
	if diff := cmp.Diff(want, rc, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(RunConfig{})); diff != "" {
		t.Error(diff)
	}
}

func TestResolveExpansion(t *testing.T) {
	w, p := resolveWorld(t, `
workspaces_path = "~/.inner/workspaces"
[sandbox]
home = "isolated"
home_allow = ["~/go/bin", "$GOPATH/pkg"]
hide = [".env", "secrets/*", "~/x", "$STAR", "/b/[ab]"]
[mounts]
"${workdir}/data" = { dest = "~/data" }
"~/data" = { dest = "${workspaces_path}/x/${UID}", mode = "rw" }
"any name" = { dest = "/tmp/t", mode = "tmpfs" }
"$HOMELESS" = { dest = "/tmp/$$t/$UID", mode = "tmpfs" }
[env]
set = { A = "~/x:~/y", B = "$GOPATH$EMPTY/${UID}", C = "a~b$$HOME", D = "~root", E = "100%" }
path_prepend = ["${GOPATH}/bin"]
[entrypoint]
cmd = "claude"
args = ["~", "$HOME"]
history = ["echo $HOME ~"]
[output]
log = "~/logs/"
timeout_seconds = 90
[noop]
block = ["pip install"]
`)
	rc, err := p.Resolve(w.context())
	must(t, err)
	short := func(s string) string { return strings.ReplaceAll(s, w.home, "~") }
	var got []string
	add := func(what string, list ...string) {
		for _, s := range list {
			got = append(got, what+" "+short(s))
		}
	}
	for _, m := range rc.Mounts {
		add("mount", fmt.Sprint(m.Source, " ", m.Dest, " ", m.Mode, " ", m.Workspace, " ", m.Line))
	}
	add("home_allow", rc.HomeAllow...)
	add("hide", rc.Hide...)
	for _, kv := range rc.Env.Set {
		add("set", kv.Key+"="+kv.Value)
	}
	add("path", rc.Env.PathPrepend...)
	add("args", rc.Entrypoint.Args...)
	add("history", rc.Entrypoint.History...)
	add("log", rc.Output.Log, rc.Output.Folder)
	add("timeout", rc.Output.Timeout.String())
	want := []string{
		"mount ~/src/app/data ~/data ro false 9",
		"mount ~/data ~/.inner/workspaces/x/1000 rw true 10",
		"mount /tmp/t /tmp/t tmpfs false 11",
		"mount /tmp/$t/1000 /tmp/$t/1000 tmpfs false 12",
		"home_allow ~/go/bin", "home_allow ~/go/pkg",
		"hide ~/src/app/**/.env", "hide ~/src/app/secrets/*", "hide ~/x", `hide /a\*b`, "hide /b/[ab]",
		"set A=~/x:~/y", "set B=~/go/1000", "set C=a~b$HOME", "set D=~root", "set E=100%",
		"path ~/go/bin", "args ~", "args $HOME", "history echo $HOME ~", "log ~/logs", "log ~/logs", "timeout 1m30s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if short(rc.Env.Set[0].Value) != "~/x:~/y" || !strings.HasPrefix(rc.Env.Set[0].Value, w.home+"/x:~") {
		t.Errorf("only the first ~ is the home: %q", rc.Env.Set[0].Value)
	}
}

func TestResolveFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[mounts]\n\"$NOPE/x\" = \"ro\"\n[env.set]\nA = \"${NOPE2}\"", "L/p.toml:3: mounts.\"$NOPE/x\": variable \"NOPE\" is not set\nL/p.toml:5: env.set.A: variable \"NOPE2\" is not set"},
		{"[env.set]\nA = \"$\"\nB = \"${A\"\nC = \"${}\"\nD = \"$5\"\nE = \"${workdir}\"\nF = \"${workspaces_path}\"", `L/p.toml:3: env.set.A: "$": "$" is not followed by a name; "$$" writes a dollar
L/p.toml:4: env.set.B: "${A": "${" is not closed
L/p.toml:5: env.set.C: "${}": "" is not the name of a variable
L/p.toml:6: env.set.D: "$5": "$" is not followed by a name; "$$" writes a dollar
L/p.toml:7: env.set.E: ${workdir} is only known in the path of a mount
L/p.toml:8: env.set.F: ${workspaces_path} is only known in dest and in entrypoint.workdir`},
		{"[mounts]\n\"data\" = \"rw\"\n\"~bob/x\" = \"ro\"\n\"~/data\" = { dest = \"x\" }", `L/p.toml:3: mounts.data: "data" is not an absolute path (write "${workdir}/data" for a path in the project)
L/p.toml:4: mounts."~bob/x": "~bob/x": only your own home can be written with "~"
L/p.toml:5: mounts."~/data": "x" is not an absolute path`},
		{"[mounts]\n\"~/data\" = { dest = \"${workspaces_path}/x\" }", `L/p.toml:3: mounts."~/data": ${workspaces_path} is used, but workspaces_path is not set in the profile or in config.toml`},
		{"[mounts]\n\"~/gone\" = \"ro\"", `L/p.toml:3: mounts."~/gone": mount source "~/gone" does not exist on host (missing = "skip" in this mount goes on without it)`},
		{"[mounts]\n\"~/data\" = { dest = \"/nonexistent/path\" }", `L/p.toml:3: mounts."~/data": profile [error] mount dest "/nonexistent/path" does not exist on host (expanded: "/nonexistent/path") (dest = "/tmp/path" needs no folder on the host)`},
		{"[mounts]\n\"~/data\" = { dest = \"${workdir}/nope\" }", "L/p.toml:3: mounts.\"~/data\": ${workdir} is only known in the path of a mount"},
		{"[mounts]\n\"~/data\" = { dest = \"/tmp/nope\" }", ""},
		{"[mounts]\n\"x\" = { dest = \"/srv\", mode = \"tmpfs\" }\n\"~/data\" = { dest = \"/srv/deep/er\" }", ""},
		{"[mounts]\n\"~/box\" = { dest = \"~/data\" }\n\"~/other\" = { dest = \"~/data/in\" }", ""},
		{"[mounts]\n\"~/file\" = { dest = \"/usr/lib\" }", `L/p.toml:3: mounts."~/file": mount dest "/usr/lib" is a folder on the host, the source is a file`},
		{"[mounts]\n\"~/data\" = { dest = \"/etc/passwd\" }", `L/p.toml:3: mounts."~/data": mount dest "/etc/passwd" is a file on the host, the source is a folder`},
		{"[mounts]\n\"~/data\" = { dest = \"/srv\" }\n\"~/box\" = { dest = \"/srv/\" }", `L/p.toml:4: mounts."~/box": dest "/srv" is taken by mounts."~/data" (line 3)`},
		{"[mounts]\n\"/\" = \"ro\"", `L/p.toml:3: mounts."/": a mount over / would replace the box`},
		{"[mounts]\n\"/usr\" = { dest = \"/run/inner/noop\" }", `L/p.toml:3: mounts."/usr": dest "/run/inner/noop" is inner's own`},
		{"[mounts]\n\"~/data\" = { dest = \"~/run/inner/noop\" }", `L/p.toml:3: mounts."~/data": dest "~/run/inner/noop" is inner's own`},
		{"[mounts]\n\"/\" = { dest = \"/srv\", mode = \"rw\" }", `L/p.toml:3: mounts."/": mode "rw" of / would hand over the whole system`},
		{"[mounts]\n\"/\" = { dest = \"/srv\" }", `L/p.toml:3: mounts."/": source "/" holds your home folder, which can only be mounted at its own path`},
		{"[mounts]\n\"~\" = \"rw\"", ""},
		{"[mounts]\n\"~\" = { dest = \"/srv\" }", `L/p.toml:3: mounts."~": source "~" holds your home folder, which can only be mounted at its own path`},
		{"[mounts]\n\"~\" = \"rw\"\n[sandbox]\nhome = \"isolated\"", `L/p.toml:3: mounts."~": dest "~" covers the home folder, and home is isolated`},
		{"[mounts]\n\"~/.inner\" = \"rw\"", `L/p.toml:3: mounts."~/.inner": dest "~/.inner" lies in inner's own folder`},
		{"[mounts]\n\"~/.inner/profiles\" = { dest = \"/srv\" }", `L/p.toml:3: mounts."~/.inner/profiles": source "~/.inner/profiles" lies in inner's own folder`},
		{"[mounts]\n\"~/sneaky\" = { dest = \"/srv\" }", `L/p.toml:3: mounts."~/sneaky": source "~/sneaky" lies in inner's own folder`},
		{"[mounts]\n\"~/data\" = { dest = \"~/sneaky\" }", `L/p.toml:3: mounts."~/data": dest "~/sneaky" lies in inner's own folder`},
		{"[mounts]\n\"~/data\" = { dest = \"~\" }", `L/p.toml:3: mounts."~/data": dest "~" covers inner's own folder`},
		{"[mounts]\n\"~/data\" = { dest = \"/proc/self\" }\n\"~/box\" = { dest = \"/dev\" }", "L/p.toml:3: mounts.\"~/data\": dest \"/proc/self\": /proc is the box's own, nothing is mounted in it\nL/p.toml:4: mounts.\"~/box\": dest \"/dev\": /dev is the box's own, nothing is mounted in it"},
		{"[sandbox]\nhome_allow = [\"~\", \"/opt/x\", \"rel\"]", `L/p.toml:3: sandbox.home_allow: "~" is not below your home folder
L/p.toml:3: sandbox.home_allow: "/opt/x" is not below your home folder
L/p.toml:3: sandbox.home_allow: "rel" is not an absolute path (write it like "~/.local/bin")`},
		{"[env]\npath_prepend = [\"bin\", \"$REL\"]", "L/p.toml:3: env.path_prepend: \"bin\" is not an absolute path\nL/p.toml:3: env.path_prepend: \"rel\" is not an absolute path"},
		{"[output]\nlog = \"logs\"\n[entrypoint]\nworkdir = \"src\"", "L/p.toml:3: output.log: \"logs\" is not an absolute path\nL/p.toml:5: entrypoint.workdir: \"src\" is not an absolute path"},
		{"workspaces_path = \"$GOPATH\"", `L/p.toml:2: workspaces_path: "$GOPATH" is not an absolute path`},
	} {
		w, p := resolveWorld(t, c.text)
		ctx := w.context()
		ctx.Cwd = w.project
		if strings.Contains(c.text, "\"~\" = \"rw\"") {
			ctx.Overrides.Workdir = w.project
		}
		_, err := p.Resolve(ctx)
		if diff := cmp.Diff(c.want, w.short(err)); diff != "" {
			t.Errorf("%s\n%s", c.text, diff)
		}
	}
}

func TestWorkdir(t *testing.T) {
	type want struct{ workdir, cwd, mode, err string }
	for _, c := range []struct {
		name, text string
		change     func(w *world, c *Context, p *Profile)
		want       want
	}{
		{"local profile: project root, person's folder", "", nil, want{"~/src/app", "~/src/app/pkg", "rw", ""}},
		{"by its physical path", "", func(w *world, c *Context, _ *Profile) { c.Project = w.home + "/alias" }, want{"~/src/app", "~/src/app/pkg", "rw", ""}},
		{"global profile, run: current folder", "", func(_ *world, _ *Context, p *Profile) { p.Scope = Global }, want{"~/src/app/pkg", "~/src/app/pkg", "rw", ""}},
		{"global profile, shim: project root", "", func(_ *world, c *Context, p *Profile) { p.Scope, c.ForShim = Global, true }, want{"~/src/app", "~/src/app/pkg", "rw", ""}},
		{"shim without a project", "", func(_ *world, c *Context, p *Profile) { p.Scope, c.ForShim, c.Project = Global, true, "" }, want{"~/src/app/pkg", "~/src/app/pkg", "rw", ""}},
		{"-w, relative", "", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "../data" }, want{"~/src/app/data", "~/src/app/data", "rw", ""}},
		{"-w wins", "[entrypoint]\nworkdir = \"~/data\"", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "~/box" }, want{"~/box", "~/box", "rw", ""}},
		{"entrypoint.workdir", "[entrypoint]\nworkdir = \"~/data\"", nil, want{"~/data", "~/data", "rw", ""}},
		{"dollar is literal there", "[entrypoint]\nworkdir = \"~/$GOPATH\"", nil, want{"", "", "", `~/src/app/.inner/profiles/p.toml:3: entrypoint.workdir: the working folder "~/$GOPATH" does not exist`}},
		{"read-only", "[sandbox]\nworkdir_mode = \"ro\"", nil, want{"~/src/app", "~/src/app/pkg", "ro", ""}},
		{"mount of the same path wins", "[mounts]\n\"${workdir}\" = \"ro\"", nil, want{"~/src/app", "~/src/app/pkg", "none", ""}},
		{"the project moved", "[mounts]\n\"${workdir}\" = { dest = \"~/other/app\", mode = \"rw\" }\n[entrypoint]\nworkdir = \"~/other/app\"", nil, want{"~/other/app", "~/other/app", "none", ""}},
		{"below a moved mount", "[mounts]\n\"~/src\" = { dest = \"~/other\", mode = \"rw\" }\n[entrypoint]\nworkdir = \"~/other/app/pkg\"", nil, want{"~/other/app/pkg", "~/other/app/pkg", "none", ""}},
		{"below a moved mount, missing", "[mounts]\n\"~/src\" = { dest = \"~/other\", mode = \"rw\" }\n[entrypoint]\nworkdir = \"~/other/nope\"", nil, want{"", "", "", `~/src/app/.inner/profiles/p.toml:5: entrypoint.workdir: the working folder "~/other/nope" does not exist in "~/src", which is mounted there`}},
		{"standing where something else is mounted", "[mounts]\n\"~/other\" = { dest = \"~/src\" }", nil, want{"", "", "", `the working folder "~/src/app" lies below dest "~/src", where "~/other" is mounted`}},
		{"home", "", func(w *world, c *Context, _ *Profile) { c.Project, c.Cwd = "", w.home }, want{"", "", "", `the working folder "~" holds your whole home folder`}},
		{"home, and HOME leads to it", "", func(w *world, c *Context, _ *Profile) {
			c.Home = w.home + "-link"
			must(t, os.Symlink(w.home, c.Home))
			c.Project, c.Cwd = "", w.home
		}, want{"", "", "", `the working folder "~" holds your whole home folder`}},
		{"home of the password file, and HOME is another", "", func(w *world, c *Context, _ *Profile) {
			c.OtherHome, c.Home = w.home, "/usr/src"
			c.Project, c.Cwd = "", w.home
		}, want{"", "", "", `the working folder "~" holds your whole home folder`}},
		{"the same through a link", "", func(w *world, c *Context, _ *Profile) {
			c.OtherHome, c.Home = w.home+"-link", "/usr/src"
			must(t, os.Symlink(w.home, c.OtherHome))
			c.Project, c.Cwd = "", w.home
		}, want{"", "", "", `the working folder "~" holds your whole home folder`}},
		{"HOME by its own name", "", func(w *world, c *Context, _ *Profile) {
			c.Home = w.home + "-link"
			must(t, os.Symlink(w.home, c.Home))
			c.Overrides.Workdir = "~"
		}, want{"", "", "", `the working folder "~" holds your whole home folder`}},
		{"above home", "", func(w *world, c *Context, _ *Profile) { c.Overrides.Workdir = filepath.Dir(w.home) }, want{"", "", "", `the working folder "HOME/.." holds your whole home folder`}},
		{"home, mounted on purpose", "[mounts]\n\"~\" = \"rw\"", func(w *world, c *Context, _ *Profile) { c.Project, c.Cwd = "", w.home }, want{"~", "~", "none", ""}},
		{"home, not mounted", "[sandbox]\nworkdir_mode = \"none\"", func(w *world, c *Context, _ *Profile) { c.Project, c.Cwd = "", w.home }, want{"~", "~", "none", ""}},
		{"root", "", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "/" }, want{"", "", "", `the working folder is "/": it would hand over the whole system`}},
		{"system", "", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "/usr/lib" }, want{"", "", "", `the working folder "/usr/lib" is a system folder`}},
		{"inner's own", "", func(w *world, c *Context, _ *Profile) { c.Overrides.Workdir = w.home + "/sneaky/profiles" }, want{"", "", "", `the working folder "~/.inner/profiles" lies in inner's own folder`}},
		{"missing", "", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "nope" }, want{"", "", "", `the working folder "~/src/app/pkg/nope" does not exist`}},
		{"a file", "", func(_ *world, c *Context, _ *Profile) { c.Overrides.Workdir = "~/file" }, want{"", "", "", `the working folder "~/file" is not a folder`}},
		{"deleted", "", func(w *world, c *Context, p *Profile) {
			p.Scope = Global
			must(t, os.Remove(c.Cwd))
		}, want{"", "", "", `the working folder "~/src/app/pkg" does not exist`}},
		{"unknown", "", func(w *world, c *Context, p *Profile) { p.Scope, c.Cwd = Global, "" }, want{"", "", "", `the current folder does not exist any more`}},
	} {
		w, p := resolveWorld(t, c.text)
		ctx := w.context()
		if c.change != nil {
			c.change(w, &ctx, p)
		}
		rc, err := p.Resolve(ctx)
		short := func(s string) string {
			return strings.ReplaceAll(strings.ReplaceAll(s, w.home, "~"), filepath.Dir(w.home), "HOME/..")
		}
		got := want{short(rc.Workdir), short(rc.Cwd), string(rc.WorkdirMode), ""}
		var folder *WorkdirError
		if err != nil {
			got = want{err: short(err.Error())}
			if !errors.As(err, &folder) {
				t.Errorf("%s: %T", c.name, err)
			}
		}
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
	}
}

func TestSystemFolder(t *testing.T) {
	for dir, want := range map[string]bool{
		"/usr": true, "/usr/lib64/x": true, "/lib/modules": true, "/etc/nginx": true, "/var": true, "/tmp": true, "/opt": true,
		"/proc/1": true, "/usr/local/bin": true, "/home": true, "/run/user": true,
		"/var/www/app": false, "/srv/app": false, "/opt/app": false, "/usr/src/x": false, "/tmp/x": false, "/home/me/lib": false,
		"/library": false, "/etcetera": false, "/usr/local/src": false,
	} {
		if got := systemFolder(dir); got != want {
			t.Errorf("systemFolder(%q) = %t", dir, got)
		}
	}
}

func TestOverrides(t *testing.T) {
	w, p := resolveWorld(t, "[sandbox]\nnetwork = true\nlimits = { memory = \"1G\", cpu = \"50%\" }\n[mounts]\n\"~/data\" = { dest = \"/srv\" }\n[env]\nset = { A = \"1\", B = \"2\" }\n[entrypoint]\ncmd = \"claude\"\nargs = [\"-x\"]\ninteractive = true\n[output]\ntimeout_seconds = 5")
	c := w.context()
	no, zero, file := false, time.Duration(0), "whole\nfile"
	m := Mount{Source: "~/box", Dest: "/srv", Mode: RW, File: "--mount"}
	rel := Mount{Source: "../data", Dest: "/tmp/rel", Mode: RO, File: "--mount"}
	c.Overrides = Overrides{
		Network: &no, Interactive: &no, Timeout: &zero, ArgsFile: &file, Args: []string{"-a"}, Extra: []string{"extra", "$X"},
		Mounts: []Mount{m, rel}, Env: []KV{{"A", "$literal"}, {"C", "3"}}, Limits: Limits{Memory: "2G"},
	}
	rc, err := p.Resolve(c)
	must(t, err)
	if diff := cmp.Diff([]string{"-x", "-a", "whole\nfile", "extra", "$X"}, rc.Entrypoint.Args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]KV{{"A", "$literal"}, {"B", "2"}, {"C", "3"}}, rc.Env.Set); diff != "" {
		t.Error(diff)
	}
	if rc.Network != NetOff || rc.Entrypoint.Interactive || rc.Output.Timeout != 0 || rc.Limits != (Limits{Memory: "2G", CPU: "50%"}) {
		t.Errorf("%+v", rc)
	}
	var mounts []string
	for _, m := range rc.Mounts {
		mounts = append(mounts, strings.ReplaceAll(m.Source, w.home, "~")+" "+m.Dest+" "+string(m.Mode))
	}
	if diff := cmp.Diff([]string{"~/box /srv rw", "~/src/app/data /tmp/rel ro"}, mounts); diff != "" {
		t.Error(diff)
	}
	c.Overrides = Overrides{Entrypoint: "./tool", Extra: []string{"y"}}
	rc, err = p.Resolve(c)
	must(t, err)
	if rc.Entrypoint.Cmd != w.project+"/pkg/tool" || len(rc.Entrypoint.Args) != 1 {
		t.Errorf("%+v", rc.Entrypoint)
	}
	c.Overrides, c.DefaultLimits = Overrides{Limits: Limits{Memory: "3G"}}, Limits{Memory: "1G", CPU: "9%", Pids: "7"}
	rc, err = p.Resolve(c)
	must(t, err)
	if want := (Limits{Memory: "3G", CPU: "50%", Pids: "7"}); rc.Limits != want {
		t.Errorf("limits: %+v", rc.Limits)
	}
	c.Overrides.Limits = Limits{FileSize: "x"}
	_, err = p.Resolve(c)
	if want := `--limit-file-size: "x" is not a size (write it like "512M" or "2G")`; w.short(err) != want {
		t.Errorf("got %q", w.short(err))
	}
	c.Overrides = Overrides{Mounts: []Mount{{Source: "/nope", Dest: "/srv", Mode: RW, File: "--mount"}}}
	_, err = p.Resolve(c)
	if want := `--mount "/nope:/srv": mount source "/nope" does not exist on host`; w.short(err) != want {
		t.Errorf("got %q", w.short(err))
	}
}

func TestHomeThatIsNotThere(t *testing.T) {
	w, p := resolveWorld(t, "[mounts]\n\"~/data\" = \"ro\"")
	c := w.context()
	c.Home = "/nonexistent"
	_, err := p.Resolve(c)
	if err == nil || !strings.Contains(err.Error(), `HOME is "/nonexistent", which does not exist`) {
		t.Error(err)
	}
}

// A place of the host's has to be there; what is in memory or in another mount the plan looks at.
func TestPlaceOnHost(t *testing.T) {
	for _, c := range []struct {
		dest, home, base string
		asked            bool
	}{
		{"/home/u/x", "host", "host", true},
		{"/home/u/x", "isolated", "host", false},
		{"/home/u/x", "host", "minimal", true},
		{"/usr/not-there", "host", "minimal", true},
		{"/data/x", "host", "minimal", false},
		{"/tmp/x", "host", "host", false},
		{"/var/tmp/a/b", "host", "host", false},
		{"/run/x", "host", "host", false},
		{"/runner-not-there", "host", "host", true},
		{"/srv/a", "host", "host", false},
		{"/moved/a/b", "host", "host", false},
	} {
		r := resolver{c: Context{Home: "/home/u"}, s: &source{}}
		r.rc = RunConfig{Home: c.home, Base: c.base, Mounts: []Mount{
			{Dest: c.dest},
			{Source: "/srv", Dest: "/srv", Mode: Tmpfs},
			{Source: "/from", Dest: "/moved", Mode: RW},
		}}
		if msg, _ := r.badPlace(&r.rc.Mounts[0], "a folder"); (msg != "") != c.asked {
			t.Errorf("%s, home %s, base %s: %q", c.dest, c.home, c.base, msg)
		}
	}
}

func TestParseFlags(t *testing.T) {
	for arg, want := range map[string]string{
		"A=b=c": "", "A=": "", "A": "", "A B": `env "A B": is not the name of a variable`, "=x": `env "": a variable needs a name`, "INNER_HOME=x": `env "INNER_HOME": variables of this name are inner's own`,
	} {
		if _, _, err := ParseEnv(arg); fmt.Sprint(err) != want && (err != nil || want != "") {
			t.Errorf("ParseEnv(%q): %v", arg, err)
		}
	}
}

func TestNoExceptions(t *testing.T) {
	w, p := resolveWorld(t, `capabilities = ["claude", "gemini"]
workspaces_path = "~/.inner/workspaces"
[sandbox]
network_mode = "allowlist"
network_allow = ["!x.com"]
clipboard = true
allow = ["nested-user-ns", "ssh-keys", "host-proc", "no-seccomp"]
[mounts]
"~/data" = { dest = "${workspaces_path}/x", mode = "safe-rw" }
[git]
strip_sections = ["credential"]
[entrypoint]
workdir = "${workspaces_path}/x"
`)
	c := w.context()
	on := true
	c.Overrides.Network = &on
	_, err := p.Resolve(c)
	if want := `p.toml:6: sandbox.network_allow: the whole network has no exceptions`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Error(err)
	}
}

func TestVariableLike(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"MYCO_*", "MYCO_TOKEN", true},
		{"MYCO_*", "MYCO_a/b", true},
		{"MYCO_*", "YOURCO", false},
		{"LC_?", "LC_/", true},
		{"HOME", "HOME", true},
		{"[", "[", true},
		{"[", "x", false},
	} {
		if got := VariableLike(c.pattern, c.name); got != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.name, got)
		}
	}
	if !(Env{Never: []string{"MYCO_*"}}).Kept("MYCO_a/b") {
		t.Error("a name with a slash passes into a box")
	}
}

// What a profile says of its own program's terminal is not said of another that is run in its place.
func TestAnotherProgram(t *testing.T) {
	w, p := resolveWorld(t, "[entrypoint]\ncmd = \"claude\"\ntui = true")
	for program, tui := range map[string]bool{"": true, "bash": false} {
		c := w.context()
		c.Overrides.Entrypoint = program
		rc, err := p.Resolve(c)
		must(t, err)
		if rc.Entrypoint.TUI != tui {
			t.Errorf("--entrypoint %q: tui is %v", program, rc.Entrypoint.TUI)
		}
	}
}
