package plan

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// Moved is a place of the home that programs look for elsewhere when a variable
// says so: with XDG_CONFIG_HOME=/data/conf, ~/.config/gh is /data/conf/gh. It holds
// for every path of the table, and every start-up file, at or below the place.
type Moved struct {
	Place string   `json:"place"`
	By    []string `json:"by"` // $NAME or $NAME/rest
}

// site is what the places of the table depend on in one run: whose homes there
// are, where the person works, and what the variables of the call and of the
// profile say.
type site struct {
	homes  []string
	uid    int
	roots  []string            // of projects, see projectRoots
	values map[string][]string // of the variables that the table knows and that are set: absolute paths
	moved  []Moved             // those of the table of which a variable is set

	// names returns what a folder holds, in lower case, and whether that is known. It
	// may be nil: then every place of the table is one that may be there.
	names func(dir string) (map[string]bool, bool)
}

// present reports whether a place below a folder may be there. Of two thousand
// places a home has a few dozen, and most of the others lie in six folders: what
// these hold tells sooner than asking for each.
func (s site) present(dir, rest string) bool {
	for s.names != nil {
		name, more, deeper := strings.Cut(rest, "/")
		if isPattern(name) || name == "" {
			return true
		}
		held, known := s.names(dir)
		if known && !held[strings.ToLower(name)] {
			return false
		}
		switch name {
		case ".config", ".cache", ".local", "share", "state":
		default:
			return true
		}
		if !deeper {
			return true
		}
		dir, rest = dir+"/"+name, more
	}
	return true
}

// newSite finds out where the table's places are in a run.
func newSite(rc profile.RunConfig, f host.Facts) site {
	s := site{homes: f.Homes(), uid: f.UID, roots: projectRoots(rc), values: map[string][]string{}}
	asked := map[string]bool{}
	know := func(place string) bool {
		name, _, ok := variableOf(place)
		if !ok {
			return false
		}
		if !asked[name] {
			asked[name] = true
			if v := variablePaths(name, rc, f); len(v) > 0 {
				s.values[name] = v
			}
		}
		return s.values[name] != nil
	}
	for _, m := range movedTable {
		// Not any: each variable is to be asked about.
		set := slices.DeleteFunc(slices.Clone(m.By), func(by string) bool { return !know(by) })
		if len(set) > 0 {
			s.moved = append(s.moved, Moved{m.Place, set})
		}
	}
	for _, r := range resourceTable {
		for _, p := range r.Paths {
			know(p)
		}
	}
	for _, p := range startupVariables {
		know(p)
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
func variablePaths(name string, rc profile.RunConfig, f host.Facts) []string {
	var out []string
	add := func(value string, set bool) {
		for _, p := range pathsOf(value, rc, f) {
			given := set && slices.ContainsFunc(rc.Mounts, func(m profile.Mount) bool { return m.Dest == p })
			if !given && !kernels(p) && !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	add(f.Env[name], false)
	for _, kv := range rc.Env.Set {
		if kv.Key == name {
			add(kv.Value, true)
		}
	}
	return out
}

func pathsOf(value string, rc profile.RunConfig, f host.Facts) []string {
	parts := []string{value}
	if strings.Contains(value, ":") && !strings.Contains(value, "://") {
		parts = append(parts, strings.Split(value, ":")...)
	}
	var out []string
	for _, p := range parts {
		switch {
		case p == "" || strings.ContainsAny(p, "\x00\n") || strings.Contains(p, "://"):
		case filepath.IsAbs(p):
			out = append(out, filepath.Clean(p))
		default:
			for _, dir := range []string{rc.Cwd, rc.Workdir, rc.Project} {
				if dir != "" {
					out = append(out, filepath.Join(dir, p))
				}
			}
			if rest, ok := strings.CutPrefix(p, "~/"); ok || p == "~" {
				for _, h := range f.Homes() {
					out = append(out, filepath.Join(h, strings.TrimPrefix(rest, "~")))
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

// expand turns paths of the table into host paths and patterns. There are two
// homes when $HOME is not the one of the password file: the secrets are in either.
func (s site) expand(paths []string) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			for _, h := range s.homes {
				if s.present(h, rest) {
					out = append(out, under(h, rest))
				}
			}
			out = append(out, s.elsewhere(p)...)
			continue
		}
		if rest, ok := strings.CutPrefix(p, "PROJECT/"); ok {
			for _, root := range s.roots {
				out = append(out, under(root, rest))
			}
			continue
		}
		if name, rest, ok := variableOf(p); ok {
			for _, v := range s.values[name] {
				out = append(out, under(v, rest))
			}
			continue
		}
		out = append(out, strings.Replace(p, "/UID/", "/"+strconv.Itoa(s.uid)+"/", 1))
	}
	return out
}

// elsewhere returns where variables have moved a path of the home.
func (s site) elsewhere(p string) []string {
	var out []string
	for _, m := range s.moved {
		rest, ok := strings.CutPrefix(p, m.Place)
		if !ok || rest != "" && rest[0] != '/' {
			continue
		}
		for _, by := range m.By {
			name, tail, _ := variableOf(by)
			for _, v := range s.values[name] {
				if !s.present(v, strings.Trim(tail+rest, "/")) {
					continue
				}
				to := under(v, strings.Trim(tail+rest, "/"))
				usual := slices.ContainsFunc(s.homes, func(h string) bool { return to == under(h, p[2:]) })
				if !usual {
					out = append(out, to)
				}
			}
		}
	}
	return out
}

// startup returns the start-up files and folders of the user, wherever variables
// have moved them, and the files that only a variable names, whether they exist or
// not. Of the latter a folder is none: ENV=test is common.
func (s site) startup() (places, files []string) {
	var list []string
	for _, name := range startupFiles() {
		list = append(list, "~/"+name)
	}
	for _, v := range startupVariables {
		if strings.Contains(v, "/") {
			list = append(list, v)
		} else {
			files = append(files, s.expand([]string{v})...)
		}
	}
	return s.expand(list), files
}

// Holding returns, for host.Probe, the patterns of files that count only when they
// hold a text.
func Holding(rc profile.RunConfig, f host.Facts) map[string]string {
	out := map[string]string{}
	at := newSite(rc, f)
	for _, r := range resourceTable {
		if r.Holds != "" {
			for _, p := range r.expand(at) {
				out[p] = r.Holds
			}
		}
	}
	return out
}
