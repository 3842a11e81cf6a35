package shims

import (
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/enr/inner/internal/atonce"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// maxUnapproved is how many names one project can have guarded before the user has
// allowed it.
const maxUnapproved = 16

// Site is what the shim folder depends on.
type Site struct {
	InnerHome string
	Home      string  // the user's home folder
	Path      string  // PATH, on which the installed agents are looked for
	Program   Program // what belongs behind the shims
	Binary    string  // the file of this process; "" is /proc/self/exe
}

// source is the program that belongs behind the shims: how it is told from another, and its text. The
// version is "" where what is there stays: it is this process, or this process has outlived an upgrade,
// which must not bring the old one back.
func (s Site) source(there os.FileInfo) (version string, text func() (io.ReadCloser, error), err error) {
	if s.Program.Zip != "" {
		text = func() (io.ReadCloser, error) { return gzip.NewReader(strings.NewReader(s.Program.Zip)) }
		return strings.TrimSpace(s.Program.Sum), text, nil
	}
	path := cmp.Or(s.Binary, "/proc/self/exe")
	info, err := os.Stat(path)
	if err != nil {
		return "", nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || there != nil && (os.SameFile(info, there) || st.Nlink == 0) {
		return "", nil, nil
	}
	version = fmt.Sprint(st.Dev, st.Ino, st.Mtim.Nano(), st.Ctim.Nano())
	return version, func() (io.ReadCloser, error) { return os.Open(path) }, nil
}

// Program is the program behind the shims, which cmd/inner carries. Without one the shims run a copy of the
// file of this process.
type Program struct {
	Zip   string // compressed by gzip
	Sum   string // a line with its digest, 16 hexadecimal digits, and its size
	Fleet string // the path of inner-fleet, which knows container engines; "" when this process does not know

	// What it needs beside itself in the folder: Lacks says whether something is missing, and Write writes that.
	// RemoveOld removes what programs of earlier builds needed.
	Lacks            func(folder string) bool
	Write, RemoveOld func(folder string)
}

// Why is one reason for a shim.
type Why struct {
	Project string      `json:"project,omitempty"` // its root
	Profile string      `json:"profile,omitempty"` // its name
	State   trust.State `json:"state,omitempty"`   // of that profile
	Text    string      `json:"text"`              // the reason in words
}

// Set is all the shims that should exist, with every reason for each.
type Set struct {
	Names map[string][]Why
	// Problems are records or files that could not be read. A name they would have
	// asked for may be missing, so none must be removed.
	Problems []error

	agents map[string]string // installed agents, for the state file
}

// Incomplete reports whether a name may be missing.
func (s Set) Incomplete() bool { return len(s.Problems) > 0 }

// Wanted returns the names that should have a shim: the agents that are installed, the
// words that [shims] of the user's config.toml maps, and what the profiles of every
// project claim that the user has entered. Projects are read from disk, now.
//
// An agent that was found once counts as installed for as long as it stays where it
// was, whatever PATH is at the moment: another shell may have another PATH. A project
// that is gone contributes nothing.
func Wanted(s Site) Set { return wanted(s, Folder{s.InnerHome}.ReadState()) }

func wanted(s Site, state State) Set {
	set := Set{Names: map[string][]Why{}, agents: map[string]string{}}
	set.installed(s, state)
	home := Home{Inner: s.InnerHome, User: s.Home}
	set.global(home)
	records, err := home.Trust().Projects()
	if err != nil {
		set.Problems = append(set.Problems, err)
	}
	for _, views := range home.lookAll(records) {
		for _, v := range views {
			set.project(v)
		}
	}
	return set
}

func (s *Set) put(name string, why Why) {
	if profile.CheckCommand(name) == nil && !slices.Contains(s.Names[name], why) {
		s.Names[name] = append(s.Names[name], why)
	}
}

func (s *Set) installed(at Site, state State) {
	bin := Folder{at.InnerHome}.Bin()
	var self []os.FileInfo
	if info, err := os.Stat("/proc/self/exe"); err == nil {
		self = append(self, info)
	}
	for _, agent := range Agents() {
		path, err := FindReal(agent, at.Path, bin, func() []os.FileInfo { return self })
		if err != nil || !filepath.IsAbs(path) {
			path = state.Agents[agent]
			if info, err := os.Stat(path); path == "" || err != nil || info.IsDir() {
				continue
			}
		}
		s.agents[agent] = path
		s.put(agent, Why{Text: fmt.Sprintf("installed agent (%q)", path)})
	}
}

func (s *Set) global(home Home) {
	path := filepath.Join(home.Inner, "config.toml")
	read := config.Load(path, false)
	if read.Err != nil {
		s.Problems = append(s.Problems, read.Err)
		return
	}
	for _, kv := range read.Config.Shims {
		s.put(kv.Key, Why{Profile: kv.Value, Text: fmt.Sprintf("[shims] in %q", path)})
	}
}

// lookAll looks at every recorded project as it is now, several at a time: nearly all
// of Wanted's time goes into reading them.
func (h Home) lookAll(records []trust.ProjectRecord) [][]*View {
	views := make([][]*View, len(records))
	atonce.Of(len(records), func(i int) { views[i] = h.lookFor(&records[i]) })
	return views
}

// lookFor looks at one. A project that is gone has no view, and a linked worktree with a .inner of its
// own has two.
func (h Home) lookFor(rec *trust.ProjectRecord) (views []*View) {
	if !isThere(rec.Root) {
		return nil
	}
	p := profile.FindProject(rec.Root, h.Inner)
	switch {
	case p == nil || p.Root != rec.Root:
		return []*View{lookGone(rec)}
	case p.Of != "":
		views = []*View{h.Look(p)}
	default:
		views = []*View{h.look(&View{Project: p, Record: rec, words: true})}
	}
	if m := p.Behind(h.Inner); m != nil {
		views = append(views, h.Look(m))
	}
	return views
}

// project adds what one project claims. What is not guarded, and more names than one project may have guarded before
// it is allowed, get no shim.
func (s *Set) project(v *View) {
	var unapproved []string // in order, at most maxUnapproved
	for _, p := range v.all() {
		for _, c := range p.Claims {
			why := Why{Project: v.Root, Profile: cmp.Or(p.Name, c.Target), State: p.State}
			who := "config.toml" // of a mapping that is gone
			if why.Profile != "" {
				who = fmt.Sprintf("profile %q", why.Profile)
			}
			why.Text = fmt.Sprintf("claimed by %s of %q (%s)", who, v.Root, p.State)
			if p.State != trust.Allowed && !wasApproved(p.rec, c.Command) {
				known := slices.Contains(unapproved, c.Command)
				if !c.Guarded || !known && len(unapproved) == maxUnapproved {
					continue
				}
				if !known {
					unapproved = append(unapproved, c.Command)
				}
				why.Text = fmt.Sprintf("claimed by %s of %q, to be refused (%s)", who, v.Root, p.State)
			}
			s.put(c.Command, why)
		}
	}
}

// wasApproved reports whether the user once allowed this very claim.
func wasApproved(rec *trust.ProfileRecord, word string) bool {
	return rec != nil && rec.Decision == trust.Allowed && slices.Contains(rec.Commands, word)
}
