package handover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Files fetches the HEAD of a repository, and returns what reads its files, each of at most
// most bytes. Its objects are checked (fsck), nothing of it is checked out, and the returned
// func removes it.
func (g Git) Files(ctx context.Context, repo string, most int) (read func(name string) ([]byte, error), remove func(), err error) {
	dir, err := os.MkdirTemp("", "inner-head")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	at := filepath.Join(dir, "repo")
	if _, err = g.run(ctx, dir, "init", "--quiet", "--bare", at); err == nil {
		_, err = g.run(ctx, at, "-c", "fetch.fsckObjects=true", "fetch", "--quiet", "--no-tags", "--depth=1", "--", repo, "HEAD:refs/heads/head")
	}
	if err != nil {
		remove()
		return nil, nil, err
	}
	return func(name string) ([]byte, error) {
		size, err := g.run(ctx, at, "cat-file", "-s", "refs/heads/head:"+name)
		if err != nil {
			return nil, fmt.Errorf("%s has no %s", repo, name)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(size)); err != nil || n > most {
			return nil, fmt.Errorf("%s of %s is larger than %d KiB", name, repo, most>>10)
		}
		text, err := g.run(ctx, at, "cat-file", "blob", "refs/heads/head:"+name)
		return []byte(text), err
	}, remove, nil
}
