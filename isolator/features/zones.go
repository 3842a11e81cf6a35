package features

// What a run may write of a working folder that it may not write as a whole, and folders
// that a mount has made when they are missing.

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// isZone reports whether a folder is a zone of the working folder.
func isZone(rc profile.RunConfig, real string) bool {
	return slices.ContainsFunc(rc.Mounts, func(m profile.Mount) bool { return m.Zone && files.Real(m.Source) == real })
}

// folders makes the sources of mounts that are not there (missing = "create"): below the
// home, 0700, and through no link. It tells which zones of the working folder do not fit: the profile goes on without.
func folders() Feature {
	return Feature{
		Name: "folders", Keys: []string{"mounts", "mounts.missing", "sandbox.writable", "sandbox.workdir_mode"},
		Make: func(run *Run) error {
			for _, line := range run.Spec.Dropped {
				run.Warn("%s", line)
			}
			return nil
		},
		Planned: func(run *Run) error {
			var closed []string
			for _, o := range run.Plan.Ops {
				if p, is := strings.CutPrefix(o.Reason, plan.Closed); is {
					closed = append(closed, p)
				}
			}
			if len(closed) > 0 {
				run.Warn("the sandbox has empty what cannot be looked into: %s", someFolders(run.Caller, closed))
				run.Hint("chmod u+rx %s", quote.POSIX(closed[0]))
			}
			return nil
		},
		Ask: func(run *Run) error {
			for _, m := range run.Spec.Mounts {
				if !m.Create || !run.Mode.Made() || files.Exists(m.Source) {
					continue
				}
				if err := makeBelow(run.Homes(), m.Source); err != nil {
					return &fault.Refusal{
						Code: 125,
						Msg:  fmt.Sprintf("%s: %q cannot be made: %v", mountKey(m), m.Source, err),
						Hint: "mkdir -p " + quote.POSIX(m.Source),
					}
				}
			}
			return nil
		},
		Learn: func(run *Run) error { // what would be there
			for _, m := range run.Spec.Mounts {
				if p := run.Facts.Look(m.Source); m.Create && !run.Mode.Made() && p.Kind == host.Missing {
					run.Facts.Paths[m.Source] = host.Path{Kind: host.Dir, Real: p.Real}
				}
			}
			return nil
		},
	}
}

// makeBelow makes a folder and those on the way to it from a home, name by name, so that
// nobody puts a link in between.
func makeBelow(homes []string, path string) error {
	for _, home := range homes {
		rest, ok := paths.Rest(home, path)
		if !ok || rest == "" {
			continue
		}
		root, err := os.Open(home)
		if err != nil {
			return err
		}
		defer root.Close()
		for i, c := range rest + "/" {
			if c != '/' {
				continue
			}
			err := copytree.In(int(root.Fd()), rest[:i], func(dir int, name string) error { return unix.Mkdirat(dir, name, 0o700) })
			if err != nil && !errors.Is(err, unix.EEXIST) {
				return err
			}
		}
		return nil
	}
	return errors.New("it is not below your home folder")
}
