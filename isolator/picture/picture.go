// Package picture shows people what a box can see and do: each grant of its profile, where that is
// written and what holds it in the plan of a run, and what the plan hides and protects here.
//
// It makes nothing. Names of files and words of profiles are in
// a Picture as they are; Text and HTML pass each through the clean function of their caller,
// and HTML escapes it as well.
//
//	shown, err := run.Show(settings, call, false)
//	pic.Groups = picture.Groups(profile, shown)
//	picture.Text(os.Stdout, pic, picture.Style{Width: 100})
package picture

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

// Row is one grant, in its words, or something else that is to be known of a few things.
type Row struct {
	Way    Way     `json:"way"`
	Word   string  `json:"word"`
	Things []Thing `json:"things"`
	From   string  `json:"from,omitempty"` // where it is written
	Text   string  `json:"text,omitempty"` // the whole sentence
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
