// Package keys is a config.toml key by key, as inner config shows and changes it.
package keys

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/strict"
)

// Setting is one of config.Settings.
type Setting = config.Setting

// All are the keys that Set takes; one that ends in a dot wants a name of the
// user's own after it.
func All() []string {
	return []string{
		"default_profile", "workspaces_path", "log", "aliases.", "shims.", "groups.", "output.keep",
		"default_limits.memory", "default_limits.cpu", "default_limits.pids",
		"default_limits.files", "default_limits.file_size",
		"default_limits.disk",
	}
}

// Parse reads a key of the command line: its parts, and the way it is
// written in Settings.
func Parse(text string) (parts []string, key string, err error) {
	table, name, dotted := strings.Cut(text, ".")
	if dotted {
		if bare, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
			name = bare
		}
	}
	var names []string
	for _, k := range All() {
		names = append(names, strings.TrimSuffix(k, "."))
		switch {
		case k == text && !dotted:
			return []string{table}, strict.Join(table), nil
		case name != "" && (k == text || k == table+"."):
			return []string{table, name}, strict.Join(table, name), nil
		case k == table+".":
			return nil, "", fmt.Errorf("%q is a table: write %sNAME", strings.TrimSuffix(k, "."), k)
		}
	}
	hint := strict.DidYouMean(text, names)
	if hint != "" {
		hint = ": " + hint
	}
	return nil, "", fmt.Errorf("config.toml has no key %q%s", text, hint)
}

// Set returns the text of a config.toml with one key set and everything else as
// it was. The result has been read back: it is valid and holds the value.
func Set(file profile.File, key []string, value string) ([]byte, error) {
	return edited(file, key, value, func(text string) (string, error) { return strict.Edit(text, key, strict.Quote(value)) })
}

// Unset is Set, taking the key out.
func Unset(file profile.File, key []string) ([]byte, error) {
	return edited(file, key, "", func(text string) (string, error) { return strict.Remove(text, key) })
}

func edited(file profile.File, key []string, value string, edit func(string) (string, error)) ([]byte, error) {
	before, err := config.Parse(file, false)
	if err != nil {
		return nil, err
	}
	text, err := edit(string(file.Data))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", file.Path, err)
	}
	after, err := config.Parse(profile.File{Path: file.Path, Data: []byte(text)}, false)
	if err != nil {
		return nil, err
	}
	if want := with(before.Settings, strict.Join(key...), value); !same(want, after.Settings) {
		return nil, fmt.Errorf("%q cannot be edited: it is written in an unusual way", file.Path)
	}
	return []byte(text), nil
}

func with(list []Setting, key, value string) []Setting {
	list = slices.DeleteFunc(list, func(s Setting) bool { return s.Key == key })
	if value != "" {
		list = append(list, Setting{Key: key, Value: value})
	}
	return list
}

// same compares without regard to order, which says nothing.
func same(a, b []Setting) bool {
	order := func(x, y Setting) int { return strings.Compare(x.Key, y.Key) }
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.Equal(a, b)
}
