// Package profiles holds the sample profiles, as the TOML files they are, for
// `inner profile install NAME`. None of them is installed without being asked for.
package profiles

import (
	"embed"
	"strings"
)

//go:embed *.toml
var texts embed.FS

// Names returns the names of the sample profiles, sorted.
func Names() []string {
	entries, err := texts.ReadDir(".")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".toml"))
	}
	return names
}

// Read returns the text of a sample profile, nil when there is none of that name.
func Read(name string) []byte {
	data, err := texts.ReadFile(name + ".toml")
	if err != nil {
		return nil
	}
	return data
}
