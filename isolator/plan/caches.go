package plan

// A box that sees the host's home has caches of its own: the host's would be read-only, and
// most tools do not work then. They are kept for the boxes of a project (see package
// ownhome), or empty.
//
// A cache is mounted at its usual place when the host has a folder there to mount on. Else,
// and when a variable has moved it, the variable names a folder below paths.BoxCaches. A
// place that the box can write already stays as it is.
//
// A home of the box's own has its caches in it. They begin cold, so the box reads what the host's
// tools have fetched where they can be told of a second place (fetched), or has copies of it (package
// features). It writes none of it.

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Caches are those of a box.
type Caches struct {
	// Dir is the folder of the host that holds them; "" makes empty ones, which go with the box.
	Dir string
	// GoModules is where the host's Go keeps the modules that it has fetched, as a proxy of Go
	// has them; "" for nowhere. GoProxy is what GOPROXY is when no variable says so; ""
	// when that is unknown, and then the box's Go is told nothing.
	GoModules, GoProxy string
	// Fetched is where those of the function of that name are, by Rel and without links: none behind one that may
	// be a box's.
	Fetched map[string]string
}

// CachePlace is one cache of a box.
type CachePlace struct {
	At  string // box path
	Rel string // of its folder, below Caches.Dir
}

// cache is one that tools keep.
type cache struct {
	dir      string   // below the home
	parts    []string // what of dir it is, when it is not all
	variable string   // moves it
	quiet    bool     // the variable is not set where it was not: npm warns of it
	fetched  bool     // it holds downloads: without a network the host's own is of more use
}

func cacheTable() []cache {
	return []cache{
		{dir: anyCache, variable: "XDG_CACHE_HOME"},
		{dir: ".npm", variable: "npm_config_cache"},
		{dir: ".local/share/pnpm/store", variable: "npm_config_store_dir", quiet: true},
		{dir: ".yarn/berry", variable: "YARN_GLOBAL_FOLDER"},
		{dir: ".bun/install/cache", variable: "BUN_INSTALL_CACHE_DIR"},
		{dir: ".gradle", variable: "GRADLE_USER_HOME"},
		{dir: goModules, variable: "GOMODCACHE", fetched: true},
		{dir: ".cargo", parts: []string{"registry", "git"}, variable: "CARGO_HOME", fetched: true},
		{dir: ".m2/repository", fetched: true}, // Maven 3.8 knows no variable
		{dir: ".nuget/packages", variable: "NUGET_PACKAGES", fetched: true},
		// These are in the first one unless their variables move them.
		{dir: ".cache/go-build", variable: "GOCACHE"},
		{dir: ".cache/pip", variable: "PIP_CACHE_DIR"},
		{dir: ".cache/uv", variable: "UV_CACHE_DIR"},
		{dir: ".cache/yarn", variable: "YARN_CACHE_FOLDER"},
		{dir: ".cache/ccache", variable: "CCACHE_DIR"},
		{dir: ".cache/deno", variable: "DENO_DIR"},
	}
}

const (
	anyCache  = ".cache"
	goModules = "go/pkg/mod"
)

// folders are those of a cache, below the home.
func (c cache) folders() []string {
	if len(c.parts) == 0 {
		return []string{c.dir}
	}
	var out []string
	for _, part := range c.parts {
		out = append(out, filepath.Join(c.dir, part))
	}
	return out
}

// caches gives the box its caches.
func (b *builder) caches() error {
	if b.s.Caches == nil {
		return nil
	}
	defer b.because("sandbox.home")()
	env := b.cacheEnv()
	if b.rc.Home == "own" {
		return b.fetched(env)
	}
	shown := len(b.where(b.canon(b.s.Caches.GoModules))) > 0
	elsewhere := false
	for _, c := range cacheTable() {
		v := env[c.variable]
		switch usual := v == "" || filepath.Clean(v) == filepath.Join(b.f.Home, c.dir); {
		case c.fetched && b.rc.Network == profile.NetOff:
		case usual && paths.Inside(anyCache, c.dir): // it goes where that goes; what boxes write around it is no place to mount
		case usual && b.cacheFits(c):
			for _, rel := range c.folders() {
				if at := filepath.Join(b.home, rel); !b.canWrite(at) {
					b.cacheFolder(at, rel)
				}
			}
		case c.variable == "", v == "" && c.quiet, !usual && b.canWrite(v), b.profileSets(c.variable):
		default:
			b.cacheVariable(c.variable, filepath.Join(paths.BoxCaches, c.dir))
			elsewhere = true
		}
	}
	if elsewhere {
		b.cacheFolder(paths.BoxCaches, cachesElsewhere)
	}
	return b.goProxy(env["GOPROXY"], shown)
}

// cacheEnv is the environment of the program, in which GOPATH has moved the module cache of Go, too.
func (b *builder) cacheEnv() map[string]string {
	env := host.Environment(Environment(b.rc, b.f, b.s))
	if first, _, _ := strings.Cut(env["GOPATH"], ":"); env["GOMODCACHE"] == "" && env["GOPATH"] != "" {
		env["GOMODCACHE"] = filepath.Join(first, "pkg/mod")
	}
	return env
}

// cachesElsewhere is the folder, below Caches.Dir, of what variables lead to.
const cachesElsewhere = ".elsewhere"

