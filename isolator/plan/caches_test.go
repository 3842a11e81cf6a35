package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// What bwrap would make in a cache could be a link that an earlier box left there.
func TestNothingIsMountedInACache(t *testing.T) {
	for at, refused := range map[string]bool{"/home/u/.cache": false, "/home/u/.cached": false, "/home/u/.cache/x": true} {
		b := &builder{plan: Plan{Caches: []CachePlace{{At: "/home/u/.cache", Rel: ".cache"}}}}
		b.tmpfs("the cache", 0o700, "/home/u/.cache")
		b.tmpfs("it", 0o700, at)
		if (b.unplaced != nil) != refused {
			t.Errorf("a mount at %q: %v", at, b.unplaced)
		}
	}
}

func TestCaches(t *testing.T) {
	const home = "/home/u"
	always := []string{ // where no folder is
		"/run/inner/caches", "npm_config_cache=/run/inner/caches/.npm", "YARN_GLOBAL_FOLDER=/run/inner/caches/.yarn/berry", "BUN_INSTALL_CACHE_DIR=/run/inner/caches/.bun/install/cache",
		"GRADLE_USER_HOME=/run/inner/caches/.gradle", "GOMODCACHE=/run/inner/caches/go/pkg/mod", "CARGO_HOME=/run/inner/caches/.cargo", "NUGET_PACKAGES=/run/inner/caches/.nuget/packages",
	}
	for name, c := range map[string]struct {
		dirs []string
		env  map[string]string
		set  []profile.KV
		net  profile.Network
		want string // places, then variables

		mounts string // a mount of the profile
	}{
		"usual":             {dirs: []string{".cache", ".npm"}, net: profile.NetOff, want: ".cache .npm"},
		"no folder":         {net: profile.NetOff, want: strings.Join(always[:5], " ") + " XDG_CACHE_HOME=/run/inner/caches/.cache"},
		"no folder, online": {net: profile.NetFull, want: strings.Join(always, " ") + " XDG_CACHE_HOME=/run/inner/caches/.cache"},
		"fetched":           {dirs: []string{".cache", "go/pkg/mod", ".cargo/registry", ".cargo/git"}, net: profile.NetFull, want: ".cache go/pkg/mod .cargo/registry .cargo/git"},
		"no network":        {dirs: []string{".cache", "go/pkg/mod", ".cargo/registry", ".cargo/git"}, net: profile.NetOff, want: ".cache"},
		"half of it":        {dirs: []string{".cache", ".cargo/registry"}, net: profile.NetFull, want: ".cache /run/inner/caches CARGO_HOME=/run/inner/caches/.cargo"},
		"moved":             {dirs: []string{".cache"}, env: map[string]string{"GOCACHE": "/data/go"}, net: profile.NetOff, want: ".cache /run/inner/caches GOCACHE=/run/inner/caches/.cache/go-build"},
		"moved to itself":   {dirs: []string{".cache"}, env: map[string]string{"XDG_CACHE_HOME": home + "/.cache/"}, net: profile.NetOff, want: ".cache"},
		"moved by GOPATH":   {dirs: []string{".cache"}, env: map[string]string{"GOPATH": "/data/go"}, net: profile.NetFull, want: ".cache /run/inner/caches GOMODCACHE=/run/inner/caches/go/pkg/mod"},
		"moved to the work": {dirs: []string{".cache"}, env: map[string]string{"GOCACHE": "/work/cache"}, net: profile.NetOff, want: ".cache"},
		"the profile's":     {dirs: []string{".cache"}, set: []profile.KV{{Key: "GOCACHE", Value: "/data/go"}}, net: profile.NetOff, want: ".cache"},
		"a part of it":      {dirs: []string{".cache", ".cache/pip", ".cache/go-build"}, mounts: ".cache/pip", net: profile.NetOff, want: "/run/inner/caches XDG_CACHE_HOME=/run/inner/caches/.cache"},
		"Maven":             {dirs: []string{".cache", ".m2/repository"}, net: profile.NetFull, want: ".cache .m2/repository"},
	} {
		b := &builder{
			rc:   profile.RunConfig{Home: "host", Network: c.net, Env: profile.Env{InheritAll: true, Set: c.set}},
			f:    host.Facts{Home: home, Paths: map[string]host.Path{}, Env: c.env},
			s:    Staged{Caches: &Caches{Dir: "/own"}},
			home: home,
		}
		for _, dir := range c.dirs {
			b.f.Paths[home+"/"+dir] = host.Path{Kind: host.Dir, Real: home + "/" + dir}
		}
		b.bind("the host", "/", "/", false)
		b.bind("the work", "/work", "/work", true)
		if c.mounts != "" {
			b.bind("a mount of the profile", home+"/"+c.mounts, home+"/"+c.mounts, true)
		}
		if err := b.caches(); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range b.plan.Caches {
			got = append(got, strings.TrimPrefix(p.At, home+"/"))
		}
		for _, kv := range b.plan.CacheEnv {
			got = append(got, kv.Key+"="+kv.Value)
		}
		wanted := strings.Fields(c.want)
		got = slices.DeleteFunc(got, func(s string) bool { return slices.Contains(always, s) && !slices.Contains(wanted, s) })
		if slices.Sort(got); strings.Join(got, " ") != strings.Join(slices.Sorted(strings.FieldsSeq(c.want)), " ") {
			t.Errorf("%s: got\n%q, want\n%q", name, got, c.want)
		}
	}
}
