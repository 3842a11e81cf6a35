package features

// The caches that a box has of its own where its home is the host's: they are kept like a home
// of the box's own, by package ownhome; package plan says where each of them goes.

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// caches gives the box its caches.
func caches() Feature {
	var kept *ownhome.Home
	return Feature{
		Name: "caches of its own", Keys: []string{"sandbox.home"},
		Ask: func(run *Run) (err error) {
			if !run.Spec.KeepsCaches() || !run.Mode.Made() {
				return nil
			}
			if kept, err = ownhome.Open(run.InnerHome, CachesOwner(run.Spec)); err != nil {
				return err
			}
			run.Undo(kept.Close)
			return kept.Ready(nil) // others may begin: nothing is mounted in these folders
		},
		Make: func(run *Run) error {
			run.Assets.Caches = cachesOf(run)
			return nil
		},
		Planned: func(run *Run) error {
			if kept == nil {
				return nil
			}
			for _, c := range run.Plan.Caches {
				if err := kept.Folder(c.Rel); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// CachesOwner says whose caches the boxes of a profile have.
func CachesOwner(rc profile.RunConfig) ownhome.Owner {
	owner := HomeOwner(rc)
	owner.Caches = true
	return owner
}

// cachesOf is what the planner has to know; nil when the box has none.
func cachesOf(run *Run) *plan.Caches {
	if !run.Spec.HasCaches() && (run.Spec.Home != "own" || run.Facts.Engine != nil) {
		return nil
	}
	goSetting := goSettings(run)
	c := &plan.Caches{GoModules: goModules(run, goSetting), GoProxy: goSetting("GOPROXY"), Fetched: map[string]string{}}
	if run.Spec.Home == "own" {
		c.GoModules = run.unled(c.GoModules)
		for _, f := range plan.Fetched() {
			c.Fetched[f.Rel] = run.unled(filepath.Join(run.Home, f.Rel))
		}
	}
	if run.Spec.KeepsCaches() && run.Mode != Pasted {
		c.Dir = ownhome.Folder(run.InnerHome, CachesOwner(run.Spec))
	}
	return c
}

// goModules is where the user's Go keeps what it has fetched; "" when that is nowhere.
func goModules(run *Run, setting func(name string) string) string {
	first, _, _ := strings.Cut(cmp.Or(setting("GOPATH"), filepath.Join(run.Home, "go")), ":")
	dir := cmp.Or(setting("GOMODCACHE"), filepath.Join(first, "pkg/mod"))
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "cache/download")
}

// goSettings are settings of Go: a variable, what go env -w wrote, or the default, which is in a file of each Go's own
// (go help environment); "" for one that is unknown.
func goSettings(run *Run) func(name string) string {
	texts, _ := files.Read(cmp.Or(run.Getenv("GOENV"), filepath.Join(run.Home, ".config/go/env")), files.NoLinks, 64<<10)
	if program, err := run.FindReal("go", run.Getenv("PATH")); err == nil {
		own, _ := files.Read(filepath.Join(filepath.Dir(filepath.Dir(files.Real(program))), "go.env"), files.NoLinks, 64<<10)
		texts = append(append(texts, '\n'), own...)
	}
	return func(name string) string {
		if v := run.Getenv(name); v != "" {
			return v
		}
		for line := range strings.Lines(string(texts)) {
			if v, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
				return v
			}
		}
		return ""
	}
}
