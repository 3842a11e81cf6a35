package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// hardNoop is a profile that covers programs, on a host that has them.
func hardNoop(block string, programs ...host.Program) (profile.RunConfig, host.Facts, Staged) {
	rc, f, s := config(), machine(), staged()
	rc.Noop = profile.Noop{Mode: "hard"}
	for _, command := range strings.Split(block, ",") {
		rc.Noop.Rules = append(rc.Noop.Rules, profile.NoopRule{Words: []string{command}})
	}
	f.Programs = programs
	f.Paths["/bin/sh"] = host.Path{Kind: host.File, Real: "/usr/bin/dash"}
	s.Noop = "/run/user/1000/inner/r1/noop"
	return rc, f, s
}

func program(name, files, names string) host.Program {
	return host.Program{Name: name, Files: strings.Split(files, ","), Names: strings.Split(names, ",")}
}

func TestCoverPrograms(t *testing.T) {
	bin := testWork + "/bin/"
	rc, f, s := hardNoop("pip,apt", program("pip", bin+"pip", "pip,pip3"), program("apt", "/usr/bin/apt,/opt/apt", "apt"),
		host.Program{Name: "pip3.11", Files: []string{bin + "pip3.11"}, Names: []string{"pip3.11"}, Copy: true})
	rc.Mounts = []profile.Mount{{Source: testWork + "/bin", Dest: "/data", Mode: profile.RW}}
	plan, err := Build(rc, f, s)
	if err != nil {
		t.Fatal(err)
	}
	r := replayed(plan)
	for at, script := range map[string]string{
		bin + "pip": "pip", bin + "pip3.11": "pip", "/data/pip": "pip", "/data/pip3.11": "pip", "/usr/bin/apt": "apt", "/opt/apt": "apt",
	} {
		if got, write := r.shown(at); got != s.Noop+"/"+script || write {
			t.Errorf("%s shows %q", at, got)
		}
	}
	for _, p := range f.Programs {
		for _, file := range p.Files {
			if seen := r.everywhere(file); len(seen) > 0 {
				t.Errorf("%s is seen at %q", file, seen)
			}
		}
	}
	rc.Noop.Mode = "path"
	if plan, err = Build(rc, f, s); err != nil {
		t.Fatal(err)
	}
	if got, _ := replayed(plan).shown("/usr/bin/apt"); got != "/usr/bin/apt" {
		t.Errorf("mode path covers: %q", got)
	}
}

func TestCoverProgramsRefuses(t *testing.T) {
	for _, c := range []struct {
		about, block, rewrite string
		programs              []host.Program
		want                  string
	}{
		{"another name", "vi", "", []host.Program{program("vi", "/usr/bin/vim.basic", "vi,view,vim.basic")}, `"vi" is the same program as view, vim.basic (/usr/bin/vim.basic), so mode = "hard" would take them away`},
		{"all names", "vi,view,vim.basic", "", []host.Program{program("vi", "/usr/bin/vim.basic", "vi,view,vim.basic")}, ""},
		{"versions", "python", "", []host.Program{program("python", "/usr/bin/python3.11", "python,python3,python3.11")}, ""},
		{"a version and more", "python3", "", []host.Program{program("python3", "/usr/bin/python3.11", "python3,pythonw")}, `"python3" is the same program as pythonw`},
		{"many", "a", "", []host.Program{program("a", "/usr/bin/a", "a,b,c,d,e,f,g,h,i")}, "as b, c, d, e, f, g, and 2 more ("},
		{"one name of busybox", "wget", "", []host.Program{program("wget", "/opt/busybox", "wget")}, `"wget" is one of many commands of /opt/busybox`},
		{"unseen", "vi", "", []host.Program{program("vi", "/run/x/vim.basic", "vi,view")}, ""},
		{"the shell", "dash", "", []host.Program{program("dash", "/usr/bin/dash", "dash,sh")}, `"dash" is /usr/bin/dash, which runs every script`},
		{"the program", "bash", "", []host.Program{program("bash", "/usr/bin/bash", "bash,rbash")}, `"bash" is /usr/bin/bash, the program that is to run`},
		{"a replacement", "x", "pip=pip3", []host.Program{program("pip", "/usr/bin/pip", "pip,pip3"), program("pip3", "/usr/bin/pip", "pip,pip3")}, `noop.rewrite "pip": the replacement "pip3" is /usr/bin/pip, which`},
		{"a replacement by path", "x", "pip=/usr/bin/alias", []host.Program{program("pip", "/usr/bin/pip", "pip")}, `noop.rewrite "pip": the replacement "/usr/bin/alias" is /usr/bin/pip, which`},
		{"a replacement of its own", "x", "docker=podman", []host.Program{program("docker", "/usr/bin/docker", "docker"), program("podman", "/usr/bin/podman", "podman,buildah")}, ""},
		{"not installed", "yay", "", nil, ""},
	} {
		rc, f, s := hardNoop(c.block, c.programs...)
		f.Paths["/usr/bin/alias"] = host.Path{Kind: host.File, Real: "/usr/bin/pip"}
		if from, to, ok := strings.Cut(c.rewrite, "="); ok {
			rc.Noop.Rules = append(rc.Noop.Rules, profile.NoopRule{Words: []string{from}, Target: []string{to}})
		}
		_, err := Build(rc, f, s)
		got := ""
		if err != nil {
			got = err.Error()
			if r := fault.AsRefusal(err); r == nil || r.Code != 125 || r.Hint == "" {
				t.Errorf("%s: not a refusal with a hint: %v", c.about, err)
			}
		}
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.about, got, c.want)
		}
	}
}

func TestPrograms(t *testing.T) {
	rc := config()
	rc.Env.PathPrepend = []string{"/opt/tools/bin"}
	rc.Mounts = []profile.Mount{{Source: "/data/tools", Dest: "/opt/tools", Mode: profile.RO}}
	rc.Noop = profile.Noop{Mode: "hard", Rules: []profile.NoopRule{
		{Words: []string{"a"}}, {Words: []string{"b"}}, {Words: []string{"c"}, Target: []string{"d", "x"}}, {Words: []string{"e"}, Target: []string{"/bin/f"}},
	}}
	dirs, names := Programs(rc, "/ignored")
	if !slices.Equal(names, []string{"a", "b", "c", "e", "d"}) {
		t.Errorf("names: %q", names)
	}
	for _, d := range []string{"/opt/tools/bin", "/data/tools/bin", "/usr/bin", "/usr/sbin"} {
		if !slices.Contains(dirs, d) {
			t.Errorf("%s is not among %q", d, dirs)
		}
	}
	rc.Noop.Mode = "path"
	if dirs, names = Programs(rc, ""); dirs != nil || names != nil {
		t.Errorf("mode path looks for %q in %q", names, dirs)
	}
}
