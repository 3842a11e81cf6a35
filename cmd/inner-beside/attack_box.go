package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
)

// boxTime is how long an attack in a box may take.
const boxTime = 10 * time.Second

// attacked is the process that runs the script of an attack in the box of a profile, as inner run would for
// somebody who lives in the fixture; but the box shows the two programs, and has what it would have where
// every tool is installed. A box that does not start leaves its reason in the fixture.
func (a *app) attacked(name, script string) int {
	a.AllTools, a.Exe, a.Teller = true, a.Inner, tell.Teller{To: io.Discard} // what is refused is the result
	code := 0
	err := a.boxed(name, func(box *run.Prepared) error {
		o := launch.Options{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Timeout: boxTime, Supervisor: box.Options().Supervisor, Interactive: box.Spec.Entrypoint.Interactive, Made: caller.IsTerminal(os.Stdin)}
		res := box.Launch(o, func(p plan.Plan) plan.Plan {
			p.Argv = []string{"/bin/sh", "-c", script}
			return p
		})
		code = res.Code
		if !res.Started {
			return fmt.Errorf("%v", run.StartFailure(res)) // no refusal: it was to start
		}
		return nil
	})
	if err != nil {
		attack.Refused(err)
		return 125
	}
	return code
}

// boxed prepares the run, and does something in the place of its program.
func (a *app) boxed(name string, instead func(*run.Prepared) error) error {
	pl, err := a.Here()
	if err != nil {
		return err
	}
	p, err := a.Load(name, pl)
	if err != nil {
		return err
	}
	c, err := a.Context(pl, profile.Overrides{Entrypoint: "/bin/sh", Workdir: pl.Cwd}, false)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = run.Run(a.Settings, run.Call{Profile: p, Context: c, Mode: features.Checks, Instead: instead, Shows: []plan.Bind{
		{Host: self, Box: paths.BoxDir + "/attack", Reason: "the attack suite"},
		{Host: a.Inner, Box: paths.BoxDir + "/attacked", Reason: "inner, for attacks that call it"},
	}})
	return err
}

// furnish makes what the profile mounts of the home and the project in the
// fixture, and copies the user's profiles there: the one that is attacked may extend another.
func (s *suite) furnish(fix *attack.Fixture) error {
	for _, m := range s.config.Mounts {
		// The nearest folder decides: a project may have the home in it.
		at, nearest := "", 0
		for _, place := range [][2]string{{s.context.Cwd, fix.App}, {s.context.Project, fix.App}, {s.context.Home, fix.Home}} {
			rest, err := filepath.Rel(place[0], m.Source)
			if place[0] != "" && err == nil && filepath.IsLocal(rest) && (at == "" || len(place[0]) < nearest) {
				at, nearest = filepath.Join(place[1], rest), len(place[0])
			}
		}
		if at != "" {
			if err := makeLike(m.Source, at); err != nil {
				return err
			}
		}
	}
	// The programs that inner carries and this one does not, and profiles: who extends what cannot be read is told.
	shims := filepath.Join(s.InnerHome, "shims")
	if err := copyTo(filepath.Join(fix.Home, ".inner/shims"), 0o500, os.ReadFile,
		innerbox.Box(shims), innerbox.Git(shims)); err != nil {
		return err
	}
	list, err := filepath.Glob(filepath.Join(s.ProfilesDir(), "*.toml"))
	if err != nil {
		return err
	}
	return copyTo(filepath.Join(fix.Home, ".inner/profiles"), 0o600, func(p string) ([]byte, error) {
		file, _ := profile.ReadFile(p)
		return file.Data, nil
	}, list...)
}

// copyTo copies files into a folder, which it makes: those that have a name and something in them.
func copyTo(dir string, mode os.FileMode, read func(string) ([]byte, error), list ...string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, p := range list {
		if p == "" {
			continue
		}
		data, err := read(p)
		if err == nil && len(data) > 0 {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(p)), data, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeLike makes an empty file where the original is one, and else a folder, unless something is
// there.
func makeLike(original, at string) error {
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if fi, err := os.Stat(original); err != nil || !fi.Mode().IsRegular() {
		return os.MkdirAll(at, 0o700)
	}
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	return os.WriteFile(at, nil, 0o600)
}
