package features

import (
	"slices"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// The order of the features is what the comment of All says, and each does something.
func TestAll(t *testing.T) {
	all := All(Bwrap())
	at := func(name string) int {
		i := slices.IndexFunc(all, func(f Feature) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("there is no feature %q", name)
		}
		return i
	}
	for _, two := range [][2]string{
		{"git directories", "leftovers"},
		{"leftovers", LastExchange},
		{LastExchange, "agents"},
		{"network", "observed accesses"},
	} {
		if at(two[0]) >= at(two[1]) {
			t.Errorf("%s comes after %s", two[0], two[1])
		}
	}
	seen := map[string]bool{}
	for _, f := range all {
		if seen[f.Name] {
			t.Errorf("two are called %q", f.Name)
		}
		seen[f.Name] = true
		if f.Ask == nil && f.Make == nil && f.Start == nil && f.Finish == nil && f.Learn == nil && f.Keys == nil {
			t.Errorf("%s does nothing", f.Name)
		}
	}
}

// The keys of a feature are keys of the profile language.
func TestKeys(t *testing.T) {
	unknown := func(key string) bool {
		table, name, ok := strings.Cut(key, ".")
		text := "name = \"x\"\n[" + key + "]\n" // of a table
		if ok {
			text = "name = \"x\"\n[" + table + "]\n" + name + " = 1979-05-27\n" // no key takes a date
		}
		_, err := new(profile.Loader).LoadBytes(profile.File{Path: "/x.toml", Data: []byte(text)}, profile.Direct)
		return err != nil && strings.Contains(err.Error(), "unknown")
	}
	if !unknown("sandbox.no_such_key") || !unknown("no_such_table") {
		t.Fatal("every key is known")
	}
	var read []string
	for _, f := range All(Bwrap()) {
		read = append(read, f.Keys...)
		for _, key := range f.Keys {
			if unknown(key) {
				t.Errorf("%s: %q is no key", f.Name, key)
			}
		}
	}
	// What a profile is, what claims it, what runs, and what the plan has by itself.
	read = append(read, "schema_version", "name", "description", "extends", "experimental", "shim",
		"entrypoint.cmd", "entrypoint.args", "entrypoint.tui", "verify",
		"sandbox.base", "sandbox.home_allow", "sandbox.session")
	for _, key := range profile.Keys() {
		if !slices.ContainsFunc(read, func(r string) bool { return key == r || strings.HasPrefix(key, r+".") }) {
			t.Errorf("no feature reads %q", key)
		}
	}
}

// A command to paste has no placeholders: there is nobody who makes them.
func TestPastedHasNoPlaceholders(t *testing.T) {
	for mode, want := range map[Mode]int{Pasted: 0, Preview: 1} {
		run := &Run{Mode: mode}
		run.Facts.Later = []host.Placeholder{{Path: "/p"}}
		if err := leftovers(new(boxGits)).Learn(run); err != nil || len(run.Facts.Later) != want {
			t.Errorf("mode %d: %v, %v", mode, run.Facts.Later, err)
		}
	}
}
