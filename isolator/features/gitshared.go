package features

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/git/clone"
	"github.com/enr/inner/isolator/git/gate"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/ownhome"
)

// sharedGit is what a box has of its own of a shared repository: a folder of
//
//	INNER_HOME/repositories/REPOSITORY/BOX-N
//
// BOX stands for the profile, and N lets several boxes of one profile live at the same time. The folder stays, with
// the box's settings, and a rebase that is half done goes on in the next run.
type sharedGit struct {
	repo   *git.Repo
	dir    string // the folder, "" until it is open
	lock   *os.File
	nested []string // places of repositories in its work tree
	clone  bool     // the repository cannot be served
}

// maxBoxes is how many boxes of one profile may share one repository at the same time.
const maxBoxes = 1000

// open finds the first folder that no living run has, and locks it.
func (s *sharedGit) open(run *Run) error {
	base := repositoryFolder(run.Caller, s.repo.Common)
	for n := range maxBoxes {
		s.dir = filepath.Join(base, boxName(run.Spec.Name, run.Spec.Path, n))
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return err
		}
		if s.locked() {
			note, top := filepath.Join(s.dir, GitTop), s.repo.Top+"\n"
			if noted, err := os.ReadFile(note); err == nil && string(noted) == top {
				return nil // to write it again would wait for the disk
			}
			return os.WriteFile(note, []byte(top), 0o600)
		}
	}
	return fmt.Errorf("%d boxes have it", maxBoxes)
}

// locked locks the folder, and reports whether no other run had it.
func (s *sharedGit) locked() bool {
	f, err := os.Open(s.dir)
	if err == nil {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			f.Close()
		}
	}
	s.lock = f
	return err == nil
}

// repositoryFolder is the folder of INNER_HOME for a repository.
func repositoryFolder(c *caller.Caller, common string) string {
	return filepath.Join(c.InnerHome, "repositories", digest(common))
}

// boxName is that of the folder of a profile's box.
func boxName(name, path string, n int) string {
	return fmt.Sprintf("%s-%d", digest(name, path), n)
}

func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:8])
}

func (s *sharedGit) store() string { return filepath.Join(s.dir, "store") }

// described is the repository as its server knows it, once there is a plan; i is its number in the box.
func (s *sharedGit) described(run *Run, i int) server.Repository {
	r := s.repo
	covered, hidden := run.Plan.Covered(r.Top)
	_, away := run.Plan.Covered(r.Common)
	of := gated(gitProgram(run), r, s.dir, covered)
	of.Nested, of.Hidden = s.nested, hidden
	return server.Repository{
		Repository: of, Box: fmt.Sprintf(boxStore, i), Policy: repoPolicy(run), Logins: gitPolicy(run.Spec).Credentials,
		Ours: append(notCarried(run), oursInGit...), Ignored: ignored(run), Away: away,
	}
}

// gated is a repository as its gate knows it, with what a box has of its own in a private folder.
func gated(program string, r *git.Repo, private string, covered []string) gate.Repository {
	return gate.Repository{
		Git: program, Dir: r.Common, Top: r.Top, Tree: r.Worktree, Store: filepath.Join(private,
			"store"), Private: private, Partial: r.Partial, Sparse: r.Sparse, Covered: covered,
	}
}

// fill makes the store of the box, which reads the host's objects at a place of the box.
func (s *sharedGit) fill(objects string) error {
	info := filepath.Join(s.store(), "info") // an earlier box may have made a link there
	return errors.Join(os.MkdirAll(filepath.Join(s.dir, "clone"), 0o700),
		os.MkdirAll(s.store(), 0o700), os.RemoveAll(info), os.Mkdir(info, 0o700), os.WriteFile(filepath.Join(info, "alternates"), []byte(objects+"\n"), 0o600))
}

// used is what the box has of its own on the disk.
func (s *sharedGit) used() uint64 { return ownhome.Used(s.dir, ".") }

// close lets the next box have the folder.
func (s *sharedGit) close(run *Run) {
	defer func() { _ = files.Unlock(s.lock) }()
	if s.clone && (!run.Result.Started || run.Mode != Program) {
		_ = clone.State{Private: s.dir, Run: run.ID()}.Drop()
	}
	s.tidy()
	what, aside := server.HalfDone(s.dir)
	if what != "" {
		run.Warn("git: a %s is half done in the sandbox, in %s; it goes on there in the next run",
			what, run.Short(s.repo.Top))
	}
	if aside != "" {
		run.Warn("git: until then your changes there are put aside; to have them in your stash now: git stash store %s",
			aside)
	}
}

// tidy removes the box's objects, unless something that is half done or waits names some.
func (s *sharedGit) tidy() {
	if what, _ := server.HalfDone(s.dir); what == "" && len(clone.States(s.dir)) == 0 {
		_ = copytree.Remove(s.store())
	}
}
