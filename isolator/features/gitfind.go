package features

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// maxBoxGits is how many repositories a box shares: each costs its start some milliseconds. In the others git is
// read-only.
const maxBoxGits = 64

// line adds a line for the person, once.
func (b *boxGits) line(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(b.lines, text) {
		b.lines = append(b.lines, text)
	}
}

// find finds the repositories of the folders that the box writes, and of the others named.
func (b *boxGits) find(c *caller.Caller, rc profile.RunConfig, f host.Facts) {
	roots := WrittenRoots(rc)
	running := sync.OnceValues(func() ([]stage.Live, error) { return stage.Running(f.StageBase) })
	since := func(place string) time.Time { live, err := running(); return oldest(live, err, place) }
	inRoots := func(p string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return paths.Below(root, p) })
	}
	tops := slices.Clone(f.Repositories)
	add := func(r *git.Repo) {
		if slices.ContainsFunc(b.found, func(x *git.Repo) bool { return x.Top == r.Top }) {
			return
		}
		if r.Reason == "" && young(r, since) {
			r.Reason = "it is younger than a sandbox that runs, which may have made it, or its .git that leads elsewhere"
		}
		b.found = append(b.found, r)
		vacant, there, err := git.Gitlinks(r)
		if err != nil && r.Digits > 0 && b.unread == nil {
			b.unread = fmt.Errorf("%s: %w", r.Top, err)
		}
		for _, p := range vacant {
			b.missing = append(b.missing, filepath.Join(r.Top, p))
		}
		for _, p := range there { // what git enters by itself counts however deep it lies
			if top := filepath.Join(r.Top, p); inRoots(top) && !slices.Contains(tops, top) {
				tops = append(tops, top)
			}
		}
	}
	for _, root := range roots {
		r, err := git.Find(root)
		if err != nil { // in none
			continue
		}
		whole := inRoots(r.Top)
		switch {
		case isZone(rc, root) && !whole:
			// The work tree is not the box's to write, and so are commits not its to make.
		case whole || seesTop(c.Home, rc, r.Top):
			add(r)
		case rc.GitDir == "checked":
			b.line("the box does not have the repository of %s: it sees a part of the files only", c.Short(r.Top))
		}
	}
	var hidden []string
	if len(b.found)+len(tops) > 0 {
		hidden, b.hidden = plan.HiddenPlaces(rc, f)
	}
	for i := 0; i < len(tops); i++ { // add adds to them
		r, err := git.FindAt(tops[i])
		if err != nil || allHidden(r, hidden) {
			b.passed = append(b.passed, filepath.Join(tops[i], ".git"))
			continue
		}
		known := func(x *git.Repo) bool { return paths.Below(x.Common, r.Common) } // the submodule or worktree of one
		if r.Reason == "" && !slices.ContainsFunc(b.found, known) && (!inRoots(r.Common) || r.Led) {
			r.Reason = "its .git leads out of the folders that the box writes, and a box may have made it"
		}
		add(r)
	}
}

// oldest is when the oldest box that lives, and can write at a place, began, now without one. What other boxes made was
// looked at when they ended.
func oldest(live []stage.Live, err error, place string) time.Time {
	if err != nil {
		return time.Time{}
	}
	for _, l := range live {
		holds := func(root string) bool { return root != "" && paths.Below(root, place) }
		if !l.Begun.IsZero() && (l.Roots == nil || slices.ContainsFunc(l.Roots, holds)) {
			return l.Begun
		}
	}
	return time.Now()
}

// young reports whether a repository is younger than a box that lives, or its .git that leads elsewhere is: the box can
// write what the host's git and inner would obey there.
func young(r *git.Repo, since func(place string) time.Time) bool {
	places := map[string]uint32{r.Common: unix.STATX_BTIME} // git changes the other time with each command
	if r.Led {
		places[filepath.Join(r.Top, ".git")] = unix.STATX_CTIME
	}
	for p, which := range places {
		var st unix.Statx_t
		if unix.Statx(unix.AT_FDCWD, p, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_CTIME|unix.STATX_BTIME, &st) != nil {
			return true
		}
		at := st.Ctime
		if st.Mask&which&unix.STATX_BTIME != 0 {
			at = st.Btime
		}
		if since(filepath.Join(files.Real(filepath.Dir(p)), filepath.Base(p))).Before(time.Unix(at.Sec, int64(at.Nsec))) {
			return true
		}
	}
	return false
}

