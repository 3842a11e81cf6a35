package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/enr/inner/profile"
)

func TestExpandAlias(t *testing.T) {
	for _, c := range []struct {
		value, workspaces string
		want              []string
	}{
		{"run -p java", "", []string{"run", "-p", "java"}},
		{`run -w ${workspaces_path}/x`, "/a b", []string{"run", "-w", "/a b/x"}},
		{`run 'a b' "c \" d" e\ f ""`, "", []string{"run", "a b", `c " d`, "e f", ""}},
		{`run $HOME $(id)`, "", []string{"run", "$HOME", "$(id)"}},
	} {
		got, err := expandAlias(profile.KV{Key: "work", Value: c.value}, c.workspaces)
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	for value, want := range map[string]string{
		"run -w ${workspaces_path}": "workspaces_path is not set", `run "x`: "not closed", "run 'x": "not closed", "# run": "says nothing",
	} {
		if _, err := expandAlias(profile.KV{Key: "work", Value: value}, ""); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "work") {
			t.Errorf("%q: %v, want %q", value, err, want)
		}
	}
}
