package git

import (
	"encoding/hex"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/git/program"
)

// Tracked is what the host's git has for files of a work tree: by the path of each, "MODE OBJECT".
type Tracked map[string][]string

// Heads returns what HEAD of the work tree at top has of files in it, by their paths. What cannot be had is not there.
func Heads(name, top string, list []string) map[string][]byte {
	out := map[string][]byte{}
	var names []string
	list = slices.DeleteFunc(slices.Clone(list), func(p string) bool { return strings.Contains(p, "\n") })
	for _, p := range list {
		rest, _ := paths.Rest(top, p)
		names = append(names, "HEAD:"+rest)
	}
	_ = program.Contents(program.Command(name, "-C", top), names, math.MaxInt32, func(i int, kind string, data []byte) error {
		if kind == "blob" {
			out[list[i]] = data
		}
		return nil
	})
	return out
}

// Contains reports whether the history of a commit has another. When in doubt it has not.
func Contains(name, dir, commit, earlier string) bool {
	_, err := program.Output(program.Soon, program.Command(name, "-C", dir, "merge-base", "--is-ancestor", "--", earlier, commit))
	return err == nil
}

// TrackedAt asks the index of a work tree for what it has at a path in it, and below that. Nothing that a
// repository's configuration names is run. What cannot be had is not there.
func TrackedAt(name string, r *Repo, place string) Tracked {
	out := Tracked{}
	text, _ := program.Output(program.Soon, program.Command(name, "-C", r.Top, "--git-dir="+r.Dir, "--work-tree="+r.Top, "ls-files", "-s", "-z", "--", place))
	for line := range strings.SplitSeq(text, "\x00") {
		if about, path, ok := strings.Cut(line, "\t"); ok {
			fields, at := strings.Fields(about), filepath.Join(r.Top, path)
			out[at] = append(out[at], fields[0]+" "+fields[1])
		}
	}
	return out
}

// Has reports whether git has these bytes for the file at a path. A filter, as of line ends, makes
// others of them.
func (t Tracked) Has(path string, data []byte, executable bool) bool {
	for _, entry := range t[path] {
		mode, object, _ := strings.Cut(entry, " ")
		id := index.BlobID(data)
		if object == hex.EncodeToString(id[:]) && (mode == "100755" || mode == "100644" && !executable) {
			return true
		}
	}
	return false
}
