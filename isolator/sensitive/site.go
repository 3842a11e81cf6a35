package sensitive

import (
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/gitconfig"
)

// Moved is a place of the home that programs look for elsewhere when a variable
// says so: with XDG_CONFIG_HOME=/data/conf, ~/.config/gh is /data/conf/gh. It holds
// for every path of the table, and every start-up file, at or below the place.
type Moved struct {
	Place string   `json:"place"`
	By    []string `json:"by"` // $NAME or $NAME/rest
}

// Run is what the places of the table depend on in one run.
type Run struct {
	Homes   []string // of the user: two, when $HOME is not the one of the password file
	UID     int
	Roots   []string            // of projects, whose own secret files are hidden
	Folders []string            // that a relative value of a variable may begin in
	Apart   []string            // whose programs are not looked after: see Programs
	Env     map[string]string   // of the call
	Set     map[string][]string // variables that the profile sets
	Mounted []string            // places in the box that it fills itself

	// Names returns what a folder holds, in lower case, and whether that is known. It
	// may be nil: then every place of the table is one that may be there.
	Names func(dir string) (map[string]bool, bool)
}

// Site is the table for one run.
type Site struct {
	Run
	values map[string][]string // of the variables that the table knows and that are set: absolute paths
	moved  []Moved             // those of the table of which a variable is set
}

// NewSite finds out where the table's places are in a run.
func NewSite(run Run) Site {
	s := Site{Run: run, values: map[string][]string{}}
	for _, name := range table().variables {
		if at := s.variablePaths(name); at != nil {
			s.values[name] = at
		}
	}
	for _, m := range table().moved {
		var set []string
		for _, by := range m.By {
			if name, _, ok := variableOf(by); ok && s.values[name] != nil {
				set = append(set, by)
			}
		}
		if len(set) > 0 {
			s.moved = append(s.moved, Moved{m.Place, set})
		}
	}
	return s
}

// variableOf splits $NAME/rest.
func variableOf(place string) (name, rest string, ok bool) {
	if !strings.HasPrefix(place, "$") {
		return "", "", false
	}
	name, rest, _ = strings.Cut(place[1:], "/")
	return name, rest, true
}

