package learn

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Setting is what a run was given, by which its accesses are judged. All paths
// are absolute and clean.
type Setting struct {
	Home    string
	Granted map[string]bool // what the profile shows in the box, and whether it can be written
	Own     []string        // what inner itself shows or hides there
	Masked  []string        // what is hidden as it is not in the list of a home
	// Secret returns the key of [sandbox] allow under which a path is hidden, or "".
	Secret func(path string) string
	Exists func(path string) bool // on the host
}

// Mount is a line of [mounts] that would have been enough.
type Mount struct {
	Path    string `json:"path"`
	Mode    string `json:"mode"`              // ro or rw
	Missing bool   `json:"missing,omitempty"` // there is no such thing on the host yet
	Cache   bool   `json:"cache,omitempty"`   // programs outside use what is written there
}

// Hidden is what was asked for and is hidden as a secret.
type Hidden struct {
	Key   string   `json:"key"`
	Paths []string `json:"paths"`
}

// Suggestion is what a profile would have to grant.
type Suggestion struct {
	HomeAllow []string `json:"home_allow"`
	Mounts    []Mount  `json:"mounts"`
	Hidden    []Hidden `json:"hidden"`
	Programs  []string `json:"programs"` // executed, outside the project
}

// system are folders that every box has, or has its own of.
func system() []string {
	return []string{"/usr", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/proc", "/dev", "/sys", "/tmp", "/var/tmp", "/run", "/var/run"}
}

// enough is how many files of a folder are the folder.
const enough = 3

// mostHidden is how many paths below one key are named.
const mostHidden = 20

// Suggest folds what was asked for into what would have been enough. Files that
// the box has are enough as they are; what only the host has is to be shown, and
// what was written has to be written there, or it is gone with the box.
func Suggest(list []Access, s Setting) Suggestion {
	out := Suggestion{HomeAllow: []string{}, Mounts: []Mount{}, Hidden: []Hidden{}, Programs: s.programs(list)}
	reads, writes := s.missing(list, &out)
	var written []string
	for _, f := range s.fold(writes, true) {
		out.Mounts = append(out.Mounts, Mount{Path: f.Path, Mode: "rw", Missing: !s.Exists(f.Path), Cache: f.Path != s.Home && s.cache(f.Path)})
		written = append(written, f.Path)
	}
	reads = slices.DeleteFunc(reads, func(a Access) bool {
		return slices.ContainsFunc(written, func(w string) bool { return paths.Below(w, a.Path) })
	})
	for _, f := range s.fold(reads, false) {
		if paths.Below(s.Home, f.Path) {
			out.HomeAllow = append(out.HomeAllow, f.Path)
		} else {
			out.Mounts = append(out.Mounts, Mount{Path: f.Path, Mode: "ro"})
		}
	}
	return out
}

// programs returns what was executed outside the project.
func (s Setting) programs(list []Access) []string {
	out := []string{}
	for _, a := range list {
		if _, granted := s.granted(a.Path); a.Exec && a.Box == File && (!granted || System(a.Path)) {
			out = append(out, a.Path)
		}
	}
	return out
}

// missing returns what was read and written and is not granted. What is hidden goes into out.
func (s Setting) missing(list []Access, out *Suggestion) (reads, writes []Access) {
	for _, a := range list {
		writable, granted := s.granted(a.Path)
		key := s.Secret(a.Path)
		switch {
		case s.everyBoxHas(a.Path):
		case key != "":
			if a.Host != None {
				out.hide(key, a.Path)
			}
		case s.umbrella(a.Path):
		case a.Write && !writable:
			writes = append(writes, a)
		case !granted && s.missed(a):
			reads = append(reads, a)
		}
	}
	return reads, writes
}

// everyBoxHas reports whether a path is the system's, or made for the box.
func (s Setting) everyBoxHas(p string) bool {
	return System(p) || slices.ContainsFunc(s.Own, func(own string) bool { return paths.Below(own, p) })
}

// missed reports whether the host has what was asked for and the box has not, or has a mask there. A
// folder may only have been asked whether it is there.
func (s Setting) missed(a Access) bool {
	return a.Host != None && (a.Box == None || slices.Contains(s.Masked, a.Path)) && (a.Host != Dir || a.Read)
}

func (s *Suggestion) hide(key, p string) {
	i := slices.IndexFunc(s.Hidden, func(h Hidden) bool { return h.Key == key })
	if i < 0 {
		i = len(s.Hidden)
		s.Hidden = append(s.Hidden, Hidden{Key: key})
	}
	if h := &s.Hidden[i]; len(h.Paths) < mostHidden {
		h.Paths = append(h.Paths, p)
	}
}

// granted reports whether the profile shows a path, by the nearest folder, and
// whether it can be written there.
func (s Setting) granted(p string) (write, granted bool) {
	best := -1
	for dir, w := range s.Granted {
		if paths.Below(dir, p) && len(dir) > best {
			best, write, granted = len(dir), w, true
		}
	}
	return write, granted
}

// umbrella reports whether a folder holds what belongs to many programs: nobody
// wants all of that granted because one of them looked into it.
func (s Setting) umbrella(p string) bool {
	if paths.Below(p, s.Home) {
		return true
	}
	rest, ok := strings.CutPrefix(p, s.Home+"/")
	if !ok {
		return strings.Count(p, "/") == 1
	}
	return slices.Contains([]string{".config", ".cache", ".local", ".local/share", ".local/state", ".local/lib", ".local/bin", "bin", "snap"}, rest)
}

// cache reports whether a path is in a folder from which programs outside take what they run
// or build with, without looking at it.
func (s Setting) cache(p string) bool {
	caches := []string{".cache", "go", ".npm", ".cargo", ".rustup", ".gradle", ".m2", ".ivy2", ".bun", ".pnpm-store", ".nuget", ".gem", ".pub-cache", ".local/share/pnpm"}
	return slices.ContainsFunc(caches, func(dir string) bool { return paths.Below(path.Join(s.Home, dir), p) })
}

// appsOwn reports whether all that is below a path is one program's: it names its folders as
// it likes, and another one tomorrow.
func (s Setting) appsOwn(p string) bool {
	rest, _ := strings.CutPrefix(path.Dir(p), s.Home+"/")
	return slices.Contains([]string{".cache", ".local/share", ".local/state"}, rest)
}

// part returns the highest folder or file that a path may be folded into: the first
// below all umbrellas.
func (s Setting) part(p string) string {
	top := p
	for dir := path.Dir(p); dir != "/" && !s.umbrella(dir); dir = path.Dir(dir) {
		top = dir
	}
	return top
}

// fold makes of the paths below one part the folder they share, when they are
// many; with folders, always: a file that is written is replaced in its folder.
func (s Setting) fold(list []Access, folders bool) []Access {
	groups := map[string][]Access{}
	var order []string
	for _, a := range list {
		top := s.part(a.Path)
		if groups[top] == nil {
			order = append(order, top)
		}
		groups[top] = append(groups[top], a)
	}
	var out []Access
	for _, top := range order {
		group := groups[top]
		dirs := slices.ContainsFunc(group, func(a Access) bool { return a.Host == Dir })
		if len(group) < enough && !folders && !dirs {
			out = append(out, group...)
			continue
		}
		shared := s.folderOf(group[0], top, folders)
		for _, a := range group[1:] {
			shared = common(shared, s.folderOf(a, top, folders))
		}
		out = append(out, Access{Path: shared})
	}
	slices.SortFunc(out, func(a, b Access) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b Access) bool { return a.Path == b.Path })
}

