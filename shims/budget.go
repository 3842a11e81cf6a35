package shims

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/enr/inner/profile"
)

// What one look at a project spends on profiles that the user has not allowed.
// Every prompt and every command in the project looks, so a clone full of large
// profiles, or of links to one, must not keep them busy. What a person allowed is
// always read.
const (
	maxUnapprovedFiles = 64
	maxUnapprovedBytes = 2 << 20
	maxUnapprovedTime  = 300 * time.Millisecond
)

var errUnread = errors.New("it is not read")

// budget says which untrusted profiles of a project are read. The others are not
// valid: their commands refuse, and so does every agent, for a claim cannot be
// excluded.
type budget struct {
	start time.Time
	bytes int64
	seen  map[string]os.FileInfo // by path: the files that were read
}

// spend counts a file that is to be read, or says why it is not. A profile that is
// another name of one read before is passed over; what profiles extend may be shared.
func (b *budget) spend(path string, isProfile bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // reading it says what is wrong
	}
	for other, seen := range b.seen {
		if isProfile && other != path && os.SameFile(seen, info) {
			return fmt.Errorf("%w: it is the same file as %q", errUnread, filepath.Base(other))
		}
	}
	b.seen[path] = info
	b.bytes += info.Size()
	const why = "%w: the profiles of this project that are not allowed "
	switch {
	case len(b.seen) > maxUnapprovedFiles:
		return fmt.Errorf(why+"are more than %d files", errUnread, maxUnapprovedFiles)
	case b.bytes > maxUnapprovedBytes:
		return fmt.Errorf(why+"hold more than %d KiB", errUnread, maxUnapprovedBytes>>10)
	case time.Since(b.start) > maxUnapprovedTime:
		return fmt.Errorf(why+"take more than %v to read", errUnread, maxUnapprovedTime)
	}
	return nil
}

// reader reads the files of the untrusted profile at top, what it extends included.
// The user's own profiles are not counted.
func (b *budget) reader(top, global string) func(string) (profile.File, error) {
	return func(path string) (profile.File, error) {
		if filepath.Dir(path) != global {
			if err := b.spend(path, path == top); err != nil {
				return profile.File{}, fmt.Errorf("%q: %w", path, err)
			}
		}
		return profile.ReadFile(path)
	}
}
