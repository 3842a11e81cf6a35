package profile

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
)

// System is a key of [mounts]. It stands for what programs need besides the folders that every box
// with base = "minimal" has: more of the system (systemMore), the folders of the caller's PATH, and
// what lies beside them and their links lead to. With it a home that is the host's stays that, as
// with base = "host". It is read-only.
const System = "@system"

// systemMore are the kernel's view of the machine, the databases of package managers, the halves of
// packages of /usr that lie in /var, and where further package managers keep programs.
func systemMore() []string {
	return []string{
		"/usr/local", // where that is a link: OSTree
		"/sys",
		"/var/lib/dpkg", "/var/lib/rpm", "/var/lib/pacman", "/var/lib/alternatives",
		"/var/lib/gems", "/var/lib/ghc", "/var/lib/texmf", "/var/lib/aspell",
		"/var/lib/sgml-base", "/var/lib/xml-core", "/var/lib/ghostscript",
		"/var/cache/man", "/var/cache/fontconfig",
		"/snap", "/var/lib/snapd/snap", "/var/lib/flatpak", "/var/guix", "/cvmfs", "/software",
	}
}

// beside are the folders next to one called bin that belong to the programs in it. Files never do:
// logins lie there (~/.docker/config.json, ~/.cargo/credentials.toml).
func beside() []string {
	return []string{"lib", "lib64", "libexec", "share", "etc", "sdk", "shared", "pkgs", "versions", "envs", "vendor", "gems", "specifications", "extensions"}
}

// installed collects folders and files of programs of a run.
type installed struct {
	r     *resolver
	shown []string // folders that the box has anyway
	list  []string // real paths
}

// programs are what System stands for of the caller's PATH, by real path. What leads through a link
// that a box can change is left out, and so is all that is, or holds, a home.
func (r *resolver) programs() {
	if _, ok := r.s.Value("mounts").Get(System); !ok {
		return
	}
	path, _ := r.c.Lookup("PATH")
	in := &installed{r: r}
	in.shown = slices.Concat(SystemFolders(), systemMore(), r.rc.HomeAllow)
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			in.path(dir)
		}
	}
	r.rc.Programs = in.list
}

// path adds a folder of PATH, with what the links in it lead to.
func (in *installed) path(dir string) {
	at := in.folder(dir)
	if at == "" || slices.Contains([]string{"/usr/bin", "/usr/sbin", "/bin", "/sbin"}, at) || in.r.c.BoxFolder(in.r.rc, at) != "" {
		return
	}
	entries, _ := os.ReadDir(at) // what we cannot list nobody finds on PATH
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		link := filepath.Join(at, e.Name())
		if to, err := os.Readlink(link); err != nil || !filepath.IsAbs(to) && in.has(filepath.Join(at, to)) {
			continue
		}
		in.behind(link)
	}
}

// behind adds what the link of a program leads to, unless a box has a say in that: its folder, when that is one
// of programs or outside of the home, or else the file alone.
func (in *installed) behind(link string) {
	real, _, byBox, err := in.r.led(link)
	fi, errReal := os.Stat(real)
	if byBox != "" || cmp.Or(err, errReal) != nil || in.has(real) || fi.IsDir() {
		return
	}
	switch dir := filepath.Dir(real); {
	case ofPrograms(dir), !paths.Below(in.r.home, dir) && filepath.Dir(dir) != "/":
		in.folder(dir)
	default:
		in.add(real)
	}
}

// folder adds a folder of programs and what lies beside it, and returns its real path; "" when it
// is left out.
func (in *installed) folder(dir string) string {
	at, _, byBox, err := in.r.led(dir)
	switch kind, errAt := stat(at); {
	case byBox != "" || err != nil:
		return ""
	case in.r.ofSystem(at): // and so is what lies beside it
		return at
	case errAt != nil, kind != "a folder", in.r.holdsHome(at), in.r.inner != "" && (paths.Below(in.r.inner, at) || paths.Below(at, in.r.inner)):
		return ""
	}
	in.add(at)
	parent := filepath.Dir(at)
	names := beside()
	switch {
	case !ofPrograms(at), parent == "/", parent == in.r.home:
		return at
	case parent == filepath.Join(in.r.home, ".config"), parent == filepath.Join(in.r.home, ".local/share"):
		return at
	case parent == filepath.Join(in.r.home, ".local"):
		names = []string{"lib"}
	}
	for _, name := range names {
		next := filepath.Join(parent, name)
		if fi, err := os.Lstat(next); err == nil && fi.IsDir() && !in.r.holdsHome(next) {
			in.add(next)
		}
	}
	return at
}

// ofSystem reports whether a folder is one that every box with System has.
func (r *resolver) ofSystem(dir string) bool {
	return slices.ContainsFunc(slices.Concat(SystemFolders(), systemMore()), func(root string) bool { return paths.Inside(root, dir) })
}

// ofPrograms reports whether a folder is called as those are that have others beside them.
func ofPrograms(dir string) bool {
	return slices.Contains([]string{"bin", "shims", "sbin", "condabin", "scripts"}, filepath.Base(dir))
}

func (in *installed) add(p string) {
	if !in.has(p) {
		in.list = append(in.list, p)
	}
}

// has reports whether the box has a path already.
func (in *installed) has(p string) bool {
	return paths.Over(slices.Concat(in.shown, in.list, in.r.rc.boxFolders), p) != ""
}
