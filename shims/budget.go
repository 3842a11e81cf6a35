package shims

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/enr/inner/profile"
)

// What one look at a project spends on profiles that the user has not allowed.
// Every prompt and every command in the project looks, so a clone full of large
// profiles must not keep them busy. What a person allowed is always read.
const (
	maxUnapprovedFiles = 64
	maxUnapprovedBytes = 2 << 20
)

var errUnread = errors.New("it is not read")

// budget is what was read of untrusted profiles of a project. The profiles that are above it are not
// valid: their commands refuse, and so does every agent, for a claim cannot be
// excluded.
type budget struct{ files, bytes int }

// reader reads the files of an untrusted profile, what it extends included.
// The user's own profiles are not counted.
func (b *budget) reader(global string) func(string) (profile.File, error) {
	return func(path string) (profile.File, error) {
		if filepath.Dir(path) == global {
			return profile.ReadFile(path)
		}
		var file profile.File
		var err error
		if b.files++; b.files <= maxUnapprovedFiles && b.bytes <= maxUnapprovedBytes {
			file, err = profile.ReadFile(path)
			b.bytes += len(file.Data)
		}
		const why = "%q: %w: the profiles of this project that are not allowed "
		switch {
		case b.files > maxUnapprovedFiles:
			err = fmt.Errorf(why+"are more than %d files", path, errUnread, maxUnapprovedFiles)
		case b.bytes > maxUnapprovedBytes:
			err = fmt.Errorf(why+"hold more than %d KiB", path, errUnread, maxUnapprovedBytes>>10)
		}
		if err != nil {
			return profile.File{}, err
		}
		return file, nil
	}
}
