package container

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/userns"
	"github.com/enr/inner/profile"
)

const image = "sha256:aaaa"

func target(engine string) Target {
	return Target{
		Spec:   profile.RunConfig{Name: "p", Image: image, Network: profile.NetOff},
		Engine: host.Engine{Name: engine, Path: "/usr/bin/" + engine, Env: []string{"HOME=/home/u"}},
		Folder: "/stage/r1", Run: "r1", UID: 1000, GID: 100,
	}
}

func boxPlan() plan.Plan {
	return plan.Plan{
		Program: "sh", Argv: []string{"sh", "-c", "echo $KEY"}, Env: []string{"KEY=secret"},
		Data: [][]byte{[]byte("filter"), []byte("marker")},
		Ops: []plan.Op{
			{Kind: plan.OpSwitch, Flags: []plan.Flag{plan.UnsharePID, plan.DieWithParent}},
			{Kind: plan.OpSwitch, Flags: plan.DropCaps()},
			{Kind: plan.OpFilter, Data: 0},
			{Kind: plan.OpNote},
			{Kind: plan.OpDev, Dest: "/dev"},
			{Kind: plan.OpProc, Dest: "/proc"},
			{Kind: plan.OpReadOnly, Source: "/proc/sys", Dest: "/proc/sys"},
			{Kind: plan.OpTmpfs, Perms: 0o1777, Dest: "/tmp"},
			{Kind: plan.OpTmpfs, Perms: 0o755, Dest: "/run"},
			{Kind: plan.OpTmpfs, Perms: 0o700, Dest: "/home/u"},
			{Kind: plan.OpBind, Source: "/home/u/app", Dest: "/home/u/app", Key: "sandbox.workdir_mode"},
			{Kind: plan.OpFile, Data: 1, Dest: "/run/.innerenv"},
			{Kind: plan.OpMask, Source: "/stage/r1/empty", Dest: "/home/u/app/.env"},
			{Kind: plan.OpTmpfs, Perms: 0o555, Dest: "/home/u/app/private"},
			{Kind: plan.OpSeal, Dest: "/run"},
			{Kind: plan.OpSeal, Dest: "/"},
		},
	}
}

func TestArguments(t *testing.T) {
	p, err := Translate(boxPlan(), target("podman"))
	if err != nil {
		t.Fatal(err)
	}
	want := `run --rm --name inner-r1 --label inner.run=r1 --pull never --network none --ipc private --cgroupns private
--user 1000:100 --cap-drop ALL --security-opt no-new-privileges --read-only --log-driver none --no-healthcheck --workdir / --stop-timeout 0
--userns keep-id --passwd=false --no-hosts --http-proxy=false --env-host=false --read-only-tmpfs=false --image-volume ignore --systemd false --sdnotify ignore
--mount type=tmpfs,dst=/tmp,tmpfs-mode=1777,notmpcopyup
--mount type=tmpfs,dst=/run,tmpfs-mode=0755,notmpcopyup,ro
--mount type=tmpfs,dst=/home/u,tmpfs-mode=1777,notmpcopyup
--mount type=bind,src=/home/u/app,dst=/home/u/app,bind-propagation=rprivate,nosuid,nodev
--mount type=bind,src=/stage/r1/container-1,dst=/run/.innerenv,bind-propagation=rprivate,readonly,nosuid,nodev
--mount type=bind,src=/stage/r1/empty,dst=/home/u/app/.env,bind-propagation=rprivate,readonly,nosuid,nodev
--mount type=tmpfs,dst=/home/u/app/private,tmpfs-mode=0555,notmpcopyup,ro
--mount type=tmpfs,dst=/sys,tmpfs-mode=0555,notmpcopyup,ro
--mount type=bind,src=/stage/r1/launcher,dst=/run/inner/launcher,bind-propagation=rprivate,nosuid,nodev
--entrypoint /run/inner/self sha256:aaaa __container`
	c := p.Container
	if diff := cmp.Diff(strings.Fields(want), c.Args); diff != "" {
		t.Error(diff)
	}
	if string(c.Filter) != "filter" || !c.NoNet || c.UID != 1000 || c.Socket != "/stage/r1/launcher" {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]plan.ContainerFile{{Name: "container-1", Content: "marker"}}, c.Files); diff != "" {
		t.Error(diff)
	}
	for _, w := range slices.Concat(c.Args, c.Env) { // neither the environment nor the program is there
		if strings.Contains(w, "secret") || strings.Contains(w, "echo") {
			t.Errorf("%q is among the arguments", w)
		}
	}
	// Each bind of the host is looked at in the box.
	i := slices.IndexFunc(p.Shown, func(s plan.Shown) bool { return s.Path == "/home/u/app" })
	if i < 0 || p.Shown[i].Source != "/home/u/app" || len(p.Shown) != len(c.Mounts) {
		t.Errorf("%+v", p.Shown)
	}
}

