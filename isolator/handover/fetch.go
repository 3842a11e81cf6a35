package handover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/enr/inner/isolator/changes"
	gitindex "github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/objects"
)

// maxText is the most bytes of files that one branch may change.
const maxText = 256 << 20

var fleetName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + fleetPattern + `$`) })

// Branches are those of one fleet, fetched into a repository of their own.
type Branches struct {
	List []Fetched // by index

	git  Git
	repo string
}

// Fetched is one result.
type Fetched struct {
	Ref    string // refs/heads/inner/FLEET/INDEX
	Commit string
	Base   string // where it left the history of the work tree
}

// Fetch brings the branches of a fleet from a repository, and the HEAD of the work tree dir, into a
// repository of its own, which Close removes. What is in them is a box's: the objects are
// checked as those of a box here are, and no branch of dir is touched.
func (g Git) Fetch(ctx context.Context, dir, from, fleet string) (_ *Branches, err error) {
	if !fleetName().MatchString(fleet) {
		return nil, fmt.Errorf("%q is not the name of a fleet: letters, digits and - in lower case", fleet)
	}
	at, err := os.MkdirTemp("", "inner-fetch")
	if err != nil {
		return nil, err
	}
	b := &Branches{git: g, repo: filepath.Join(at, "repo")}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if _, err = g.run(ctx, at, "init", "--quiet", "--bare", b.repo); err != nil {
		return nil, err
	}
	if _, err = g.run(ctx, b.repo, "fetch", "--quiet", "--no-tags", "--", dir, "HEAD:refs/base/head"); err != nil {
		return nil, err
	}
	person := g
	person.Person = true
	fetch := append(objects.Fsck(), "fetch", "--quiet", "--no-tags", "--", from, "refs/heads/inner/"+fleet+"/*:refs/result/*")
	if _, err = person.run(ctx, b.repo, fetch...); err != nil {
		return nil, err
	}
	refs, err := g.run(ctx, b.repo, "for-each-ref", "--format=%(refname:lstrip=2) %(objecttype) %(objectname)", "refs/result/")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(refs) {
		part := strings.Fields(line)
		if len(part) != 3 {
			return nil, fmt.Errorf("git for-each-ref says %q", line)
		}
		ref := "refs/heads/inner/" + fleet + "/" + part[0]
		if part[1] != "commit" || !published().MatchString(ref) {
			return nil, fmt.Errorf("%q is not a branch that inner publish makes", ref)
		}
		base, err := g.run(ctx, b.repo, "merge-base", "refs/base/head", part[2])
		if err != nil {
			return nil, fmt.Errorf("%s has no commit in common with the HEAD of %s", ref, dir)
		}
		b.List = append(b.List, Fetched{ref, part[2], strings.TrimSpace(base)})
	}
	slices.SortFunc(b.List, func(x, y Fetched) int { return index(x.Ref) - index(y.Ref) })
	return b, nil
}

func index(ref string) int {
	n, _ := strconv.Atoi(filepath.Base(ref)) // it matched published
	return n
}

// Close removes what was fetched.
func (b *Branches) Close() { _ = os.RemoveAll(filepath.Dir(b.repo)) }

// Versions returns the files that a branch changes, as they were at its base and as they are in it.
// A path that no work tree may have, a submodule, and more than 256 MiB are errors.
func (b *Branches) Versions(ctx context.Context, of Fetched) ([]changes.Version, error) {
	raw, err := b.git.run(ctx, b.repo, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", of.Base, of.Commit)
	if err != nil {
		return nil, err
	}
	var out []changes.Version
	left := maxText
	fields := strings.Split(strings.TrimSuffix(raw, "\x00"), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		part := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(part) != 5 {
			return nil, fmt.Errorf("git diff-tree says %q", fields[i])
		}
		v := changes.Version{Path: fields[i+1]}
		if !gitindex.GoodPath(v.Path, 0o100644) {
			return nil, fmt.Errorf("%s: the path %q may be in no work tree", of.Ref, v.Path)
		}
		if v.BaseMode, v.Base, err = b.blob(ctx, part[0], part[2], &left); err == nil {
			v.Mode, v.Data, err = b.blob(ctx, part[1], part[3], &left)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", of.Ref, v.Path, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// blob is one side of a line of diff-tree. left is how many bytes may follow.
func (b *Branches) blob(ctx context.Context, mode, object string, left *int) (fs.FileMode, []byte, error) {
	modes := map[string]fs.FileMode{"100644": 0o644, "100755": 0o755, "120000": fs.ModeSymlink | 0o777}
	m, known := modes[mode]
	switch {
	case mode == "000000":
		return 0, nil, nil
	case !known:
		return 0, nil, fmt.Errorf("its mode %s is not one of a file or a link", mode)
	}
	size, err := b.git.run(ctx, b.repo, "cat-file", "-s", object)
	if err != nil {
		return 0, nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(size))
	if *left -= n; err != nil || *left < 0 {
		return 0, nil, errors.New("the branch changes more than 256 MiB of files")
	}
	text, err := b.git.run(ctx, b.repo, "cat-file", "blob", object)
	return m, []byte(text), err
}

// Remote returns the address of a remote of the work tree dir, as git has it.
func (g Git) Remote(ctx context.Context, dir, name string) (string, error) {
	out, err := g.run(ctx, dir, "config", "--get", "remote."+name+".url")
	if url := strings.TrimSpace(out); err == nil && url != "" {
		return url, nil
	}
	return "", fmt.Errorf("%s has no remote %q", dir, name)
}

// Top returns the top of the work tree that dir lies in.
func (g Git) Top(ctx context.Context, dir string) (string, error) {
	out, err := g.run(ctx, dir, "rev-parse", "--show-toplevel")
	return strings.TrimSuffix(out, "\n"), err
}
