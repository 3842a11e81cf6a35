package features

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/isolator/launch"
)

// environment is what the box has of the variables. The plan has it,
// but for certificates that variables name.
func environment() Feature {
	said := false
	return Feature{
		Name: "environment", Keys: []string{"env"}, Make: trusting,
		Start: func(run *Run, _ *launch.Options) {
			if text := unseen(run); text != "" && run.Mode == Program && !said {
				run.Say("%s", text)
				said = true
			}
		},
	}
}

// unseen names a folder of PATH that the box does not have: what runs in the place of its programs
// is another one of that name, without a word.
func unseen(run *Run) string {
	for _, dir := range run.Plan.Unseen {
		entries, _ := os.ReadDir(dir) // what cannot be listed is not missed
		i := slices.IndexFunc(entries, func(e os.DirEntry) bool {
			return !e.IsDir() && filepath.Join(dir, e.Name()) != run.Plan.Program // which comes along
		})
		if i < 0 {
			continue
		}
		name := entries[i].Name()
		which := run.Spec.Name
		if filepath.Base(filepath.Dir(run.Spec.Path)) != "profiles" {
			which = run.Short(run.Spec.Path)
		}
		how := fmt.Sprintf("inner why -p %s %s", which, run.Short(filepath.Join(dir, name)))
		if run.Spec.System == nil {
			how = `"@system" = "ro" under [mounts] shows it`
		}
		return fmt.Sprintf("not in the sandbox: %s of your PATH, where %s is: %s", run.Short(dir), name, how)
	}
	return ""
}