// folderOf returns the folder that stands for one path of a part: with folders, the whole part when
// it is one program's.
func (s Setting) folderOf(a Access, top string, folders bool) string {
	switch {
	case a.Path == top:
	case folders && s.appsOwn(top):
		return top
	case a.Host != Dir && a.Box != Dir:
		return path.Dir(a.Path)
	}
	return a.Path
}

// common returns the deepest folder that contains both paths.
func common(a, b string) string {
	for !paths.Below(a, b) {
		a = path.Dir(a)
	}
	return a
}

// System reports whether a path is in a folder that every box has, or has its
// own of.
func System(p string) bool {
	return slices.ContainsFunc(system(), func(dir string) bool { return paths.Below(dir, p) })
}

// TellDenied says which of the places that are hidden from the box were asked for.
func (o *Observer) TellDenied(run *features.Run, _ *features.Outcome) error {
	list, unseen := o.Accesses()
	asked := Suggest(list, SettingOf(run))
	hidden := asked.Hidden
	var parts []string
	for _, h := range hidden {
		more := ""
		if n := len(h.Paths); n > 1 {
			more = fmt.Sprintf(" and %d more", n-1)
		}
		parts = append(parts, fmt.Sprintf("%s%s (allow = [%q])", visible.Text(run.Short(h.Paths[0])), more, h.Key))
	}
	switch {
	case len(parts) > 0:
		run.Say("hidden, and asked for: %s", strings.Join(parts, ", "))
		run.Hint("allow = [...] under [sandbox] of the profile shows them; they are secrets, so allow only what the program needs")
		if ask := run.Profile.Question(hidden[0].Paths[0]); ask != "" {
			run.Hint("%s", ask)
		}
	case len(asked.HomeAllow) == 0:
		run.Say("the program asked for nothing that the table of resources hides")
	}
	if n := len(asked.HomeAllow); n > 0 {
		run.Say("not shown of your home, and asked for: %s",
			visible.Text(strings.Join(eachShort(run, asked.HomeAllow[:min(n, 8)]), ", ")))
		run.Hint("home_allow = [...] under [sandbox] of the profile shows them")
	}
	if unseen > 0 {
		run.Say("%d calls could not be inspected", unseen)
	}
	return nil
}

func eachShort(run *features.Run, list []string) (out []string) {
	for _, p := range list {
		out = append(out, run.Short(p))
	}
	return out
}

// SettingOf is what the box of a run was given.
func SettingOf(run *features.Run) Setting {
	rc := run.Spec
	granted := map[string]bool{rc.Workdir: rc.WorkdirMode == profile.RW}
	for _, m := range rc.Mounts {
		granted[m.Dest] = m.Mode != profile.RO
	}
	for _, b := range run.Assets.Binds { // what was made for the run
		granted[b.Box] = true
	}
	for _, p := range run.Assets.Parts {
		if p.Op.Dest != "" && !p.System {
			granted[p.Op.Dest] = true
		}
	}
	own := []string{run.InnerHome, filepath.Join(run.Home, ".inner"), run.StageBase(), "/run"}
	if h := run.Facts.Hide; h != nil {
		own = append(own, h.Paths...)
	}
	var masked []string
	for _, o := range run.Plan.Ops {
		if o.Key == "sandbox.home" && slices.Contains(run.Plan.Masked, o.Dest) {
			masked = append(masked, o.Dest)
		}
	}
	return Setting{
		Home: run.Home, Granted: granted, Own: own, Masked: masked,
		Secret: func(p string) string {
			key := plan.ResourceAt(p, rc, run.Facts)
			if slices.Contains(rc.Allow, key) {
				return ""
			}
			return key
		},
		Exists: func(p string) bool {
			_, err := os.Stat(p)
			return err == nil
		},
	}
}
