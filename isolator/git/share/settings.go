package share

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
	"github.com/enr/inner/profile/gitconfig"
)

// settings are those of the box: its own file, made of the host's as far as the box may see them, and
// of inner's. What the box changes in it stays the box's, but for the settings of branches, which pass
// to the host's file where they mean nothing but a branch of a remote that the host has.
type settings struct {
	mu   sync.Mutex
	made bool     // in this run
	host [3]stamp // of the host's files when base was made
	base []gitconfig.Entry
	last []gitconfig.Entry // the box's when they were last looked at
}

const (
	ownSettings  = "config" // the box's file, in its part of the private folder
	baseSettings = "base"   // what that was made of, where the box does not come
)

// refreshSettings makes the box's file anew when the host's is another one: the host's changes come, and
// the box's own stay.
func (r *repository) refreshSettings() {
	s := &r.settings
	s.mu.Lock()
	defer s.mu.Unlock()
	var now [3]stamp
	for i, name := range []string{"config", "config.worktree", path.Join("worktrees", r.Tree, "config.worktree")} {
		var st unix.Stat_t
		if unix.Fstatat(r.root, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			now[i] = stampOf(&st)
		}
	}
	if s.made && s.host == now {
		return
	}
	list, ours, err := r.Settings()
	if err != nil {
		r.refuse("config", fmt.Errorf("what it is outside now does not reach the sandbox: %w", err))
		return
	}
	base, running := slices.Concat(list, ours), s.base != nil
	if data, err := os.ReadFile(r.baseFile()); s.base == nil && err == nil { // of a run before
		s.base, _ = gitconfig.Parse(data)
	}
	present, _ := r.boxSettings()
	added, removed := less(present, s.base), less(s.base, present)
	if len(present) == 0 {
		removed = nil
	}
	if running { // inner's that the box has changed in this run stay as it has them
		ours = less(ours, removed)
	}
	fresh := slices.Concat(less(list, removed), less(added, base), ours)
	file := gitconfig.File("Settings of the sandbox: inner makes them of yours.", fresh)
	if place(r.private, r.private, ownSettings, 0o600, 0, func(f *os.File) error { _, err := f.Write(file); return err }) == nil {
		_ = os.WriteFile(r.baseFile(), gitconfig.File("What the sandbox's settings were made of.", base), 0o600)
		s.made, s.host, s.base, s.last = true, now, base, fresh
	}
}

func (r *repository) baseFile() string { return filepath.Join(r.Private, baseSettings) }

func (r *repository) boxSettings() ([]gitconfig.Entry, error) {
	data, err := readAt(r.private, ownSettings)
	if err != nil {
		return nil, err
	}
	return gitconfig.Parse(data)
}

// less returns the entries of a list that another has not.
func less(list, other []gitconfig.Entry) (out []gitconfig.Entry) {
	for _, e := range list {
		if !slices.ContainsFunc(other, func(o gitconfig.Entry) bool { return o.Key == e.Key && o.Value == e.Value && o.Bare == e.Bare }) {
			out = append(out, e)
		}
	}
	return out
}

// startsSparse reports whether a file of settings that a box is about to have begins a sparse checkout. The index outside
// takes no such bits: each file that git then takes from the work tree would look deleted, in the box as well.
func (r *repository) startsSparse(to string, dir int, last string) bool {
	_, rest := inTree(to)
	if rest != "config" && rest != "config.worktree" {
		return false
	}
	begins := func(list []gitconfig.Entry) bool {
		e, _ := gitconfig.Last(list, "core.sparsecheckout")
		return gitconfig.True(e)
	}
	r.settings.mu.Lock()
	had := begins(r.settings.base)
	r.settings.mu.Unlock()
	data, err := readAt(dir, last)
	list, _ := gitconfig.Parse(data) // what stands before a fault counts
	return err == nil && !had && begins(list)
}

var branchKey = lazy.Regexp(`^branch\.(.+)\.(remote|merge|rebase|description)$`)

// settingsWritten passes what the box has changed of branches to the host's file. The rest stays, and is named.
func (r *repository) settingsWritten() {
	s := &r.settings
	s.mu.Lock()
	present, err := r.boxSettings()
	added, removed := less(present, s.base), less(s.base, present)
	base, last := s.base, s.last
	if err == nil {
		s.last = present
	}
	s.mu.Unlock()
	if err != nil {
		r.refuse("config", err)
		return
	}
	for _, e := range removed {
		if branchKey().MatchString(e.Key) && !slices.ContainsFunc(present, func(p gitconfig.Entry) bool { return p.Key == e.Key }) {
			r.notPassed(e.Key, r.Branch(e.Key, nil))
		}
	}
	for _, e := range added {
		if branchKey().MatchString(e.Key) && passes(e, base) {
			r.notPassed(e.Key, r.Branch(e.Key, &e.Value))
		} else if len(less([]gitconfig.Entry{e}, last)) > 0 {
			r.Say("git: settings that the sandbox changed stay with it: %s", named(e))
		}
	}
}

// named is a setting without what a box may have made up: of a section with a name, that.
func named(e gitconfig.Entry) string {
	section, sub, name := e.Parts()
	return section + "." + cmp.Or(sub, name)
}

// stay names the settings in the private folder of a box that it changed and that stay with it.
func stay(private string) (names []string) {
	read := func(name string) (list []gitconfig.Entry) {
		if data, err := files.Read(filepath.Join(private, name), files.NoLinks, 1<<20); err == nil {
			list, _ = gitconfig.Parse(data)
		}
		return list
	}
	base := read(baseSettings)
	for _, e := range less(read(filepath.Join("own", ownSettings)), base) {
		if !branchKey().MatchString(e.Key) || !passes(e, base) {
			names = append(names, named(e))
		}
	}
	return names
}

func (r *repository) notPassed(key string, err error) {
	if err != nil {
		r.refuse("config", fmt.Errorf("%s stays in the sandbox: %w", key, err))
	}
}

// passes reports whether a setting of a branch means nothing else: a remote of the host's, a ref, a way to rebase, text.
func passes(e gitconfig.Entry, base []gitconfig.Entry) bool {
	_, _, name := e.Parts()
	switch name {
	case "remote":
		return e.Value == "." || slices.ContainsFunc(base, func(b gitconfig.Entry) bool { return strings.HasPrefix(b.Key, "remote."+e.Value+".") })
	case "merge":
		return strings.HasPrefix(e.Value, "refs/") && goodRef(e.Value)
	case "rebase":
		return slices.Contains([]string{"true", "false", "merges", "interactive"}, e.Value)
	}
	return !e.Bare
}
