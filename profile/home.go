package profile

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
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

// homeAllow takes the folders of the home that the profile lists.
func (r *resolver) homeAllow() {
	rc := &r.rc
	for _, it := range r.s.Value("sandbox.home_allow").Items {
		if it.Text == Toolchains {
			continue // they are there already
		}
		p, err := r.x.path(it.Text, tilde|vars)
		switch {
		case err != nil:
			r.add(it.At, "sandbox.home_allow", err.Error(), `write it like "~/.local/bin"`)
		case p == r.c.Home || !paths.Below(r.c.Home, p):
			r.add(it.At, "sandbox.home_allow", fmt.Sprintf("%q is not below your home folder", it.Text), "")
		default:
			if strings.ContainsAny(it.Text, "*?[") && !files.Exists(p) {
				r.warn(it.At, "sandbox.home_allow", `name what is meant, as "~/.local/bin"`,
					"%q shows nothing: this key takes no patterns", it.Text)
			}
			rc.HomeAllow = append(rc.HomeAllow, p)
			r.named = append(r.named, named{path: p, at: it.At, key: "sandbox.home_allow"})
		}
	}
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

// caches says that a box writes caches that stay. It gets nothing of the user's by that, so a
// profile that was allowed need not be allowed again for it.
func (g *granter) caches(rc *RunConfig) {
	if rc.KeepsCaches() {
		g.add(Grant{Kind: "writes", Key: "caches", Words: "keeps between runs, apart from yours", Items: []Item{{Text: "caches (~/.cache and its kind)", Own: true}}})
	}
}
