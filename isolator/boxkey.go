package isolator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/proc"
	"github.com/enr/inner/profile"
)

// boxKey is what the box of a call is: everything that would be another box, and nothing that
// is the call's own. A call joins a box of its own key alone. b is a preview: what is made for
// one run has the same names in each.
func boxKey(b *Prepared, c Call) (string, error) {
	p, spec := b.Plan, b.Spec
	p.Program, p.Argv, p.Env, p.Dir, p.DirElse = "", nil, nil, "", ""
	spec.Env, spec.Cwd, spec.Entrypoint = profile.Env{}, "", profile.Entrypoint{}
	spec.Output.Timeout, spec.AskedTimeout = time.Duration(0), time.Duration(0)
	var files []string
	for _, f := range c.Profile.Files {
		files = append(files, f.Path, f.Digest)
	}
	about := struct {
		Version, Role string
		UID           int
		Files         []string
		Spec          profile.RunConfig
		Words         []string
		Plan          plan.Plan
		Reach         string
	}{b.Version, c.By.Role, os.Getuid(), files, spec, p.Words(), p, fmt.Sprint(b.Reach.Allow, b.Reach.Deny)}
	text, err := json.Marshal(about)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// stagedEnv are the variables that what is made for a run gives the box, in the place of those of a
// preview.
func stagedEnv(preview, made []string) map[string]string {
	shown, out := host.Environment(preview), host.Environment(made)
	maps.DeleteFunc(out, func(k, v string) bool {
		old, ok := shown[k]
		return ok && old == v
	})
	return out
}

// withEnv are variables with those of over in the place of their namesakes.
func withEnv(words []string, over map[string]string) []string {
	out := slices.Clone(words)
	for i, kv := range out {
		k, _, _ := strings.Cut(kv, "=")
		if v, ok := over[k]; ok {
			out[i] = k + "=" + v
		}
	}
	return out
}

// The kernel takes a mount away when what it is on is removed or renamed over outside. Where
// another file has come to that place since, a mask is gone, and nothing else has to differ:
// the file may have the same name, and the inode number of the old one. So the mounts that
// were made for a box have to be there, all of them, whenever a call joins it.

// ownMounts are those of a box's mounts that the host does not have itself: what somebody
// unmounts on the host goes in the box, too, and is no reason to end it.
func ownMounts(box []proc.Mount) ([]proc.Mount, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	host := proc.Mounts(text)
	return slices.DeleteFunc(box, func(m proc.Mount) bool { return slices.Contains(host, m) }), nil
}

// whole reports whether the box has all mounts that were made for it.
func (h *boxServer) whole() bool {
	now, err := h.calls.Mounts()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(h.mounts, func(m proc.Mount) bool { return !slices.Contains(now, m) })
}
