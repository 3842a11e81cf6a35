package main

// What a run needs on disk, feature by feature: one function each, called in
// the order of journey.stage. journey.close takes all of it away again.

import (
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// stage makes on disk what the run needs.
func (j *journey) stage() error {
	j.staged = plan.Staged{RunID: j.run.ID, Program: j.prep.program, Argv: j.prep.argv}
	for _, step := range []func(*journey) error{
		stageEmpty, stageLimits, stageNested, stageProc, stageBoxGit, stageBorrowed, stageClones, stageLogins, stageGit, stageNoop, stageBus, stageHistory, stageFilled, stageCopies, stageReach, stageNetwork,
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

// adopt keeps what other runs have borrowed where this one can write.
func (j *journey) adopt() error {
	var roots []string
	add := func(p string) { roots = append(roots, p, files.Real(p)) }
	if j.rc.WorkdirMode == profile.RW {
		add(j.rc.Workdir)
	}
	for _, m := range j.rc.Mounts {
		if m.Mode == profile.RW {
			add(m.Source)
		}
	}
	return j.run.Adopt(roots...)
}

// stageBorrowed makes what is missing in the project and must not be made from inside.
func stageBorrowed(j *journey) error {
	watchFolders(j)
	return j.run.Borrow(j.prep.facts.Later...)
}