func TestDockerArguments(t *testing.T) {
	p, err := Translate(boxPlan(), target("docker"))
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(p.Container.Args, " ")
	for _, want := range []string{
		"--tmpfs /home/u:nosuid,nodev,exec,mode=0700,uid=1000,gid=100 ", "--tmpfs /run:nosuid,nodev,exec,mode=0755,ro ",
		"src=/home/u/app,dst=/home/u/app,bind-propagation=rprivate --mount", "--user 1000:100 ", "--pull never ",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%q is not in %s", want, args)
		}
	}
	for _, not := range []string{"keep-id", "notmpcopyup", "--passwd", "--systemd"} { // docker does not know them
		if strings.Contains(args, not) {
			t.Errorf("%q is in %s", not, args)
		}
	}
}

func TestLimits(t *testing.T) {
	p := boxPlan()
	p.Limits = &limits.Plan{Group: limits.Values{Memory: 256 << 20, CPU: 1500, Pids: 10}}
	p, err := Translate(p, target("podman"))
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(p.Container.Args, " "); !strings.Contains(args, "--memory 268435456 --memory-swap 268435456 --cpus 1.5 --pids-limit 34 ") {
		t.Error(args)
	}
}

// An engine sorts mounts by their place: what a later one covers must not come back.
func TestLaterCoversEarlier(t *testing.T) {
	p := boxPlan()
	p.Ops = append(p.Ops, plan.Op{Kind: plan.OpTmpfs, Perms: 0o555, Dest: "/home/u/app"})
	p, err := Translate(p, target("podman"))
	if err != nil {
		t.Fatal(err)
	}
	if args := strings.Join(p.Container.Args, " "); strings.Contains(args, "src=/home/u/app") || strings.Contains(args, "app/.env") {
		t.Error(args)
	}
}

// What an engine cannot do is refused by its key, and nothing else is.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		key    string
		change func(*plan.Plan, *Target)
	}{
		{"", func(*plan.Plan, *Target) {}},
		{`sandbox.allow = ["nested-user-ns"]`, func(p *plan.Plan, _ *Target) { p.Map = &userns.Map{} }},
		{"sandbox.devices", func(_ *plan.Plan, t *Target) { t.Spec.Devices = []string{"kvm"} }},
		{"sandbox.devices", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpDevice, Dest: "/x"}) }},
		{"capabilities", func(_ *plan.Plan, t *Target) { t.Spec.Capabilities = []string{"claude"} }},
		{"noop", func(_ *plan.Plan, t *Target) { t.Spec.Noop.Rules = []profile.NoopRule{{}} }},
		{"sandbox.limits.disk", func(_ *plan.Plan, t *Target) { t.Spec.Limits.Disk = "1M" }},
		{"sandbox.proc", func(_ *plan.Plan, t *Target) { t.Spec.Proc = "bind" }},
		{"sandbox.proc", func(_ *plan.Plan, t *Target) { t.Spec.Proc = "empty" }},
		{"sandbox.clipboard", func(_ *plan.Plan, t *Target) { t.Spec.Clipboard = true }},
		{"mounts", func(p *plan.Plan, _ *Target) { p.Pins = []plan.Pin{{Path: "/l"}} }},
		{"sandbox.home", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpSymlink, Dest: "/h", Key: "sandbox.home"}) }},
		{"mounts", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpDir, Dest: "/h"}) }},
		{"sandbox.workdir_mode", func(_ *plan.Plan, t *Target) { t.Mounted = []string{"/home/u/app/disk"} }},
		{"", func(_ *plan.Plan, t *Target) { t.Mounted = []string{"/home/u/app", "/home/u/other"} }},
		{"mounts", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpBind, Source: "/a,ro", Dest: "/a"}) }},
		{"mounts", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpBind, Source: "/a", Dest: "/a\nb"}) }},
		{"mounts", func(p *plan.Plan, _ *Target) { add(p, plan.Op{Kind: plan.OpTmpfs, Dest: "/dev/x"}) }},
		{"mounts", func(p *plan.Plan, _ *Target) {
			add(p, plan.Op{Kind: plan.OpSwitch, Flags: plan.AddCaps("cap_setuid")})
		}},
	} {
		p, tg := boxPlan(), target("podman")
		c.change(&p, &tg)
		_, err := Translate(p, tg)
		if (err == nil) != (c.key == "") || err != nil && !strings.Contains(err.Error(), `profile "p": podman cannot hold `+c.key+":") {
			t.Errorf("%s: %v", c.key, err)
		}
		if err != nil && (fault.Code(err) != 125 || fault.KindOf(err) != fault.KindBackend) {
			t.Errorf("%s: code %d, kind %s", c.key, fault.Code(err), fault.KindOf(err))
		}
	}
}

func add(p *plan.Plan, o plan.Op) { p.Ops = append(p.Ops, o) }
