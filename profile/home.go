package profile

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
)

// PasswordHome is the home that the password file names for the user, or "". HOME
// may say something else: what must not be handed over, and which .inner is nobody's
// project, is asked of both.
func PasswordHome() string {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || !filepath.IsAbs(u.HomeDir) {
		return ""
	}
	return filepath.Clean(u.HomeDir)
}

// HidesHome reports whether the box sees only those parts of the user's home folder that
// the profile lists: an empty home, or the box's own, is in its place.
func (rc RunConfig) HidesHome() bool { return rc.Home == "isolated" || rc.Home == "own" }

// HasCaches reports whether a box has caches of its own over those of the user's home, which
// it cannot write.
func (rc RunConfig) HasCaches() bool { return rc.Home == "host" }

// KeepsCaches reports whether they stay for later boxes of the project. What a stranger's
// profile makes does not, nor does what is to be held to a limit of the disk.
func (rc RunConfig) KeepsCaches() bool {
	return rc.HasCaches() && rc.Scope != Remote && rc.Limits.Disk == ""
}

// isHomeName reports whether a word can name a home. The name of a project's home contains
// an @, so no profile reaches it by name.
func isHomeName(name string) bool {
	const within = "._-"
	return name != "" && len(name) <= 64 && strings.Trim(name, alphanumeric+within) == "" && strings.IndexByte(within, name[0]) < 0
}

func checkHomeName(name string) error {
	if !isHomeName(name) {
		return fmt.Errorf("%q is not the name of a home: letters, digits, dots, dashes and underscores, at most 64", name)
	}
	return nil
}

// caches says that a box writes caches that stay. It gets nothing of the user's by that, so a
// profile that was allowed need not be allowed again for it.
func (g *granter) caches(rc *RunConfig) {
	if rc.KeepsCaches() {
		g.add(Grant{Kind: "writes", Key: "caches", Words: "keeps between runs, apart from yours", Items: []Item{{Text: "caches (~/.cache and its kind)", Own: true}}})
	}
}

// ownHome says what an own home is: it outlives the run, and whoever shares it finds what
// is in it.
func (g *granter) ownHome(name string) {
	if name == "" {
		g.say("writes", "home own", "keeps a home of its own between runs")
		return
	}
	g.list("writes", HomeNamed, "keeps a home of its own between runs, with the logins in it, and shares it with all boxes that name it", texts([]string{name}))
}
