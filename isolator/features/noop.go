package features

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/shims"
)

// noop writes the block and rewrite shims of the box, and counts the calls they block.
func noop() Feature {
	var count *shims.Blocked
	return Feature{
		Name: "noop", Keys: []string{"noop"},
		Make: func(run *Run) (err error) {
			count, err = makeNoop(run)
			return err
		},
		Between: func(_ *Run, o *Outcome) error {
			if count != nil {
				o.Blocked = count.Take()
			}
			return nil
		},
		Finish: func(_ *Run, o *Outcome) error {
			if count != nil {
				o.Blocked = count.Close()
			}
			return nil
		},
	}
}

// makeNoop returns what counts; nil without any rule.
func makeNoop(run *Run) (count *shims.Blocked, err error) {
	noop := run.Spec.Noop
	noop.Rules = slices.Clone(noop.Rules)
	for i, r := range noop.Rules {
		if r.Message == "" {
			noop.Rules[i].Message = profile.Outside(run.Profile.Question("cmd:" + r.Words[0]))
		}
	}
	scripts := shims.NoopScripts(noop, run.Spec.Name, paths.BoxNoop, paths.BoxBlocked)
	if len(scripts) == 0 {
		return nil, nil
	}
	if run.Assets.Noop, err = run.Folder.Dir("noop"); err != nil {
		return nil, err
	}
	for _, sc := range scripts {
		if _, err := run.Folder.File(filepath.Join("noop", sc.Name), sc.Text, 0o755); err != nil {
			return nil, err
		}
	}
	files, err := plan.NoopStartup()
	if err != nil {
		return nil, err
	}
	if run.Assets.Startup, err = run.Folder.Dir("start"); err != nil {
		return nil, err
	}
	for name, text := range files {
		if _, err := run.Folder.File(filepath.Join("start", name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	// A pipe is written to through a read-only mount, too; so the box can do nothing else to it.
	pipe := run.Folder.At("blocked")
	run.Assets.Binds = append(run.Assets.Binds,
		plan.Bind{Host: pipe, Box: paths.BoxBlocked, Reason: "blocked calls are counted"})
	if !run.Mode.Made() {
		return nil, nil
	}
	if count, err = shims.CountBlocked(pipe, run.Spec.Noop); err == nil {
		run.Undo(func() { count.Close() }) // again, which changes nothing, when the run has ended
	}
	return count, err
}
