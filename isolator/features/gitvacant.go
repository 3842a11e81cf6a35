package features

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// Where the working folder is in no repository, git outside would obey what the box makes there while it lives.
// So an empty private place lies at .git, and what the box has made in it is brought when it has ended.

const gitVacant = "an empty place for a repository that the box makes: it is looked at, and comes when the box has ended"

// vacant finds the place for a repository that the box may make, nil where there is none.
func (b *boxGits) vacant(run *Run) *git.Repo {
	top := files.Real(run.Spec.Workdir)
	fi, err := os.Stat(top)
	if err != nil || !fi.IsDir() || run.Spec.GitDir != "checked" ||
		run.Spec.WorkdirMode != profile.RW || top == files.Real(run.Home) || unix.Access(top, unix.W_OK) != nil {
		return nil
	}
	if _, err := git.Find(top); !errors.Is(err, git.ErrNone) || inUse(filepath.Join(top, ".git")) {
		return nil
	}
	return &git.Repo{Top: top, Common: filepath.Join(top, ".git")}
}

// makeVacant makes that place. What a killed run has left there comes first.
func (b *boxGits) makeVacant(run *Run) (err error) {
	r := b.vacant(run)
	if r == nil {
		return nil
	}
	there := host.Placeholder{Path: r.Common}
	if !run.Mode.Made() {
		run.Facts.Later = append(run.Facts.Later, there)
		bindVacant(run, r, run.Folder.At("repository of "+r.Top))
		return nil
	}
	b.place = &sharedGit{repo: r}
	if err := b.place.open(run); err != nil {
		return err
	}
	lock := b.place.lock
	run.Undo(func() { lock.Close() })
	if b.bringVacant(run); inUse(r.Common) {
		b.place = nil
		return nil
	}
	run.Facts.Later = append(run.Facts.Later, there)
	place := filepath.Join(b.place.dir, "new", ".git")
	bindVacant(run, r, place)
	return os.MkdirAll(place, 0o755)
}

// bindVacant puts it in the plan. Go takes any folder of that name for a repository, and fails where git cannot
// tell it the commit.
func bindVacant(run *Run, r *git.Repo, place string) {
	if run.Getenv("GOFLAGS") == "" {
		run.Assets.Env = append(run.Assets.Env, profile.KV{Key: "GOFLAGS", Value: "-buildvcs=false"})
	}
	run.Assets.Repos = append(run.Assets.Repos,
		plan.Repo{Dir: r.Common, Binds: []plan.Bind{{Host: place, Box: r.Common, Write: true, Reason: gitVacant}}})
}

// bringVacant brings what is in the place, when no box has it.
func (b *boxGits) bringVacant(run *Run) {
	from := filepath.Join(b.place.dir, "new")
	made, err := os.ReadDir(filepath.Join(from, ".git"))
	if len(made) == 0 {
		if fi, errOf := os.Lstat(filepath.Join(from, ".git")); err != nil || errOf != nil || fi.Mode().Perm() != 0o755 { // else the next run has it
			_ = os.RemoveAll(from)
		}
		return
	}
	top := b.place.repo.Top
	_ = os.Remove(filepath.Join(top, ".git")) // the empty folder that lay under it
	to, err := os.Open(top)
	if err == nil {
		defer to.Close()
		ctx, stop := Interruptible(run.Done)
		defer stop()
		_, err = Adoption{From: from, To: to, At: top}.Bring(ctx, run.Caller)
	}
	if err != nil {
		run.Warn("git: the repository that the sandbox made in %s did not come: %v; it is in %s",
			run.Short(top), err, from)
		return
	}
	_ = os.RemoveAll(from)
}

// inUse reports whether a .git is more than the empty folder under what another box has there.
func inUse(dotGit string) bool {
	list, err := os.ReadDir(dotGit)
	return files.Exists(dotGit) && (err != nil || len(list) > 0)
}