// variablePaths returns the absolute paths that a variable names, as the host has
// it and as the profile sets it. Programs disagree on what a relative value is
// relative to, whether they expand "~", and whether a colon divides, so all
// readings count. A place that the profile both names in a variable and mounts
// there is what it made for the box.
func (s Site) variablePaths(name string) []string {
	if s.Env[name] == "" && len(s.Set[name]) == 0 {
		return nil
	}
	command := slices.Contains(table().commands, "$"+name)
	var out []string
	add := func(value string, set bool) {
		named := s.readings(value)
		if command {
			named = append(named, s.words(value)...)
		}
		for _, p := range named {
			given := set && slices.Contains(s.Mounted, p)
			if !given && !kernels(p) && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	add(s.Env[name], false)
	for _, value := range s.Set[name] {
		add(value, true)
	}
	return out
}

func (s Site) readings(value string) []string {
	if address(value) {
		return nil
	}
	var out []string
	for _, p := range append([]string{value}, strings.Split(value, ":")...) {
		switch {
		case p == "" || strings.Contains(p, "\x00"): // no path
		case filepath.IsAbs(p):
			out = append(out, filepath.Clean(p))
		default:
			for _, dir := range s.Folders {
				if dir != "" {
					out = append(out, filepath.Join(dir, p))
				}
			}
			if rest, ok := strings.CutPrefix(p, "~/"); ok || p == "~" {
				for _, h := range s.Homes {
					out = append(out, filepath.Join(h, strings.TrimPrefix(rest, "~")))
				}
			}
		}
	}
	return out
}

// address reports whether a value is an address of the net, as https://host/path is. A path may
// hold "://" anywhere behind its first slash.
func address(value string) bool {
	scheme, _, ok := strings.Cut(value, "://")
	return ok && scheme != "" && !strings.ContainsAny(scheme, "/:~")
}

// words returns the paths that a command line names: as it stands, and with the values of the
// variables in it.
func (s Site) words(line string) []string {
	lines := []string{line}
	if strings.Contains(line, "$") {
		lines = append(lines, os.Expand(line, func(name string) string { return s.Env[name] }))
	}
	var out []string
	for _, line := range lines {
		for _, dir := range s.Folders {
			for _, home := range s.Homes {
				if dir != "" {
					out = append(out, gitconfig.CommandPlaces(line, dir, home)...)
				}
			}
		}
	}
	return out
}

// kernels reports whether a path is the kernel's and not a file somebody wrote:
// HISTFILE=/dev/null is common.
func kernels(p string) bool {
	return slices.ContainsFunc([]string{"/dev", "/proc", "/sys"}, func(dir string) bool { return paths.Below(dir, p) })
}

// listed are the lines of the table that may stand for something here, in its order: of two thousand
// places a home holds a few dozen.
func (s *Site) listed() []string {
	t := table()
	lines := slices.Concat(t.from("/"), t.from("project/"))
	for name := range s.values {
		at := "$" + strings.ToLower(name)
		lines = slices.Concat(lines, t.from(at+"\t"), t.from(at+"/"))
	}
	for _, line := range t.from("?/") {
		if !s.lacks(line[2:]) {
			lines = append(lines, line)
		}
	}
	for _, h := range s.Homes {
		lines = s.inFolder(lines, h, "~")
	}
	for _, m := range s.moved {
		at := strings.ToLower(m.Place)
		lines = slices.Concat(lines, t.from(at+"\t"), t.from(at+"/"), t.from("?"+at[1:]+"/"))
	}
	return inOrder(lines)
}

// lacks reports whether it is known that no home has the first folder of a pattern.
func (s *Site) lacks(pattern string) bool {
	name, _, deeper := strings.Cut(pattern, "/")
	if !deeper || IsPattern(name) || s.Names == nil {
		return false
	}
	return !slices.ContainsFunc(s.Homes, func(home string) bool {
		names, known := s.Names(home)
		return !known || names[strings.ToLower(name)]
	})
}

// inFolder adds the lines of what may be in a folder, which the table calls at. Most places lie in the few folders of
// folders.
func (s *Site) inFolder(lines []string, dir, at string) []string {
	var names map[string]bool
	known := false
	if s.Names != nil {
		names, known = s.Names(dir)
	}
	if !known {
		return append(lines, table().from(at+"/")...)
	}
	for name := range names {
		p := at + "/" + name
		if !table().begins(p) { // nearly all
			continue
		}
		lines = append(lines, table().from(p+"\t")...)
		below := table().from(p + "/")
		if len(below) > 0 && slices.Contains([]string{".config", ".cache", ".local", "share", "state"}, name) {
			lines = s.inFolder(lines, paths.Join(dir, name), p)
		} else {
			lines = append(lines, below...)
		}
	}
	return lines
}

// Spots are what the rows of the table stand for, in its order.
func (s Site) Spots() iter.Seq2[Resource, Spot] {
	return func(yield func(Resource, Spot) bool) {
		var spots []Spot
		for _, line := range s.listed() {
			path, row := placeOf(line)
			r := table().rows[row]
			if r.Root && s.UID != 0 {
				continue
			}
			spots = s.expand(spots[:0], path)
			for _, spot := range spots {
				if !yield(r, spot) {
					return
				}
			}
		}
	}
}

// expand adds what a path of the table stands for. There are two
// homes when $HOME is not the one of the password file: the secrets are in either.
func (s *Site) expand(out []Spot, p string) []Spot {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		for _, h := range s.Homes {
			out = append(out, under(h, rest))
		}
		return append(out, s.elsewhere(p)...)
	}
	if rest, ok := strings.CutPrefix(p, "PROJECT/"); ok {
		for _, root := range s.Roots {
			out = append(out, under(root, rest))
		}
		return out
	}
	if name, rest, ok := variableOf(p); ok {
		for _, v := range s.values[name] {
			out = append(out, under(v, rest))
		}
		return out
	}
	return append(out, under("/", strings.Replace(p[1:], "/UID/", "/"+strconv.Itoa(s.UID)+"/", 1)))
}

// elsewhere returns where variables have moved a path of the home.
func (s *Site) elsewhere(p string) []Spot {
	var out []Spot
	for _, m := range s.moved {
		rest, ok := strings.CutPrefix(p, m.Place)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		for _, by := range m.By {
			name, tail, _ := variableOf(by)
			for _, v := range s.values[name] {
				to := under(v, strings.Trim(tail+rest, "/"))
				usual := slices.ContainsFunc(s.Homes, func(h string) bool { return to == under(h, p[2:]) })
				if !usual {
					out = append(out, to)
				}
			}
		}
	}
	return out
}

// Startup returns the start-up files and folders of the user, wherever variables
// have moved them, with the folders that only a variable names, and the files that only
// a variable names, whether they exist or not. No row of these is a pattern.
func (s Site) Startup() (places, files []string) {
	list := slices.Clone(table().folders)
	for _, name := range Startup() {
		list = append(list, "~/"+name)
	}
	programs := Programs(s.Env["PATH"], s.Homes, s.Apart)
	return append(s.pathsOf(list), programs...), s.pathsOf(slices.Concat(table().files, table().commands))
}

// Programs returns the folders of a PATH that lie in a home of the user: what is put there runs when its
// name is typed. Those in the folders apart, as that of the project, are what the box is to work in.
func Programs(path string, homes, apart []string) []string {
	var out []string
	for _, dir := range filepath.SplitList(path) {
		dir = filepath.Clean(dir)
		in := func(root string) bool { return root != "" && paths.Below(root, dir) }
		if slices.ContainsFunc(homes, func(home string) bool { return paths.Inside(home, dir) }) && !slices.ContainsFunc(apart, in) {
			out = append(out, dir)
		}
	}
	return out
}

func (s Site) pathsOf(list []string) []string {
	var out []string
	for _, p := range list {
		for _, spot := range s.expand(nil, p) {
			out = append(out, spot.Path)
		}
	}
	return out
}

// Place is a row of the table with the host paths it stands for in one run, whether
// they exist or not.
type Place struct {
	Resource
	At []string
}

// Places returns the rows that stand for something in the run. match says what a pattern matches in a folder of
// files that hold a text, or of all. What a row of the rest found in the path of another row is left to that
// one.
func (s Site) Places(match func(dir, pattern, text string) []string) []Place {
	var out []Place
	for r, spot := range s.Spots() {
		at := []string{spot.Path}
		if spot.Pattern != "" {
			at = match(spot.Path, spot.Pattern, r.Holds)
		}
		if len(out) == 0 || out[len(out)-1].What != r.What {
			out = append(out, Place{Resource: r})
		}
		for _, p := range at {
			if !r.excepts(p) {
				out[len(out)-1].At = append(out[len(out)-1].At, p)
			}
		}
	}
	for i, r := range out {
		if !r.Rest {
			continue
		}
		out[i].At = slices.DeleteFunc(r.At, func(p string) bool {
			return slices.ContainsFunc(out, func(other Place) bool {
				return !other.Rest && other.Method != "place" && slices.ContainsFunc(other.At,
					func(dir string) bool { return paths.Below(dir, p) })
			})
		})
	}
	return out
}

// KeyAt returns the key of the row that a host path is, or lies in, or "". It goes by
// name: nothing is looked at. Secrets of the project are not among them.
func (s Site) KeyAt(p string) string {
	s.Roots = nil
	own := func(place Spot) bool { // the homes of all users hold this one
		return slices.ContainsFunc(s.Homes, func(h string) bool {
			return place.holds(h) && (paths.Below(h, p) || paths.Below(p, h))
		})
	}
	for r, place := range s.Spots() {
		if place.holds(p) && !own(place) && !r.excepts(p) {
			return r.Key
		}
	}
	return ""
}

// excepts reports whether a row leaves out what has this name: no folder of an
// exception is anything else.
func (r Resource) excepts(p string) bool {
	return slices.ContainsFunc(r.Except, func(e string) bool {
		ok, err := path.Match(path.Base(e), path.Base(p))
		return err == nil && ok
	})
}

// holds reports whether a path is what the table means, or lies in it.
func (s Spot) holds(p string) bool {
	rest, in := paths.Rest(s.Path, p)
	if s.Pattern == "" || rest == "" {
		return in && s.Pattern == ""
	}
	names, depth := strings.Split(rest, "/"), strings.Count(s.Pattern, "/")+1
	if len(names) < depth {
		return false
	}
	ok, err := path.Match(s.Pattern, strings.Join(names[:depth], "/"))
	return err == nil && ok
}
