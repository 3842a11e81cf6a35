package main

// What a run needs on disk, feature by feature: one function each, called in
// the order of journey.stage. journey.close takes all of it away again.

import (
	"os"
	"path/filepath"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/shims"
)

// stage makes on disk what the run needs.
func (j *journey) stage() error {
	j.staged = isolator.Staged{RunID: j.run.ID, Program: j.prep.program, Argv: j.prep.argv}
	for _, step := range []func(*journey) error{
		stageEmpty, stageBorrowed, stageClones, stageNoop, stageHistory,
	} {
		if err := step(j); err != nil {
			return err
		}
	}
	return nil
}

// stageEmpty makes the file that masks are bound from.
func stageEmpty(j *journey) (err error) {
	j.staged.Empty, err = j.run.File("empty", nil, 0o444)
	return err
}

// stageBorrowed makes what is missing in repositories and must not be made
// from inside.
func stageBorrowed(j *journey) error {
	if j.rc.GitDir != "protected" {
		return nil
	}
	for _, g := range j.prep.facts.Git {
		for _, m := range g.Missing {
			if err := j.run.Borrow(m.Path, m.Content); err != nil {
				return err
			}
		}
	}
	return nil
}

// stageClones makes the clones of the capabilities.
func stageClones(j *journey) error {
	for _, c := range j.prep.clones {
		dir, err := j.run.Dir("clone-" + c.Name)
		if err != nil {
			return err
		}
		skipped, err := c.Clone(j.app.home, dir, j.rc.Workdir)
		if err != nil {
			return err
		}
		for _, p := range skipped {
			j.app.warn("capability %s: %q is not a regular file and was left out", c.Name, p)
		}
		j.staged.Binds = append(j.staged.Binds, isolator.Bind{Host: dir, Box: c.Place(j.app.home), Write: true, Reason: "capability " + c.Name + ": a clone of " + c.Folder})
		j.staged.Env = append(j.staged.Env, c.Environment(j.app.home)...)
	}
	return nil
}

// stageNoop writes the block and rewrite shims of the box.
func stageNoop(j *journey) error {
	scripts, err := shims.NoopScripts(j.rc.Noop, j.rc.Name, isolator.BoxNoop)
	if err != nil || len(scripts) == 0 {
		return err
	}
	if j.staged.Noop, err = j.run.Dir("noop"); err != nil {
		return err
	}
	for _, sc := range scripts {
		if _, err := j.run.File(filepath.Join("noop", sc.Name), sc.Text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// stageHistory preloads the history of an interactive shell.
func stageHistory(j *journey) error {
	if !j.prep.facts.Terminal {
		return nil
	}
	sh, err := j.run.History(j.rc.Entrypoint, os.LookupEnv)
	if err != nil || sh.Bind == nil {
		return err
	}
	s := &j.staged
	s.Binds = append(s.Binds, *sh.Bind)
	s.Env = append(s.Env, sh.Env...)
	s.Argv = append([]string{s.Argv[0]}, append(sh.Args, s.Argv[1:]...)...)
	return nil
}
