package git

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
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
	var ask strings.Builder
	for _, p := range list {
		if rest, _ := paths.Rest(top, p); !strings.Contains(rest, "\n") {
			ask.WriteString("HEAD:" + rest + "\n")
		}
	}
	cmd := program.Command(name, "-C", top, "cat-file", "--batch=%(objecttype) %(objectsize)")
	cmd.Stdin = strings.NewReader(ask.String())
	text, _ := cmd.Output()
	in := bufio.NewReader(bytes.NewReader(text))
	for _, p := range list {
		var kind string
		var size int
		line, err := in.ReadString('\n')
		if n, _ := fmt.Sscanf(line, "%s %d\n", &kind, &size); err != nil || strings.HasSuffix(line, " missing\n") || n != 2 || size > len(text) {
			continue
		}
		data := make([]byte, size+1) // and a line feed
		if _, err := io.ReadFull(in, data); err == nil && kind == "blob" {
			out[p] = data[:size]
		}
	}
	return out
}

// Contains reports whether the history of a commit has another. When in doubt it has not.
func Contains(name, dir, commit, earlier string) bool {
	return program.Command(name, "-C", dir, "merge-base", "--is-ancestor", "--", earlier, commit).Run() == nil
}

// TrackedAt asks the index of a work tree for what it has at a path in it, and below that. Nothing that a
// repository's configuration names is run. What cannot be had is not there.
func TrackedAt(name string, r *Repo, place string) Tracked {
	out := Tracked{}
	text, _ := program.Command(name, "-C", r.Top, "--git-dir="+r.Dir, "--work-tree="+r.Top, "ls-files", "-s", "-z", "--", place).Output()
	for line := range strings.SplitSeq(string(text), "\x00") {
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
