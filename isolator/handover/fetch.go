package handover

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	gitindex "github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/review"
)

// maxText is the most bytes of files that one branch may change.
const maxText = 256 << 20

// Branches are those of one fleet, fetched into a repository of their own, which Close removes.
type Branches struct {
	store
	List []Fetched // by index
}

// Fetched is one result.
type Fetched struct {
	Ref    string // refs/heads/inner/FLEET/INDEX
	Commit string
	Base   string // where it left the history of the work tree
}

// Fetch brings the branches of a fleet from a repository, and the HEAD of the work tree dir, into a
// repository of its own. What is in them is a box's: the objects are
// checked as those of a box here are, and no branch of dir is touched.
func (g Git) Fetch(ctx context.Context, dir, from, fleet string) (*Branches, error) {
	if !published().MatchString("refs/heads/inner/" + fleet + "/0") {
		return nil, fmt.Errorf("%q is not the name of a fleet: letters, digits and - in lower case", fleet)
	}
	s, err := g.store(ctx)
	if err != nil {
		return nil, err
	}
	b := &Branches{store: s}
	if err := b.fill(ctx, dir, from, fleet); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

func (b *Branches) fill(ctx context.Context, dir, from, fleet string) error {
	if err := b.fetch(ctx, b.Git, "--", dir, "HEAD:refs/base/head"); err != nil {
		return err
	}
	person := b.checked()
	person.person = true
	if err := b.fetch(ctx, person, "--", from, "refs/heads/inner/"+fleet+"/*:refs/result/*"); err != nil {
		return err
	}
	refs, err := b.run(ctx, b.dir, "for-each-ref", "--sort=version:refname", "--format=%(objectname) refs/heads/inner/"+fleet+"/%(refname:lstrip=2)", "refs/result/")
	for line := range strings.Lines(refs) {
		commit, ref, _ := strings.Cut(strings.TrimSpace(line), " ")
		if !published().MatchString(ref) {
			return fmt.Errorf("%q is not a branch that inner publish makes", ref)
		}
		base, err := b.word(ctx, b.dir, "merge-base", "refs/base/head", commit)
		if err != nil {
			return fmt.Errorf("%s has no commit in common with the HEAD of %s", ref, dir)
		}
		b.List = append(b.List, Fetched{ref, commit, base})
	}
	return err
}

// Versions returns the files that a branch changes, as they were at its base and as they are in it.
// A path that no work tree may have, a submodule, and more than 256 MiB are errors.
func (b *Branches) Versions(ctx context.Context, of Fetched) (out []review.Version, err error) {
	raw, err := b.run(ctx, b.dir, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", of.Base, of.Commit)
	if err != nil {
		return nil, err
	}
	left := maxText
	// :MODE MODE OBJECT OBJECT KIND NUL PATH NUL
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		part := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(part) != 5 {
			return nil, fmt.Errorf("git diff-tree says %q", fields[i])
		}
		v := review.Version{Path: fields[i+1]}
		if !gitindex.GoodPath(v.Path, 0o100644) {
			return nil, fmt.Errorf("%s: the path %q may be in no work tree", of.Ref, v.Path)
		}
		if v.BaseMode, v.Base, err = b.side(ctx, part[0], part[2], &left); err == nil {
			v.Mode, v.Data, err = b.side(ctx, part[1], part[3], &left)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", of.Ref, v.Path, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// side is one side of a line of diff-tree. left is how many bytes may follow.
func (b *Branches) side(ctx context.Context, mode, object string, left *int) (fs.FileMode, []byte, error) {
	modes := map[string]fs.FileMode{"000000": 0, "100644": 0o644, "100755": 0o755, "120000": fs.ModeSymlink | 0o777}
	m, known := modes[mode]
	switch {
	case !known:
		return 0, nil, fmt.Errorf("its mode %s is not one of a file or a link", mode)
	case m == 0:
		return 0, nil, nil
	}
	data, err := b.blob(ctx, object, *left)
	*left -= len(data)
	return m, data, err
}

// Remote returns the address of a remote of the work tree dir, which is its name, or the address itself.
func (g Git) Remote(ctx context.Context, dir, name string) (string, error) {
	return g.word(ctx, dir, "ls-remote", "--get-url", "--", name)
}

// Top returns the top of the work tree that dir lies in.
func (g Git) Top(ctx context.Context, dir string) (string, error) {
	out, err := g.run(ctx, dir, "rev-parse", "--show-toplevel")
	return strings.TrimSuffix(out, "\n"), err
}
