package settings

import (
	"maps"

	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile"
)

// With are settings of another caller of the same user and folders, who knows what was read
// for s. The two may be used side by side.
func (s *Settings) With(c *caller.Caller) *Settings {
	return &Settings{Caller: c, configs: maps.Clone(s.configs), records: maps.Clone(s.records), organisation: s.organisation}
}

// Read are the files that were read so far: config.toml files, whether they exist or not.
func (s *Settings) Read() []string {
	out := []string{profile.OrganisationFile}
	for path := range s.configs {
		out = append(out, path)
	}
	return out
}
