package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What the cleaned git configuration was made from is not readable beside it, but for
// what the person works on.
func TestCoverGit(t *testing.T) {
	own, xdg, inc := testHome+"/.gitconfig", testHome+"/.config/git/config", testHome+"/inc"
	file := func(real string) host.Path { return host.Path{Kind: host.File, Real: real} }
	for _, c := range []struct {
		about             string
		paths             map[string]host.Path
		change            func(*profile.RunConfig)
		data, empty, left []string
	}{
		{"both and an include", map[string]host.Path{own: file(own), xdg: file(xdg), inc: file(inc)}, nil, []string{own}, []string{xdg, inc}, nil},
		{"the second alone", map[string]host.Path{xdg: file(xdg)}, nil, []string{xdg}, nil, nil},
		{"a link out of the way", map[string]host.Path{own: file(testHome + "/dot/git"), testHome + "/dot": {Kind: host.Dir, Real: testHome + "/dot"}}, nil, []string{testHome + "/dot/git"}, nil, nil},
		{"a link into the working folder", map[string]host.Path{own: file(testWork + "/git"), inc: file(inc)}, nil, nil, []string{inc}, []string{testWork + "/git"}},
		{"an include of the working folder", map[string]host.Path{own: file(own), inc: file(testWork + "/inc")}, nil, []string{own}, nil, []string{testWork + "/inc"}},
		{"a home that can be written", map[string]host.Path{own: file(own)}, func(rc *profile.RunConfig) {
			rc.Mounts = []profile.Mount{{Source: testHome, Dest: testHome, Mode: profile.RW}}
		}, []string{own}, nil, nil},
		{"shown elsewhere", map[string]host.Path{own: file(own), inc: file(inc), "/data": file("/data")}, func(rc *profile.RunConfig) {
			rc.Mounts = []profile.Mount{{Source: inc, Dest: "/data", Mode: profile.RO}}
		}, []string{own}, []string{inc, "/data"}, nil},
		{"an isolated home", map[string]host.Path{own: file(own)}, func(rc *profile.RunConfig) { rc.Home = "isolated" }, nil, nil, nil},
	} {
		rc, f, s := config(), machine(), staged()
		delete(f.Paths, xdg)
		for p, info := range c.paths {
			f.Paths[p] = info
		}
		if c.change != nil {
			c.change(&rc)
		}
		s.GitConfig, s.GitFiles = []byte("cleaned"), []string{own, inc, testHome + "/gone"}
		plan, err := build(rc, f, s)
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		var data, empty []string
		for _, o := range plan.Ops {
			switch {
			case !strings.Contains(o.Reason, "[git]"):
			case o.Kind == OpMask:
				empty = append(empty, o.Dest)
			case o.Dest != paths.BoxGitConfig:
				data = append(data, o.Dest)
			}
		}
		slices.Sort(c.empty)
		slices.Sort(empty)
		if !slices.Equal(data, c.data) || !slices.Equal(empty, c.empty) {
			t.Errorf("%s: cleaned at %q, empty at %q, want %q, %q", c.about, data, empty, c.data, c.empty)
		}
		for _, p := range c.left {
			if got, _ := replayed(plan).shown(p); got != p {
				t.Errorf("%s: %s shows %q", c.about, p, got)
			}
		}
	}
	plan, err := build(config(), machine(), staged())
	if err != nil || strings.Contains(strings.Join(plan.Words(), " "), paths.BoxGitConfig) {
		t.Errorf("without [git]: %v", err)
	}
}

// A repository in a folder that is hidden is not shared with the box.
func TestSharedGitInSecrets(t *testing.T) {
	dir := testHome + "/.ssh/repo/.git"
	rc, f, s := config(), machine(), staged()
	for _, p := range []string{testHome + "/.ssh", testHome + "/.ssh/repo", dir} {
		f.Paths[p] = host.Path{Kind: host.Dir, Real: p}
	}
	s.Repos = []Repo{{Dir: dir, Binds: []Bind{{Host: dir, Box: dir, Reason: "shared"}}}}
	made := func() bool {
		plan, err := build(rc, f, s)
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(plan.Ops, func(o Op) bool { return o.Source == dir && o.Reason == "shared" })
	}
	if made() {
		t.Error("a box that does not see the folder has the repository")
	}
	rc.Home = "isolated" // nor does it appear at its own path
	if made() {
		t.Error("a box with an empty home has the repository")
	}
	rc.Home, rc.Allow = "host", []string{"ssh-keys"}
	if !made() {
		t.Error("allowed, and the repository is not there")
	}
}

// A shared git directory is read-only wherever the box sees it, and at its own path: what is served comes over that.
func TestSharedGit(t *testing.T) {
	repo := testWork + "/.git"
	far := testHome + "/main/.git"
	for _, c := range []struct {
		about  string
		dir    string
		change func(*profile.RunConfig, *host.Facts)
		want   []string
	}{
		{"of the working folder", repo, nil, []string{repo}},
		{"of a linked worktree, the home empty", far, func(rc *profile.RunConfig, _ *host.Facts) { rc.Home = "isolated" }, []string{far}},
		{"mounted elsewhere, too", repo, func(rc *profile.RunConfig, _ *host.Facts) {
			rc.Mounts = []profile.Mount{{Source: testWork, Dest: "/data", Mode: profile.RW}}
		}, []string{repo, "/data/.git"}},
		{"hidden", repo, func(rc *profile.RunConfig, f *host.Facts) {
			rc.Hide, f.Hide = []string{".git"}, &host.Hide{Paths: []string{repo}}
		}, nil},
	} {
		rc, f, s := config(), machine(), staged()
		for _, p := range []string{repo, far, "/data"} {
			f.Paths[p] = host.Path{Kind: host.Dir, Real: p}
		}
		if c.change != nil {
			c.change(&rc, &f)
		}
		s.Repos = []Repo{{Dir: c.dir, Binds: []Bind{
			{Host: "/home/ann/.inner/store", Box: paths.BoxDir + "/git/0/store", Write: true},
			{Host: c.dir + "/objects", Box: paths.BoxDir + "/git/0/objects"},
			{Host: c.dir, Box: c.dir, Reason: "shared"},
		}}}
		plan, err := build(rc, f, s)
		if err != nil {
			t.Errorf("%s: %v", c.about, err)
			continue
		}
		var got, store []string
		for _, o := range plan.Ops {
			switch {
			case o.Source == c.dir && o.Reason == "shared" && o.Kind == OpReadOnly:
				got = append(got, o.Dest)
			case o.Source == "/home/ann/.inner/store":
				store = append(store, o.Dest)
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) || len(store) != min(len(want), 1) {
			t.Errorf("%s: at %q, its store at %q, want %q", c.about, got, store, want)
		}
		for _, s := range plan.Shown { // whoever looks sees the host's, or already what is served
			if s.Path == c.dir && s.Source != "" {
				t.Errorf("%s: the box looks for the host's own at %s", c.about, s.Path)
			}
		}
	}
}
