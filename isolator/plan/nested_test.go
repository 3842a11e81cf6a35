package plan

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/userns"
	"github.com/enr/inner/profile"
)

func nestedMachine() host.Facts {
	f := machine()
	f.Nested = &host.Nested{
		NewUIDMap: "/usr/bin/newuidmap", NewGIDMap: "/usr/bin/newgidmap", Name: "ann",
		UIDs: userns.Range{Start: 100000, Count: 65536}, GIDs: userns.Range{Start: 200000, Count: 65536},
	}
	for p, k := range map[string]host.Kind{
		"/dev/net/tun": host.Other, cgroupUnified: host.Dir, "/etc/subuid": host.File, "/etc/subgid": host.File,
		testHome + "/.local/share/containers": host.Dir,
	} {
		f.Paths[p] = host.Path{Kind: k, Real: p}
	}
	return f
}

// after reports whether the words come in this order, with others between.
func after(words []string, want ...string) bool {
	for _, w := range want {
		i := slices.Index(words, w)
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}

func TestNested(t *testing.T) {
	rc := config()
	rc.Allow = []string{nestedKey}
	rc.Env.Set = []profile.KV{{Key: "container", Value: "mine"}}
	plan, err := build(rc, nestedMachine(), staged())
	if err != nil {
		t.Fatal(err)
	}
	want := &userns.Map{
		NewUIDMap: "/usr/bin/newuidmap", NewGIDMap: "/usr/bin/newgidmap",
		UIDs: userns.Range{Start: 100000, Count: 65536}.Extents(1000),
		GIDs: userns.Range{Start: 200000, Count: 65536}.Extents(1000),
	}
	if d := cmp.Diff(want, plan.Map); d != "" {
		t.Error(d)
	}
	words := plan.Words()
	for _, order := range [][]string{
		{"--cap-drop", "ALL", "--uid", "1000", "--gid", "1000", "--cap-add", "cap_setuid", "--cap-add", "cap_setgid", "--ro-bind", "/"},
		{"--perms", "0755", "--tmpfs", "/run", "--perms", "0700", "--tmpfs", "/run/user/1000", "--remount-ro", "/run"},
		{"--dev", "/dev", "--dev-bind", "/dev/net/tun", "/dev/net/tun"},
		{"--ro-bind", cgroupUnified, cgroupMount},
		{"--perms", "0700", "--tmpfs", testHome + "/.local/share/containers"},
	} {
		if !after(words, order...) {
			t.Errorf("not in this order: %q", order)
		}
	}
	// A namespace without more in it, and a /proc with something over it, are of
	// no use to containers.
	for _, w := range []string{"--disable-userns", "--unshare-user", "/proc/sys", "/dev/fuse"} {
		if slices.Contains(words, w) {
			t.Errorf("%q is there", w)
		}
	}
	for _, kv := range []string{"XDG_RUNTIME_DIR=/run/user/1000", "container=mine", "CONTAINERS_CONF_OVERRIDE=" + paths.BoxConf} {
		if !slices.Contains(plan.Env, kv) {
			t.Errorf("no %s", kv)
		}
	}
	var texts []string
	for _, d := range plan.Data {
		texts = append(texts, string(d))
	}
	for _, text := range []string{"ann:100001:65535\n", "ann:200001:65535\n"} {
		if !slices.Contains(texts, text) {
			t.Errorf("no file with %q", text)
		}
	}

	// A place that the profile gives images stays.
	rc.Mounts = []profile.Mount{{Source: "/data", Dest: testHome + "/.local/share/containers", Mode: profile.RW}}
	plan, err = build(rc, nestedMachine(), staged())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(plan.Words(), " "), "--tmpfs "+testHome+"/.local/share/containers") {
		t.Error("the profile's folder is covered")
	}
}

func TestNestedRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*host.Facts, *profile.RunConfig)
		msg, hint string
	}{
		"not probed": {func(f *host.Facts, _ *profile.RunConfig) { f.Nested = nil }, "which this host cannot give", "inner doctor"},
		"no range": {func(f *host.Facts, _ *profile.RunConfig) {
			f.Nested.Why, f.Nested.Fix = "/etc/subuid has none", "usermod"
		}, "cannot give: /etc/subuid has none", "usermod"},
		"bound /proc": {func(_ *host.Facts, rc *profile.RunConfig) { rc.Proc = "bind" }, `this box has "bind"`, `set proc = "fresh" under [sandbox]`},
		"found /proc": {func(f *host.Facts, _ *profile.RunConfig) { f.Proc = "empty" }, `this box has "empty"`, `set proc = "fresh" under [sandbox]`},
	} {
		f, rc := nestedMachine(), config()
		rc.Allow = []string{nestedKey}
		c.change(&f, &rc)
		_, err := build(rc, f, staged())
		if r := fault.AsRefusal(err); r == nil || r.Code != 125 || !strings.HasSuffix(r.Msg, c.msg) || r.Hint != c.hint {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Each layer is there unless the profile takes it away, and is told apart.
// TestReadOnlySys: in a container bwrap cannot turn user namespaces off, and the
// filter does; without a filter nothing starts.
func TestReadOnlySys(t *testing.T) {
	f, rc := machine(), config()
	f.SysReadOnly = true
	plan, err := build(rc, f, staged())
	if err != nil {
		t.Fatal(err)
	}
	if words := plan.Words(); !slices.Contains(words, "--unshare-user") || slices.Contains(words, "--disable-userns") || !slices.Contains(words, "--seccomp") {
		t.Errorf("%q", words[:20])
	}
	rc.Seccomp = "off"
	if _, err := build(rc, f, staged()); fault.AsRefusal(err) == nil || !strings.Contains(err.Error(), "/proc/sys is read-only here") {
		t.Errorf("without a filter: %v", err)
	}
}

func TestKernel(t *testing.T) {
	filter := func(level string, allow ...string) (words []string, filter []byte) {
		f, rc := nestedMachine(), config()
		rc.Seccomp, rc.Allow = level, allow
		plan, err := build(rc, f, staged())
		if err != nil {
			t.Fatal(err)
		}
		words = plan.Words()
		if i := slices.Index(words, "--seccomp"); i >= 0 {
			if words[i+1] != "10" {
				t.Fatalf("the filter is descriptor %s", words[i+1])
			}
			filter = plan.Data[0]
		}
		return words, filter
	}
	words, byDefault := filter("default")
	if !after(words, "--cap-drop", "ALL", "--unshare-user", "--disable-userns", "--seccomp", "10", "--ro-bind") || len(byDefault) == 0 {
		t.Errorf("default: %q", words[:20])
	}
	_, containers := filter("default", nestedKey)
	words, off := filter("off")
	if len(containers) >= len(byDefault) || off != nil {
		t.Errorf("filters of %d, %d and %d bytes", len(byDefault), len(containers), len(off))
	}
	if !slices.Contains(words, "--disable-userns") {
		t.Error("one layer taken away took another with it")
	}
	f := machine()
	f.UID = 0
	plan, err := build(config(), f, staged())
	if err != nil {
		t.Fatal(err)
	}
	if words := plan.Words(); slices.Contains(words, "--disable-userns") || !slices.Contains(words, "--seccomp") {
		t.Errorf("root: %q", words[:20])
	}
}

// Images have a place where what begins with a dot in a home is hidden.
func TestNestedStorageHidden(t *testing.T) {
	rc, f := config(), nestedMachine()
	rc.Allow = []string{nestedKey}
	b := newBuilder(rc, f, staged())
	b.home = testHome
	b.bind("the host", "/", "/", false)
	b.tmpfs("hidden", 0o555, testHome+"/.local")
	if err := b.nestedStorage(); err != nil {
		t.Fatal(err)
	}
	if o, _ := b.at(testHome + "/.local/share/containers"); !o.Writable() || b.unplaced != nil {
		t.Errorf("images are kept in %+v, %v", o, b.unplaced)
	}
}

// A link that leads to what is protected cannot be pinned in a box that makes
// containers: the run is refused, in words, and not by the kernel.
func TestNestedLinks(t *testing.T) {
	rc, f := config(), nestedMachine()
	rc.Allow = []string{nestedKey}
	link := filepath.Join(rc.Workdir, ".claude")
	f.Paths[link] = host.Path{Real: filepath.Join(rc.Workdir, "shared"), Kind: host.Dir, Hops: []host.Hop{{Path: link, Target: "shared"}}}
	_, err := build(rc, f, staged())
	if err == nil || !strings.Contains(err.Error(), "in a box that makes containers") {
		t.Errorf("got %v", err)
	}
	rc.Allow = nil
	if plan, err := build(rc, f, staged()); err != nil || len(plan.Pins) == 0 {
		t.Errorf("without containers: %v, pins %v", err, plan.Pins)
	}
}
