package server

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/program"
	"github.com/enr/inner/profile/gitconfig"
)

// Visible are the settings of the repository that the box sees.
func (r Repository) Visible() (list []gitconfig.Entry, err error) {
	for i, p := range []string{filepath.Join(r.Dir, "config"), filepath.Join(r.Dir, r.Place(), "config.worktree")} {
		if e, _ := gitconfig.Last(list, "extensions.worktreeconfig"); i == 1 && !gitconfig.True(e) {
			break
		}
		data, err := os.ReadFile(p)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		more, err := gitconfig.Parse(data)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	if r.Policy != nil {
		clean := gitconfig.Clean(list, *r.Policy)
		list = slices.DeleteFunc(list, func(e gitconfig.Entry) bool {
			return !gitconfig.Includes(e.Key) && !slices.Contains(clean.File, e) &&
				(e.Key != "core.hookspath" || filepath.IsAbs(e.Value) && !paths.Below(r.Top, e.Value))
		})
	}
	if !r.Logins {
		list = gitconfig.WithoutLogins(list)
	}
	return list, nil
}

// Branch sets, or with nil removes, a setting of a branch in the host's file.
func (r Repository) Branch(key string, value *string) error {
	args := []string{"config", "--file", filepath.Join(r.Dir, "config"), "--unset-all", key}
	if value != nil {
		args = []string{"config", "--file", filepath.Join(r.Dir, "config"), "--replace-all", "--", key, *value}
	}
	if out, err := program.Command(r.Git, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// In the private folder of a box.
const (
	OwnSettings  = "config" // its file, in its part of the folder
	BaseSettings = "base"   // what that was made of, where the box does not come
)

// OfBranch reports whether a setting is one of those that pass to the host's file.
func OfBranch(key string) bool { return branchKey().MatchString(key) }

var branchKey = lazy.Regexp(`^branch\.(.+)\.(remote|merge|rebase|description)$`)

// Less returns the entries of a list that another has not.
func Less(list, other []gitconfig.Entry) (out []gitconfig.Entry) {
	for _, e := range list {
		if !slices.ContainsFunc(other, func(o gitconfig.Entry) bool { return o.Key == e.Key && o.Value == e.Value && o.Bare == e.Bare }) {
			out = append(out, e)
		}
	}
	return out
}

// Named is a setting without what a box may have made up: of a section with a name, that.
func Named(e gitconfig.Entry) string {
	section, sub, name := e.Parts()
	return section + "." + cmp.Or(sub, name)
}

// Passes reports whether a setting is one of a branch and means nothing else: a remote of the host's, a ref, a
// way to rebase, text.
func Passes(e gitconfig.Entry, base []gitconfig.Entry) bool {
	_, _, name := e.Parts()
	if !OfBranch(e.Key) {
		return false
	}
	switch name {
	case "remote":
		return e.Value == "." || slices.ContainsFunc(base,
			func(b gitconfig.Entry) bool { return strings.HasPrefix(b.Key, "remote."+e.Value+".") })
	case "merge":
		return gate.GoodRef(e.Value)
	case "rebase":
		return slices.Contains([]string{"true", "false", "merges", "interactive"}, e.Value)
	}
	return !e.Bare
}
