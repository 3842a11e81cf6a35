package features

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
)

// gitLogin finds a login in the settings of a repository: in an address, also
// without a name or a password, and in a header. The name that ssh is given is none.
var gitLogin = sync.OnceValue(func() *regexp.Regexp { // allowed: compiled once, when it is first asked for
	return regexp.MustCompile(`(?i)(?:https?|ftps?)://[^/\s"@]+@|[a-z+]+://[^/\s"@:]*:[^/\s"@]+@|extraheader\s*=\s*"?\s*(?:proxy-)?authorization:`)
})

// logins warns of a login in a repository's own settings. They are shown as they
// are, unless the git directory is served.
func logins(git *boxGits) Feature {
	return Feature{Name: "logins in repositories", Keys: []string{"sandbox.git_dir"}, Make: func(run *Run) error {
		warnOfLogins(run, git.repositories())
		return nil
	}}
}

// warnOfLogins looks into the settings of repositories, other than the box's own.
func warnOfLogins(run *Run, own []string) {
	roots := []string{}
	if run.Spec.WorkdirMode != profile.None {
		roots = append(roots, run.Spec.Workdir, run.Spec.Project)
	}
	for _, m := range run.Spec.Mounts {
		if m.Mode != profile.Tmpfs {
			roots = append(roots, m.Source)
		}
	}
	var configs []string
	for _, root := range roots {
		if root != "" {
			configs = append(configs, filepath.Join(root, ".git", "config"))
		}
	}
	for _, top := range run.Facts.Repositories {
		configs = append(configs, filepath.Join(top, ".git", "config"))
	}
	slices.Sort(configs)
	for _, file := range slices.Compact(configs) {
		if !slices.Contains(own, files.Real(filepath.Dir(file))) && holdsLogin(file) {
			run.Warn("%s holds a login, and the box can read it", run.Short(file))
			run.Hint("git remote set-url origin ADDRESS, without the login, and git credential approve keeps it elsewhere")
		}
	}
}

func holdsLogin(file string) bool {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return false
	}
	text, _ := io.ReadAll(io.LimitReader(f, 1<<20)) // what could be read counts
	return gitLogin().Match(text)
}
