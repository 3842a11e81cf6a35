package runlog

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Changes is what changed in the writable folders during a run, by the run or
// by somebody else: their time of change is not before its start. What was
// removed is only known by the folder it was in.
type Changes struct {
	Files  []string `json:"files,omitempty"`  // new, written, or with other attributes
	Gone   []string `json:"gone,omitempty"`   // folders something was removed from or renamed in
	More   int      `json:"more,omitempty"`   // files not listed
	Partly bool     `json:"partly,omitempty"` // the search ended early: there may be others
}

// Bounds of a search.
const (
	maxEntries = 50_000
	maxSearch  = time.Second
	maxListed  = 1000
)

// Moment returns the time as files know it: their clock ticks every few
// milliseconds only. What changes from now on has this time or a later one.
func Moment() time.Time {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &ts) != nil {
		return time.Now().Add(-10 * time.Millisecond)
	}
	return time.Unix(ts.Unix())
}

// Changed looks through folders for what changed since a Moment, less what
// inner itself put there. It does not look into .git and node_modules, and
// follows no link.
func Changed(roots, ours []string, since time.Time) Changes {
	s := search{since: since, ours: ours, end: time.Now().Add(maxSearch)}
	for _, root := range topmost(roots) {
		if !s.folder(root) {
			break
		}
	}
	return s.found
}

// topmost drops the folders that lie in another one.
func topmost(roots []string) []string {
	sorted := slices.Clone(roots)
	slices.Sort(sorted)
	var out []string
	for _, r := range sorted {
		if n := len(out); n == 0 || r != out[n-1] && !strings.HasPrefix(r, strings.TrimSuffix(out[n-1], "/")+"/") {
			out = append(out, r)
		}
	}
	return out
}

type search struct {
	since time.Time
	ours  []string
	end   time.Time
	seen  int
	found Changes
}

// folder looks through one folder, and reports whether to go on.
func (s *search) folder(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return true // nothing of it is the box's: it could not read it either
	}
	changed := false // something in it shows why the folder itself did
	for _, e := range entries {
		s.seen++
		if s.seen > maxEntries || s.seen%256 == 0 && time.Now().After(s.end) {
			s.found.Partly = true
			return false
		}
		p := filepath.Join(dir, e.Name())
		if slices.Contains(s.ours, p) {
			changed = true
			continue
		}
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		recent := s.recent(fi)
		changed = changed || recent
		switch {
		case fi.IsDir() && e.Name() == ".git":
			s.repository(p)
		case fi.IsDir() && e.Name() == "node_modules":
			if recent {
				s.add(p + "/")
			}
		case fi.IsDir():
			if !s.folder(p) {
				return false
			}
		case recent:
			s.add(p)
		}
	}
	if fi, err := os.Lstat(dir); err == nil && !changed && s.recent(fi) {
		switch {
		case s.isNew(dir):
			s.add(dir + "/")
		case len(s.found.Gone) < maxListed:
			s.found.Gone = append(s.found.Gone, dir)
		}
	}
	return true
}

// isNew reports whether a folder was made during the run, where the file system
// remembers that.
func (s *search) isNew(dir string) bool {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BTIME, &st)
	return err == nil && st.Mask&unix.STATX_BTIME != 0 && !time.Unix(st.Btime.Sec, int64(st.Btime.Nsec)).Before(s.since)
}

// repository tells of a repository only what happened to it.
func (s *search) repository(dir string) {
	for _, name := range []string{"HEAD", "logs/HEAD", "index", "packed-refs", "config"} {
		if fi, err := os.Lstat(filepath.Join(dir, name)); err == nil && s.recent(fi) {
			s.add(dir + "/")
			return
		}
	}
}

func (s *search) add(p string) {
	if len(s.found.Files) == maxListed {
		s.found.More++
		return
	}
	s.found.Files = append(s.found.Files, p)
}

func (s *search) recent(fi fs.FileInfo) bool { return changedSince(fi, s.since) }

func changedSince(fi fs.FileInfo, since time.Time) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && !time.Unix(st.Ctim.Unix()).Before(since)
}

// RunsLater returns what changed since a Moment at the top of the folders, or
// is in files, and runs on the host the next time somebody builds, tests or
// opens a folder. It looks at a fixed list of names.
func RunsLater(roots, ours, files []string, since time.Time) []string {
	var out []string
	add := func(p string) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, root := range topmost(roots) {
		// Nearly always there is nothing, and this is on the way of every run.
		dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		defer unix.Close(dir)
		for _, name := range runLater() {
			var st unix.Stat_t
			if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			p := filepath.Join(root, name)
			if slices.Contains(ours, p) {
				continue
			}
			if !time.Unix(st.Ctim.Unix()).Before(since) || st.Mode&unix.S_IFMT == unix.S_IFDIR && changedIn(p, since) {
				add(p)
			}
		}
	}
	for _, p := range files {
		later := func(name string) bool { return strings.HasSuffix(p, "/"+name) }
		if strings.HasSuffix(p, ".sh") || slices.ContainsFunc(runLater(), later) {
			add(p)
		}
	}
	return out
}

// changedIn looks one level down.
func changedIn(dir string, since time.Time) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries[:min(len(entries), 100)], func(e fs.DirEntry) bool {
		fi, err := e.Info()
		return err == nil && changedSince(fi, since)
	})
}

// runLater are names below a project that tools run or obey.
func runLater() []string {
	return []string{
		"Makefile", "makefile", "GNUmakefile", "justfile", "Justfile", "Taskfile.yml", "Rakefile", "Gemfile",
		"package.json", ".npmrc", ".yarnrc.yml", ".pnpmfile.cjs", "pyproject.toml", "setup.py", "setup.cfg", "conftest.py", "tox.ini", "noxfile.py",
		"CMakeLists.txt", "meson.build", "configure", "build.rs", "Cargo.toml", ".cargo/config.toml",
		"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "gradlew", "pom.xml", "mvnw", "build.xml",
		"Dockerfile", "docker-compose.yml", "compose.yaml", ".gitlab-ci.yml", ".github/workflows", ".pre-commit-config.yaml",
		".envrc", "mise.toml", ".mise.toml", ".tool-versions", ".husky", ".vscode/tasks.json", ".vscode/settings.json", ".devcontainer/devcontainer.json",
	}
}