// allHidden reports whether a repository and each link on the ways to it lie in hidden folders.
func allHidden(r *git.Repo, hidden []string) bool {
	seen := func(p string) bool {
		return !slices.ContainsFunc(hidden, func(dir string) bool { return paths.Below(dir, p) })
	}
	for _, way := range r.Ways {
		at := host.Look(way)
		if seen(at.Real) || slices.ContainsFunc(at.Hops, func(h host.Hop) bool { return seen(h.Path) }) {
			return false
		}
	}
	return true
}

// choose chooses those that are shared, and says why others are not.
func (b *boxGits) choose(c *caller.Caller, program string) {
	shared := func(r *git.Repo) bool { // also by another way
		return slices.Contains(b.repositories(), r.Common)
	}
	for _, r := range b.found {
		if program == "" && r.Reason == "" {
			r.Reason = "git is not installed outside"
		}
		if r.Reason == "" && !shared(r) {
			b.shared = append(b.shared, &sharedGit{repo: r})
		}
	}
	slices.SortStableFunc(b.shared, func(x, y *sharedGit) int { return strings.Compare(x.repo.Common, y.repo.Common) }) // submodules lie in others
	b.shared = b.shared[:min(len(b.shared), maxBoxGits)]
	var reasons []string
	names := map[string][]string{} // of the repositories that have a reason
	for _, r := range b.found {
		if shared(r) {
			continue
		}
		why := cmp.Or(r.Reason, fmt.Sprintf("only %d repositories of a box are writable", maxBoxGits))
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], c.Short(r.Top))
	}
	for _, why := range reasons {
		b.line("git is read-only in %s: %s", strings.Join(visible.Some(names[why], 4), ", "), why)
	}
}

// own reports whether a path is in a git directory that the box shares.
func (b *boxGits) own(p string) bool {
	return slices.ContainsFunc(b.repositories(), func(dir string) bool { return paths.Below(dir, p) })
}

// stay puts into the plan what of repositories stays as it is: those that are not shared, and
// the ways to all of them.
func (b *boxGits) stay(rc profile.RunConfig, f *host.Facts, s *plan.Staged) error {
	if b.unread != nil {
		return &fault.Refusal{
			Code: 125,
			Msg:  fmt.Sprintf("profile %q: %v", rc.Name, b.unread),
			Hint: "workdir_mode = \"ro\" under [sandbox]",
		}
	}
	s.GitStays, s.GitLinks, b.stays = nil, nil, nil
	roots := WrittenRoots(rc)
	add := func(info host.Path) {
		if p := info.Real; (info.Kind == host.File || info.Kind == host.Dir) && !slices.Contains(s.GitStays, p) {
			f.Paths[p], s.GitStays = info, append(s.GitStays, p)
		}
	}
	for _, p := range b.missing { // git outside would enter what is made there
		add(host.Look(p))
	}
	for _, r := range b.found {
		for _, way := range r.Ways {
			info := host.Look(way)
			s.GitLinks = append(s.GitLinks, info.Hops...)
			if b.own(info.Real) {
				continue
			}
			add(info)
			for _, root := range roots {
				if paths.Below(info.Real, root) { // the working folder of a bare one, or a part of it
					add(host.Look(root))
				}
			}
		}
		b.stays = append(b.stays, filepath.Join(r.Top, ".git"), r.Dir, r.Common)
	}
	return nil
}

// seesTop reports whether the box sees a folder above its working folder.
func seesTop(home string, rc profile.RunConfig, top string) bool {
	if slices.ContainsFunc(rc.Mounts, func(m profile.Mount) bool {
		return m.Mode != profile.Tmpfs && m.Mode != profile.SafeRW &&
			paths.Below(files.Real(m.Source), top) && m.Source == m.Dest
	}) {
		return true
	}
	if inHome := paths.Below(files.Real(home), top); inHome || rc.Base == "minimal" {
		return inHome && !rc.HidesHome()
	}
	return !paths.Below("/tmp", top) && !paths.Below("/var/tmp", top)
}
