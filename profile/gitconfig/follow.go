package gitconfig

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile/gitignore"
)

// Sources names the files that git reads for one repository, in its order: those of the
// system, of the user, of the repository and of the work tree. Load reads them as git
// does, without starting it, so that settings can be judged where there is no git, and
// where they are untrusted.
//
// Source: git-config(1), "FILES" and "Includes"; config.c of git 2.39
// (do_git_config_sequence, git_config_include, include_by_gitdir).
type Sources struct {
	System string // "" is /etc/gitconfig, os.DevNull none
	Home   string // "" reads nothing of the user
	XDG    string // $XDG_CONFIG_HOME, "" when not set
	Global string // $GIT_CONFIG_GLOBAL, which replaces both files of the user

	GitDir    string // "" outside a repository
	CommonDir string // the git directory of a linked worktree's repository; "" is GitDir

	// Command are settings that come after those of all files.
	Command []Entry

	// Every follows an include whatever its condition says: a condition that does not hold now
	// may hold at the next command, with another branch or another remote.
	Every bool
}

// Bounds of what is read.
const (
	maxFile  = 1 << 20 // bytes of a file
	maxReads = 100     // of files; one that is included twice is read twice
	maxDepth = 10      // MAX_INCLUDE_DEPTH of config.c
)

// Load returns the settings, each with the file it is written in, and every file that git
// would read, whether it exists or not. A file that cannot be read has no settings, and of one
// with a syntax error those before it count.
func (s Sources) Load() (list []Entry, files []string) {
	f := &follower{Sources: s}
	for _, p := range s.starts() {
		f.file(p, 0)
	}
	if common := s.common(); common != "" {
		f.file(filepath.Join(common, "config"), 0)
		if f.Every || f.worktreeConfig() {
			f.file(filepath.Join(s.GitDir, "config.worktree"), 0)
		}
	}
	f.add(s.Command, "", 0)
	return f.list, f.files
}

// starts returns the files outside the repository.
func (s Sources) starts() []string {
	system := s.System
	if system == "" {
		system = "/etc/gitconfig"
	}
	out := []string{system}
	switch {
	case s.Global != "":
		return append(out, s.Global)
	case s.Home == "":
		return out
	}
	xdg := s.XDG
	if !filepath.IsAbs(xdg) {
		xdg = filepath.Join(s.Home, ".config")
	}
	return append(out, filepath.Join(xdg, "git", "config"), filepath.Join(s.Home, ".gitconfig"))
}

// common returns the git directory with the config of the repository, or "".
func (s Sources) common() string {
	if s.CommonDir != "" {
		return s.CommonDir
	}
	return s.GitDir
}

// follower is a Load in progress.
type follower struct {
	Sources
	list  []Entry
	files []string
	reads int
	urls  []string // of remotes, once ahead is true
	ahead bool     // remotes has read the files
}

// worktreeConfig reports whether git reads config.worktree.
func (f *follower) worktreeConfig() bool {
	e, _ := Last(f.list, "extensions.worktreeconfig")
	return True(e)
}

// file reads one file and what it includes, at the place of the include.
func (f *follower) file(p string, depth int) {
	if depth > maxDepth || f.reads == maxReads {
		return
	}
	f.reads++
	if !slices.Contains(f.files, p) {
		f.files = append(f.files, p)
	}
	data, err := files.Head(p, files.FollowLinks, maxFile) // as git does
	if err != nil {
		return
	}
	entries, _ := Parse(data) // git stops at a fault, too
	f.add(entries, p, depth)
}

// add adds the settings of one file, and of those that it includes.
func (f *follower) add(entries []Entry, p string, depth int) {
	for _, e := range entries {
		e.File = p
		f.list = append(f.list, e)
		if Includes(e.Key) && e.Value != "" && (f.Every || f.holds(e.Key, p)) {
			f.file(Pathname(e.Value, filepath.Dir(p), f.Home), depth+1)
		}
	}
}

// Includes reports whether a setting names another file of settings.
func Includes(key string) bool {
	return key == "include.path" || strings.HasPrefix(key, "includeif.") && strings.HasSuffix(key, ".path")
}

// Pathname returns the path that the value of a setting names: "~/" is the home, and a
// relative path is below dir.
func Pathname(value, dir, home string) string {
	switch rest, inHome := strings.CutPrefix(value, "~/"); {
	case inHome && home != "":
		return filepath.Join(home, rest)
	case filepath.IsAbs(value):
		return filepath.Clean(value)
	}
	return filepath.Join(dir, value)
}

// holds reports whether the condition of an include holds. file is the one it is written in.
func (f *follower) holds(key, file string) bool {
	if key == "include.path" {
		return true
	}
	condition := strings.TrimSuffix(strings.TrimPrefix(key, "includeif."), ".path")
	kind, pattern, _ := strings.Cut(condition, ":")
	switch kind {
	case "gitdir", "gitdir/i":
		return f.inGitDir(pattern, filepath.Dir(file), kind == "gitdir/i")
	case "onbranch":
		branch := f.branch()
		if strings.HasSuffix(pattern, "/") {
			pattern += "**"
		}
		return branch != "" && gitignore.Glob(pattern, branch)
	case "hasconfig":
		pattern, ok := strings.CutPrefix(pattern, "remote.*.url:")
		return ok && slices.ContainsFunc(f.remotes(), func(url string) bool { return gitignore.Glob(pattern, url) })
	}
	return false
}

// inGitDir reports whether the git directory matches the pattern of gitdir: or, with fold,
// gitdir/i: in a file of the folder dir.
func (f *follower) inGitDir(pattern, dir string, fold bool) bool {
	if f.GitDir == "" {
		return false
	}
	switch rest, here := strings.CutPrefix(pattern, "./"); {
	case here:
		pattern = dir + "/" + rest
	case strings.HasPrefix(pattern, "~/"):
		pattern = f.Home + pattern[1:]
	case !strings.HasPrefix(pattern, "/"):
		pattern = "**/" + pattern
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	names := []string{f.GitDir}
	if real, err := filepath.EvalSymlinks(f.GitDir); err == nil {
		names = append(names, real)
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if fold {
			return gitignore.Glob(strings.ToLower(pattern), strings.ToLower(name))
		}
		return gitignore.Glob(pattern, name)
	})
}

// branch returns the short name of the branch that HEAD is on, or "".
func (f *follower) branch() string {
	if f.GitDir == "" {
		return ""
	}
	data, err := files.Head(filepath.Join(f.GitDir, "HEAD"), files.FollowLinks, maxFile)
	name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref:")
	if err != nil || !ok {
		return ""
	}
	if name, ok = strings.CutPrefix(strings.TrimSpace(name), "refs/heads/"); ok {
		return name
	}
	return ""
}

// remotes returns the addresses of all remotes. As git does, it looks through all files for
// them at the first hasconfig condition, and follows no such condition meanwhile.
func (f *follower) remotes() []string {
	if f.ahead {
		return f.urls
	}
	f.ahead = true
	first := &follower{Sources: f.Sources, ahead: true}
	for _, p := range first.starts() {
		first.file(p, 0)
	}
	if common := first.common(); common != "" {
		first.file(filepath.Join(common, "config"), 0)
	}
	for _, e := range first.list {
		if section, _, name := e.Parts(); section == "remote" && name == "url" {
			f.urls = append(f.urls, e.Value)
		}
	}
	return f.urls
}
