package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/watch"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
)

func (a *app) cmdWatch() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Short: "Watch the profiles: on every save, validate and print what changed in their grants", Args: cobra.NoArgs,
		RunE: a.OnHost(func(_ *cobra.Command, _ []string) error { return a.watch() }),
	}
}

// watched is a profile as it was last seen.
type watched struct {
	digest string
	err    string
	grants []profile.Grant // while it is broken, those it had before; nil when it never was valid
}

func (a *app) watch() error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	if pl.Project == nil {
		return fault.Refuse(1, "mkdir -p .inner/profiles", "no project here to watch")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	dirs := func() []string {
		return []string{filepath.Join(pl.Project.Dir, "profiles"), pl.Project.Dir, a.ProfilesDir()}
	}
	var known map[string]watched
	watch.Watch(ctx, dirs, func() {
		now := a.snapshot(pl)
		if known == nil {
			a.Say("watching %s (%d profiles); ^C ends", a.Short(pl.Project.Dir), len(now))
		} else if a.printWatched(known, now) {
			a.WarnIf(a.Regenerate())
		}
		known = now
	})
	return nil
}

// snapshot is every profile of the project, by path.
func (a *app) snapshot(pl settings.Place) map[string]watched {
	out := map[string]watched{}
	a.Forget() // it may be what was saved
	p := a.ProjectOf(pl.Root())
	if p == nil {
		return out
	}
	pl.Project = p
	all, _ := a.profilesOf(pl) // those that cannot be listed are gone
	for _, f := range all {
		if f.scope != profile.Local {
			break
		}
		w := watched{}
		prof, err := f.load()
		if err == nil {
			for _, file := range prof.Files {
				w.digest += file.Digest
			}
			w.grants, err = a.GrantsOf(prof, pl)
		}
		if err != nil {
			w.err = err.Error()
		}
		out[f.path] = w
	}
	return out
}

// printWatched prints what is new, gone, broken, wider or narrower, in the order of the paths.
func (a *app) printWatched(old, now map[string]watched) (changed bool) {
	stamp := time.Now().Format("15:04:05")
	report := func(path, format string, args ...any) {
		changed = true
		fmt.Fprintf(a.Err, "%s %s: %s\n", stamp, cli.Printable(cli.NameOf(path)),
			cli.Printable(fmt.Sprintf(format, args...)))
	}
	for _, path := range slices.Sorted(maps.Keys(old)) {
		if _, ok := now[path]; !ok {
			report(path, "gone")
		}
	}
	for _, path := range slices.Sorted(maps.Keys(now)) {
		w := now[path]
		before, known := old[path]
		switch {
		case known && before.digest == w.digest && before.err == w.err:
			now[path] = before
		case w.err != "":
			w.grants = before.grants
			now[path] = w
			report(path, "broken; its commands refuse to run")
			for _, line := range strings.Split(w.err, "\n") {
				fmt.Fprintf(a.Err, "  %s\n", cli.Printable(line))
			}
		case !known, before.grants == nil:
			what := "new, valid; type: inner allow"
			if known {
				what = "valid now; type: inner allow"
			}
			report(path, "%s", what)
			a.printGrants(w.grants)
		default:
			wider, narrower := profile.DiffGrants(before.grants, w.grants)
			report(path, "changed, valid; type: inner allow")
			a.printChange("  ", wider, narrower)
		}
	}
	return changed
}
