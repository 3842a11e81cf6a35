package main

import (
	"path/filepath"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/shims"
)

// stageNoop writes the block and rewrite shims of the box, and counts the calls
// they block.
func stageNoop(j *journey) error {
	scripts := shims.NoopScripts(j.rc.Noop, j.rc.Name, paths.BoxNoop, paths.BoxBlocked)
	if len(scripts) == 0 {
		return nil
	}
	var err error
	if j.staged.Noop, err = j.run.Dir("noop"); err != nil {
		return err
	}
	for _, sc := range scripts {
		if _, err := j.run.File(filepath.Join("noop", sc.Name), sc.Text, 0o755); err != nil {
			return err
		}
	}
	files, err := plan.NoopStartup()
	if err != nil {
		return err
	}
	if j.staged.Startup, err = j.run.Dir("start"); err != nil {
		return err
	}
	for _, f := range files {
		if _, err := j.run.File(filepath.Join("start", f.Name), f.Text, 0o644); err != nil {
			return err
		}
	}
	pipe := filepath.Join(j.run.Path, "blocked")
	count, err := shims.CountBlocked(pipe, j.rc.Noop)
	if err != nil {
		return err
	}
	j.staged.Binds = append(j.staged.Binds, blockedPipe(pipe))
	j.after = append(j.after, func(j *journey) error {
		j.blocked = count.Close()
		return nil
	})
	return nil
}

// blockedPipe shows the pipe in the box. A pipe is written to through a read-only
// mount, too; so the box can do nothing else to it.
func blockedPipe(path string) plan.Bind {
	return plan.Bind{Host: path, Box: paths.BoxBlocked, Reason: "blocked calls are counted"}
}
