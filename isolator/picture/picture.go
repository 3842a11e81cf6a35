// Package picture shows people what a box can see and do: the plan of a run, the
// table of what is hidden and the facts of the host, sorted into groups of short
// rows. What it says about files comes from the plan, so that it is what the
// box will have and not what a profile means.
//
// It opens nothing and probes nothing. Names of files and words of profiles are in
// a Picture as they are; Text and HTML make them harmless.
//
//	plan, err := plan.Build(rc, facts, staged)
//	pic.Groups = picture.Groups(picture.Subject{Config: rc, Facts: facts, Staged: staged, Plan: plan})
//	picture.Text(os.Stdout, pic, picture.Style{Width: 100})
package picture

import (
	"strings"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// Picture is one box, for people.
type Picture struct {
	Profile Profile  `json:"profile"`
	Program Program  `json:"program"`
	Groups  []Group  `json:"groups"`
	Refused *Refused `json:"refused,omitempty"`
}

// Profile is the file that is explained.
type Profile struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	File        string   `json:"file"`
	Extends     []string `json:"extends,omitempty"` // files, nearest first
	Scope       string   `json:"scope"`
	Chosen      string   `json:"chosen"` // why this one
	Approved    bool     `json:"approved"`
	Trust       string   `json:"trust"` // for people
}

// Program is what runs.
type Program struct {
	Command string `json:"command"`        // as it is typed
	Path    string `json:"path,omitempty"` // on the host
	Missing bool   `json:"missing,omitempty"`
	Chosen  string `json:"chosen"`           // where it is written
	Folder  string `json:"folder,omitempty"` // where it starts
}

// Refused says why a run would not start.
type Refused struct {
	Why  string `json:"why"`
	Hint string `json:"hint,omitempty"`
	Code int    `json:"code"`
}

// Group is what belongs together.
type Group struct {
	Key   string `json:"key"` // files, hidden, network, …
	Title string `json:"title"`
	Rows  []Row  `json:"rows"`
}

// Row says one word about a few things.
type Row struct {
	Way    Way     `json:"way"`
	Word   string  `json:"word"`
	Things []Thing `json:"things"`
}

// Way is how something stands between the machine and the box.
type Way string

// The ways.
const (
	Open Way = "open" // passes, and the box can change or use it
	Seen Way = "seen" // passes to be read
	Own  Way = "own"  // the box has one of its own
	Shut Way = "shut" // does not pass
	Note Way = "note" // only words
)

// Thing is one thing, or with a Count many of a kind.
type Thing struct {
	Text   string   `json:"text"`
	Path   string   `json:"path,omitempty"` // on the host, whole
	Why    string   `json:"why,omitempty"`
	Count  int      `json:"count,omitempty"`
	Places []string `json:"places,omitempty"` // on the host
}

// Subject is what is known of a run. Plan is zero for one that would be refused:
// files are then told as the profile has them. Facts may be zero, too.
type Subject struct {
	Config profile.RunConfig
	Facts  host.Facts
	Staged plan.Staged
	Plan   plan.Plan
	Clones []capability.Capability

	Hosts      []Hosts  // what can be reached by name
	NetNotes   []string // what else there is to say about that
	Limits     []string // what holds each limit
	GitLeftOut []string // settings of git that stay outside
	Unsigned   bool     // git outside would sign, and the box has no keys
	Later      []string // host paths that exist, and run or are obeyed when somebody builds
}

// Hosts are names that can be reached, and what lists them.
type Hosts struct {
	From  string
	Names []string
}

// planned reports whether there is a plan to read.
func (s Subject) planned() bool { return s.Plan.Bwrap != "" }

// Groups sorts what is known into groups; empty ones are left out.
func Groups(s Subject) []Group {
	var out []Group
	add := func(key, title string, rows []Row) {
		var some []Row
		for _, r := range rows {
			if len(r.Things) > 0 {
				some = append(some, r)
			}
		}
		if len(some) > 0 {
			out = append(out, Group{key, title, some})
		}
	}
	add("files", "Files", s.files())
	add("hidden", "Secrets", s.hidden())
	add("network", "Network", s.network())
	add("settings", "Logins and settings", s.settings())
	add("variables", "Environment variables", s.variables())
	add("commands", "Commands", s.commands())
	add("limits", "Limits", s.limits())
	add("kernel", "Kernel", s.kernel())
	add("organisation", "Taken by "+profile.OrganisationFile, s.organisation())
	add("stays", "After the run", s.outlives())
	add("later", "On your machine later", s.later())
	return out
}

// short writes the home as ~.
func (s Subject) short(p string) string {
	home := s.Config.HomeDir
	if home == "" || home == "/" {
		return p
	}
	if p == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(p, home+"/"); ok {
		return "~/" + rest
	}
	return p
}

func (s Subject) place(p, why string) Thing { return Thing{Text: s.short(p), Path: p, Why: why} }

func words(list ...string) []Thing {
	var out []Thing
	for _, w := range list {
		out = append(out, Thing{Text: w})
	}
	return out
}

func row(way Way, word string, things ...Thing) Row { return Row{way, word, things} }
