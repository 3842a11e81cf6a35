package gitconfig

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
)

// Sources names the files that git reads for one repository, in its order: those of the
// system, of the user, of the repository and of the work tree. They are read as git
// does, without starting it: at each start of a box, and where they are untrusted. Every include is followed, whatever
// its condition says: one that does not hold now may hold at the next command, with another branch or another remote.
//
// Source: git-config(1), "FILES" and "Includes"; config.c of git 2.39 (do_git_config_sequence, git_config_include).
type Sources struct {
	System string // "" is /etc/gitconfig, os.DevNull none
	Home   string // "" reads nothing of the user
	XDG    string // $XDG_CONFIG_HOME, "" when not set
	Global string // $GIT_CONFIG_GLOBAL, which replaces both files of the user

	GitDir    string // without links; "" outside a repository
	CommonDir string // where its config is: in a linked worktree not GitDir

	// Command are settings that come after those of all files.
	Command []Entry
}

// Bounds of what is read.
const (
	maxFile      = 1 << 20 // bytes of a file
	maxReads     = 100     // of files; one that is included twice is read twice
	maxDepth     = 10      // MAX_INCLUDE_DEPTH of config.c
	maxVariables = 1000
)

// Environment says where git finds the settings of the system and of the user whose environment this
// is, as far as variables say: files in other places, and settings of their own.
//
// Source: git-config(1), "ENVIRONMENT", and git(1) for GIT_TEMPLATE_DIR, which is the setting
// init.templateDir under another name. GIT_CONFIG_NOSYSTEM is not heeded: the next call of git may
// be without it.
func Environment(getenv func(string) string) Sources {
	s := Sources{System: getenv("GIT_CONFIG_SYSTEM"), Home: getenv("HOME"), XDG: getenv("XDG_CONFIG_HOME"), Global: getenv("GIT_CONFIG_GLOBAL")}
	count, _ := strconv.Atoi(getenv("GIT_CONFIG_COUNT")) // git refuses anything else
	for i := range min(count, maxVariables) {
		key, value := getenv(fmt.Sprintf("GIT_CONFIG_KEY_%d", i)), getenv(fmt.Sprintf("GIT_CONFIG_VALUE_%d", i))
		s.Command = append(s.Command, Entry{Key: folded(key), Value: value})
	}
	if dir := getenv("GIT_TEMPLATE_DIR"); dir != "" {
		s.Command = append(s.Command, Entry{Key: "init.templatedir", Value: dir})
	}
	return s
}

// Load returns all settings, each with the file it is written in. A file that cannot be read has no
// settings, and of one with a syntax error those before it count.
func (s Sources) Load() []Entry {
	f := follower{Sources: s}
	f.user()
	if s.CommonDir != "" {
		f.file(filepath.Join(s.CommonDir, "config"), 0)
		f.file(filepath.Join(s.GitDir, "config.worktree"), 0)
	}
	f.add(s.Command, "", 0)
	return f.list
}

// User returns the settings of files outside the repository; every file that they are in or that they
// include, there or not; and an error for the first that git
// would refuse.
func (s Sources) User() (list []Entry, files []string, err error) {
	f := follower{Sources: s}
	f.user()
	return f.list, f.files, f.err
}

// follower reads files.
type follower struct {
	Sources
	list  []Entry
	files []string
	reads int
	err   error
}

// user reads the files outside the repository.
func (f *follower) user() {
	if f.System == "" {
		f.System = "/etc/gitconfig"
	}
	f.file(f.System, 0)
	switch {
	case f.Global != "":
		f.file(f.Global, 0)
	case f.Home != "":
		for _, p := range slices.Backward(UserFiles(f.Home, f.XDG)) {
			f.file(p, 0)
		}
	}
}

// UserFiles are the files git reads the user's settings from, the one that wins first. xdg is $XDG_CONFIG_HOME.
func UserFiles(home, xdg string) []string {
	if !filepath.IsAbs(xdg) {
		xdg = filepath.Join(home, ".config")
	}
	return []string{filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config")}
}

// file reads one file and what it includes, at the place of the include.
func (f *follower) file(p string, depth int) {
	if !slices.Contains(f.files, p) {
		f.files = append(f.files, p)
	}
	if depth > maxDepth || f.reads == maxReads {
		return
	}
	f.reads++
	data, err := files.Head(p, files.FollowLinks, maxFile) // as git does
	if err != nil {
		return
	}
	entries, err := Parse(data) // git stops at a fault, too
	if len(data) == maxFile {
		err = fmt.Errorf("larger than %d KiB", maxFile>>10)
	}
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s is %w", p, err)
	}
	f.add(entries, p, depth)
}

// add adds the settings of one file, and of those that it includes.
func (f *follower) add(entries []Entry, p string, depth int) {
	for _, e := range entries {
		e.File = p
		f.list = append(f.list, e)
		if Includes(e.Key) && e.Value != "" {
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
