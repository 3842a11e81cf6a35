package registry

import (
	"cmp"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/profile/hosts"
)

// Setting is what one of the user's own package managers is set to, by a look at its usual file and its usual
// variables. It grants nothing: it is for telling the box the same, and the user what is missing in a group.
type Setting struct {
	From  string   // the file, or $ and the variable
	Name  string   // the variable that says the same in a box; "" where none does
	Value string   // as it is written, without the logins of its addresses
	Hosts []string // of its addresses, as hosts.Parse reads them
}

// manager is where a package manager has its settings.
type manager struct {
	files    []string // below the home; an absolute one is a pattern of filepath.Glob
	lines    string   // a regular expression of a setting in them: its key, and its value
	keys     []string // that variables have, too
	variable func(key string) string
}

// managers is the table, by group.
func managers() map[string]manager {
	return map[string]manager{
		"npm": {
			files: []string{".npmrc"},
			lines: `(?m)^[ \t]*((?:@[^:=\s]+:)?registry|cafile)[ \t]*=[ \t]*(\S+)`,
			keys:  []string{"registry", "cafile"}, variable: func(key string) string { return "npm_config_" + key },
		},
		"pypi": {
			files: []string{".config/pip/pip.conf", ".pip/pip.conf", "/etc/pip.conf"},
			lines: `(?m)^(index-url|extra-index-url|trusted-host|cert)[ \t]*[=:](.*(?:\n[ \t]+\S.*)*)`,
			keys:  []string{"index-url", "extra-index-url", "trusted-host", "cert"},
			variable: func(key string) string {
				return "PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
			},
		},
		"go": {
			files: []string{".config/go/env"},
			lines: `(?m)^(GOPROXY|GOSUMDB|GOPRIVATE|GONOPROXY|GONOSUMDB)=(.*)`,
			keys:  []string{"GOPROXY", "GOSUMDB", "GOPRIVATE", "GONOPROXY", "GONOSUMDB"}, variable: func(key string) string { return key },
		},
		// No variable puts another source in the place of crates.io, and Maven has none at all.
		"crates": {files: []string{".cargo/config.toml", ".cargo/config"}, lines: `(?m)^[ \t]*(registry|index)[ \t]*=[ \t]*(.+)`},
		"maven":  {files: []string{".m2/settings.xml"}, lines: `(?s)<mirror>.*?<(url)>(.*?)</url>`},
		// What the system has, every box sees.
		"debian": {
			files: []string{"/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"},
			lines: `(?m)^(deb|URIs:)[ \t]+(.*)`,
		},
	}
}

// Settings returns the settings of the package manager of a group. Of several that say the same the first
// counts: a variable goes before a file.
func Settings(group, home string, getenv func(string) string) []Setting {
	var out []Setting
	m := managers()[group]
	add := func(from, key, value string) {
		s := Setting{From: from}
		if m.variable != nil {
			s.Name = m.variable(key)
		}
		known := func(o Setting) bool { return s.Name != "" && o.Name == s.Name }
		if value != "" && s.read(value) && !slices.ContainsFunc(out, known) {
			out = append(out, s)
		}
	}
	for _, key := range m.keys {
		name := m.variable(key)
		// npm tells its scripts by variables what the project says, which is not the user.
		if group != "npm" || getenv("npm_lifecycle_event")+getenv("npm_command") == "" {
			add("$"+name, key, cmp.Or(getenv(name), getenv(strings.ToUpper(name))))
		}
	}
	lines := regexp.MustCompile(m.lines)
	for _, name := range m.files {
		list := []string{filepath.Join(home, name)}
		if filepath.IsAbs(name) {
			list, _ = filepath.Glob(name)
		}
		for _, file := range list {
			text, _ := files.Read(files.Real(file), files.NoLinks, 1<<20)
			for _, found := range lines.FindAllStringSubmatch(string(text), -1) {
				add(file, found[1], found[2])
			}
		}
	}
	return out
}

// read takes a value and its hosts. It reports false for one that cannot be told to anybody: one with an address
// that is not understood, or with something that may be the login of one.
func (s *Setting) read(value string) bool {
	s.Value = strings.Join(strings.Fields(strings.Trim(strings.TrimSpace(value), `"'`)), " ")
	for _, address := range regexp.MustCompile(`(?i)https?://[^\s"'<>,|]+`).FindAllString(s.Value, -1) {
		u, err := url.Parse(address)
		if err != nil {
			return false
		}
		if u.User != nil {
			u.User = nil
			s.Value = strings.Replace(s.Value, address, u.String(), 1)
		}
		entry := strings.TrimSuffix(u.Host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
		host, err := hosts.Parse(entry)
		if err != nil || host.Wild || host.Group != "" {
			return false
		}
		if entry = host.String(); !slices.Contains(s.Hosts, entry) {
			s.Hosts = append(s.Hosts, entry)
		}
	}
	return !strings.Contains(s.Value, "@") && visible.Text(s.Value) == s.Value
}