func (b *builder) canWrite(at string) bool {
	l, _ := b.at(b.canon(at))
	return l.Writable() && !l.empty
}

func (b *builder) profileSets(name string) bool {
	return slices.ContainsFunc(b.rc.Env.Set, func(kv profile.KV) bool { return kv.Key == name })
}

// cacheFits reports whether the usual place of a cache is one to mount on, or can be written.
func (b *builder) cacheFits(c cache) bool {
	for _, rel := range c.folders() {
		at := filepath.Join(b.home, rel)
		if b.canWrite(at) {
			continue
		}
		l, hostPath := b.at(at)
		if !l.bound() {
			hostPath = at // a place in memory: it is made there
		} else if info := b.f.Look(hostPath); info.Kind != host.Dir || info.Real != hostPath {
			return false
		}
		allowed := func(h hid) bool { return paths.Below(hostPath, h.path) } // it is shown at its usual place
		mounted := func(o Op) bool { return o.Mounts() && paths.Inside(at, o.Dest) }
		staged := func(s Bind) bool { return paths.Inside(at, b.stagedPlace(s.Box)) }
		if slices.ContainsFunc(b.plan.Ops, mounted) || slices.ContainsFunc(b.s.Binds, staged) ||
			slices.ContainsFunc(b.places(true), allowed) || b.inHidden(hostPath) {
			return false
		}
	}
	return true
}

// cacheFolder mounts one folder. Of the host there is nothing in it.
func (b *builder) cacheFolder(at, rel string) {
	b.plan.Caches = append(b.plan.Caches, CachePlace{At: at, Rel: rel})
	if b.s.Caches.Dir == "" {
		b.tmpfs("a cache of its own, gone after the run", 0o700, at)
		return
	}
	b.op(Op{Kind: OpBind, Source: filepath.Join(b.s.Caches.Dir, rel), Dest: at, Reason: "a cache of its own, kept for boxes of this project", own: true})
}

func (b *builder) cacheVariable(name, value string) {
	kv := profile.KV{Key: name, Value: value}
	b.s.Env = append(b.s.Env, kv)
	b.plan.CacheEnv = append(b.plan.CacheEnv, kv)
}

// Folders below the home of which a home of the box's own gets copies of what lock files of its project name.
const (
	FetchedNpm  = ".npm/_cacache/content-v2"
	FetchedYarn = ".yarn/berry/cache"
)

// Fetched is what a home of the box's own has of downloads of the host, below the home: copies, or where a tool
// knows of a second place the variable that names it, to be read.
func Fetched() []struct{ Rel, at, variable, value string } {
	return []struct{ Rel, at, variable, value string }{
		{Rel: FetchedNpm},
		{Rel: FetchedYarn},
		{Rel: ".cache/pre-commit/db.db"}, // these two say which of the versions of @toolchains is which
		{Rel: ".cache/node/corepack/lastKnownGood.json"},
		{".gradle/caches/modules-2", paths.BoxGradle + "/modules-2", "GRADLE_RO_DEP_CACHE", paths.BoxGradle}, // of 6.1
		{".m2/repository", paths.BoxMaven, "MAVEN_ARGS", "-Dmaven.repo.local.tail=" + paths.BoxMaven},        // of 3.9
	}
}

// fetched gives that to a box.
func (b *builder) fetched(env map[string]string) error {
	for _, f := range Fetched() {
		switch real := b.s.Caches.Fetched[f.Rel]; {
		case real == "" || b.canon(real) != real || !b.kind(real).FileOrDir() || b.notSecret(real, "", "") != nil || b.hides(real):
		case f.at == "":
			b.plan.Fetched = append(b.plan.Fetched, f.Rel)
		case env[f.variable] == "":
			b.bind("what you have fetched, to be read", real, f.at, false)
			b.setenv(f.variable, f.value)
		}
	}
	if profile.HasLogin(cmp.Or(env["GOPROXY"], b.s.Caches.GoProxy)) {
		return nil
	}
	return b.goProxy(env["GOPROXY"], true)
}

// goProxy has Go look first among what the host has fetched, when its module cache is the
// box's own and the box would see the host's otherwise (shown), all of it. Go checks what is there as
// it checks what comes from the network.
func (b *builder) goProxy(set string, shown bool) error {
	moved := slices.ContainsFunc(b.plan.CacheEnv, func(kv profile.KV) bool { return kv.Key == "GOMODCACHE" })
	own := slices.ContainsFunc(b.plan.Caches, func(c CachePlace) bool { return c.Rel == goModules })
	from := b.s.Caches.GoModules
	further := cmp.Or(set, b.s.Caches.GoProxy)
	if !moved && !own && b.rc.Home != "own" || from == "" || further == "" ||
		b.kind(from) != host.Dir || b.profileSets("GOPROXY") {
		return nil
	}
	real := b.canon(from)
	if !shown || real != from && b.rc.Home == "own" || b.notSecret(real, "", "") != nil || b.hides(real) {
		return nil
	}
	b.bind("Go modules that you have fetched, to be read", real, paths.BoxGoModules, false)
	b.cacheVariable("GOPROXY", "file://"+paths.BoxGoModules+","+further)
	return nil
}
