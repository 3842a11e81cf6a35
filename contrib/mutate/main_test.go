package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list stays true while the code it names changes: make mutate takes minutes,
// this is part of every run of the tests.
func TestGuards(t *testing.T) {
	guards, err := readGuards("../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(guards) == 0 {
		t.Fatal("there are no guards")
	}
	tests := map[string][]string{} // of a package
	for _, g := range guards {
		if _, read := tests[g.Pkg]; !read {
			files, _ := filepath.Glob(filepath.Join("../..", g.Pkg, "*_test.go"))
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range strings.Split(string(text), "\n") {
					if name, is := strings.CutPrefix(line, "func "); is {
						name, _, _ = strings.Cut(name, "(")
						tests[g.Pkg] = append(tests[g.Pkg], name)
					}
				}
			}
		}
		name, _, _ := strings.Cut(g.Run, "/")
		if !slices.ContainsFunc(tests[g.Pkg], regexp.MustCompile(name).MatchString) {
			t.Errorf("guard %q: %s has no test that is called %s", g.Name, g.Pkg, name)
		}
	}
}
