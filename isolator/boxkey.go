package isolator

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/enr/inner/isolator/plan"
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
	shown, out := envMap(preview), map[string]string{}
	for k, v := range envMap(made) {
		if old, ok := shown[k]; !ok || old != v {
			out[k] = v
		}
	}
	return out
}

func envMap(words []string) map[string]string {
	out := make(map[string]string, len(words))
	for _, kv := range words {
		k, v, _ := strings.Cut(kv, "=")
		out[k] = v
	}
	return out
}

// withEnv are variables with those of over in the place of their namesakes.
func withEnv(words []string, over map[string]string) []string {
	var out []string
	for _, kv := range words {
		k, _, _ := strings.Cut(kv, "=")
		if v, ok := over[k]; ok {
			kv = k + "=" + v
		}
		out = append(out, kv)
	}
	return out
}
