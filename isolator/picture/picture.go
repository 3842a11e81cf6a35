// Package picture shows people what a box can see and do: the plan of a run, the
// table of what is hidden and the facts of the host, sorted into groups of short
// rows. What it says about files comes from the plan, so that it is what the
// box will have and not what a profile intends.
//
// It opens nothing and probes nothing. Names of files and words of profiles are in
// a Picture as they are; Text and HTML pass each through the clean function of their caller,
// and HTML escapes it as well.
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

// Picture is what inner explain says of one box. Its JSON is printed by inner explain --json.
type Picture struct {
	Profile Profile  `json:"profile"`
	Program Program  `json:"program"`
	Groups  []Group  `json:"groups"`
	Refused *Refused `json:"refused,omitempty"`
}

// Profile is the profile that is explained.
type Profile struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	File        string   `json:"file"`
	Extends     []string `json:"extends,omitempty"` // files, nearest first
	Scope       string   `json:"scope"`             // as profile.Scope
	Chosen      string   `json:"chosen"`            // why this one
	Approved    bool     `json:"approved"`
	Trust       string   `json:"trust"` // Approved, in words
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
	Code int    `json:"code"` // the exit code of inner
}

// Group is one section of the picture, with rows that belong together.
type Group struct {
	Key   string `json:"key"` // files, hidden, network, …
	Title string `json:"title"`
	Rows  []Row  `json:"rows"`
}

// Row says the same of a few things, with a word or two.
type Row struct {
	Way    Way     `json:"way"`
	Word   string  `json:"word"`
	Things []Thing `json:"things"`
}

// Way says what passes between the machine and the box.
type Way string

// The ways.
const (
	Open Way = "open" // passes, and the box can change or use it
	Seen Way = "seen" // passes to be read
	Own  Way = "own"  // the box has one of its own
	Shut Way = "shut" // does not pass
	Note Way = "note" // a remark
)

// Thing is one thing, or with a Count several of a kind.
type Thing struct {
	Text   string   `json:"text"`
	Path   string   `json:"path,omitempty"` // on the host, absolute
	Why    string   `json:"why,omitempty"`
	Count  int      `json:"count,omitempty"`
	Places []string `json:"places,omitempty"` // on the host
}

// Subject is what is known of a run. Plan is zero for a run that would be refused:
// the rows about files then say what the profile says. Facts may be zero, too.
type Subject struct {
	Config profile.RunConfig
	Facts  host.Facts
	Staged plan.Staged
	Plan   plan.Plan
	Clones []capability.Capability

	Hosts      []Hosts  // what can be reached by name
	NetNotes   []string // remarks about that
	Limits     []string // each limit, and what enforces it
	GitLeftOut []string // settings of git that the box does not have
	Unsigned   bool     // git on the host would sign, and the box has no keys
	Later      []string // existing host paths that tools run or obey when somebody builds
}

// Hosts are names that can be reached, and what lists them.
type Hosts struct {
	From  string
	Names []string
}

// planned reports whether there is a plan to read.
func (s Subject) planned() bool { return s.Plan.Bwrap != "" }

// Groups sorts what is known into groups; empty rows and groups are left out.
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

// short returns a path with the home written as ~.
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
