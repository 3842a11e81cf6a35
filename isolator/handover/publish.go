package handover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/lazy"
)

// Result is a bundle that is to become a branch.
type Result struct {
	Bundle       string
	Repo, Commit string // where it goes, and what the run began at
	Ref          string // refs/heads/inner/FLEET/INDEX
	Run          string // what the tries of one task share, and nothing else does: hexadecimal digits and "-"; "" is not known
}

// stamp returns the message of the commit that Publish puts on top of a result whose run is known.
func (r Result) stamp() string { return "inner: the result of a run\n\nInner-Run: " + r.Run + "\n" }

var runID = lazy.Regexp(`^[-0-9a-f]{0,64}$`)

// maxBundle is the largest bundle that is taken, in bytes.
const maxBundle = 1 << 30

// Publish checks a bundle and pushes it. It returns the commit. The error is ErrNothing when
// there is no bundle.
func (g Git) Publish(ctx context.Context, r Result) (commit string, err error) {
	if !published().MatchString(r.Ref) {
		return "", fmt.Errorf("%q is not refs/heads/inner/FLEET/INDEX", r.Ref)
	}
	if !runID().MatchString(r.Run) {
		return "", fmt.Errorf("%q is not a run: hexadecimal digits and \"-\"", r.Run)
	}
	bundle, fi, err := files.Open(r.Bundle, files.NoLinks)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", ErrNothing
	case err != nil:
		return "", err
	}
	defer bundle.Close()
	if fi.Size() > maxBundle {
		return "", fmt.Errorf("%q is larger than %d MiB", r.Bundle, maxBundle>>20)
	}
	s, err := g.store(ctx)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if err := s.fetch(ctx, g, "--", r.Repo, "+refs/heads/*:refs/base/*"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, s.dir, "cat-file", "-e", r.Commit+"^{commit}"); err != nil {
		return "", fmt.Errorf("commit %s is on no branch of %s", r.Commit, r.Repo)
	}
	from := g.checked()
	from.in = bundle
	if err := s.fetch(ctx, from, "/dev/fd/0", "HEAD:refs/result/0"); err != nil {
		return "", err
	}
	if _, err := g.run(ctx, s.dir, "merge-base", "--is-ancestor", r.Commit, "refs/result/0"); err != nil {
		return "", fmt.Errorf("what the bundle holds does not build on %s", r.Commit)
	}
	tip, earlier := "refs/result/0", ""
	if r.Run != "" {
		if tip, err = g.word(ctx, s.dir, "commit-tree", "-p", tip, "-m", r.stamp(), tip+"^{tree}"); err != nil {
			return "", err
		}
		if earlier, err = g.earlier(ctx, s.dir, r); err != nil {
			return "", err
		}
	}
	if _, err := g.run(ctx, s.dir, "push", "--quiet", "--no-verify", "--force-with-lease="+r.Ref+":"+earlier, "--", r.Repo, tip+":"+r.Ref); err != nil {
		return "", err
	}
	return g.word(ctx, s.dir, "rev-parse", tip)
}

// earlier returns the commit that an earlier try of the same run pushed to its branch, as it was
// fetched; "" when there is none, when the branch is another run's, or when somebody has added
// commits. The branch can be trusted for that, because a box cannot push.
func (g Git) earlier(ctx context.Context, repo string, r Result) (string, error) {
	at := "refs/base/" + strings.TrimPrefix(r.Ref, "refs/heads/")
	out, err := g.word(ctx, repo, "for-each-ref", "--format=%(objectname) %(committername) %(committeremail)%0a%(contents)", at)
	commit, text, _ := strings.Cut(out, " ")
	if text != strings.TrimSpace("inner <inner@localhost>\n"+r.stamp()) {
		return "", err
	}
	return commit, err
}
