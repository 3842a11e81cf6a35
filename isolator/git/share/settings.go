package share

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/git/server"
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

// refreshSettings makes the box's file anew when the host's is another one: the host's changes come, and
// the box's own stay.
func (r *Server) refreshSettings() {
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
	var list []gitconfig.Entry
	err := r.fill()
	if err == nil {
		list, err = r.Visible()
	}
	if err != nil {
		r.refuse("config", fmt.Errorf("what it is outside now does not reach the sandbox: %w", err))
		return
	}
	ours := r.Ours
	base, running := slices.Concat(list, ours), s.base != nil
	if data, err := os.ReadFile(r.baseFile()); s.base == nil && err == nil { // of a run before
		s.base, _ = gitconfig.Parse(data)
	}
	present, _ := r.boxSettings()
	added, removed := server.Less(present, s.base), server.Less(s.base, present)
	if len(present) == 0 {
		removed = nil
	}
	if running { // inner's that the box has changed in this run stay as it has them
		ours = server.Less(ours, removed)
	}
	fresh := slices.Concat(server.Less(list, removed), server.Less(added, base), ours)
	file := gitconfig.File("Settings of the sandbox: inner makes them of yours.", fresh)
	if place(r.private, r.private, server.OwnSettings, 0o600, 0,
		func(f *os.File) error { _, err := f.Write(file); return err }) == nil {
		_ = os.WriteFile(r.baseFile(), gitconfig.File("What the sandbox's settings were made of.", base), 0o600)
		s.made, s.host, s.base, s.last = true, now, base, fresh
	}
}

func (r *Server) baseFile() string { return filepath.Join(r.Private, server.BaseSettings) }

func (r *Server) boxSettings() ([]gitconfig.Entry, error) {
	data, err := readAt(r.private, server.OwnSettings)
	if err != nil {
		return nil, err
	}
	return gitconfig.Parse(data)
}

// startsSparse reports whether a file of settings that a box is about to have begins a sparse checkout. The
// index outside takes no such bits: each file that git then takes from the work tree would look deleted, in the
// box as well.
func (r *Server) startsSparse(to string, dir int, last string) bool {
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

// settingsWritten passes what the box has changed of branches to the host's file. The rest stays, and is named.
func (r *Server) settingsWritten() {
	s := &r.settings
	s.mu.Lock()
	present, err := r.boxSettings()
	added, removed := server.Less(present, s.base), server.Less(s.base, present)
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
		if server.OfBranch(e.Key) && !slices.ContainsFunc(present, func(p gitconfig.Entry) bool { return p.Key == e.Key }) {
			r.notPassed(e.Key, r.Branch(e.Key, nil))
		}
	}
	for _, e := range added {
		if server.Passes(e, base) {
			r.notPassed(e.Key, r.Branch(e.Key, &e.Value))
		} else if len(server.Less([]gitconfig.Entry{e}, last)) > 0 {
			r.Say("git: settings that the sandbox changed stay with it: %s", server.Named(e))
		}
	}
}

func (r *Server) notPassed(key string, err error) {
	if err != nil {
		r.refuse("config", fmt.Errorf("%s stays in the sandbox: %w", key, err))
	}
}
