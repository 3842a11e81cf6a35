package consent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/trust"
)

// Candidate is one profile that the user may allow.
type Candidate struct {
	Profile *profile.Profile
	Spec    profile.RunConfig
	At      profile.Context
	Grants  []profile.Grant
	Old     []profile.Grant // of the version allowed last; none when there was none
	Rec     *trust.ProfileRecord
	State   trust.State
	Of      string // the project of the main worktree whose permission it has, or ""
	Stops   error  // why it would not start here; Text finds it out

	hidden []string // of the project, relative to it
}

// Settled reports whether there is nothing to ask about.
func (c Candidate) Settled() bool { return c.State == trust.Allowed }

// Unsettled returns the names of the profiles that there is something to ask about.
func Unsettled(list []Candidate) (names []string) {
	for _, c := range list {
		if !c.Settled() {
			names = append(names, c.Profile.Name)
		}
	}
	return names
}

// Read reads each file once, and returns what is wrong with those that cannot be used.
func Read(s *settings.Settings, pl settings.Place, files []string, rec *trust.ProjectRecord, cfg config.Read) (list []Candidate, wrong []error) {
	l := s.Loader(pl)
	for _, f := range files {
		c, err := read(s, l, pl, f, rec, cfg)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, c)
	}
	return list, wrong
}

func read(s *settings.Settings, l *profile.Loader, pl settings.Place, file string, rec *trust.ProjectRecord, cfg config.Read) (c Candidate, err error) {
	if c.Profile, err = l.Load(file, profile.Local); err != nil {
		return c, err
	}
	if c.Spec, c.At, err = s.AtRoot(c.Profile, pl); err != nil {
		return c, err
	}
	c.Grants, c.Rec = profile.Grants(c.Spec), rec.Profile(c.Profile.Path)
	c.Old = settings.LastGrants(rec, c.Profile, pl.Root(), c.Grants)
	v := s.Trust().Judge(rec, c.Profile, cfg.File)
	c.State, c.Of = v.State, v.Of
	if c.State == trust.Allowed {
		if wider := s.Wider(c.Profile, c.At, slices.Clone(c.Old), c.Grants); len(c.Old) == 0 || len(wider) > 0 { // all of it, where the record has no grants
			c.State = trust.Changed
		}
	}
	return c, nil
}

// ChangeLines are a line for each grant that became wider or narrower, its first word in a colour.
func ChangeLines(paint func(code, text string) string, wider, narrower []profile.Grant) (lines []string) {
	for _, line := range profile.Changes(wider, narrower) {
		word, text, _ := strings.Cut(line, " ")
		colour := map[string]string{"wider:": "31", "narrower:": "32"}[word]
		lines = append(lines, paint(colour, fmt.Sprintf("%-9s", word))+" "+visible.Text(text))
	}
	return lines
}
