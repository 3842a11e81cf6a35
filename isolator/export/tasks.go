package export

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile/strict"
)

// taskFile is the file of --tasks.
type taskFile struct {
	Task strict.Tables[taskRow] `toml:"task"`
}

type taskRow struct {
	Repo   strict.String `toml:"repo"`
	Commit strict.String `toml:"commit"`
	Prompt strict.String `toml:"prompt"`
}

// ReadTasks reads a file of tasks: one [[task]] for each run of the fleet, with the
// repository, the commit to begin at, and a prompt, which is the last argument of the program.
// Either all of them have a repository or none, and the same with the prompt.
func ReadTasks(path string, data []byte) ([]Task, error) {
	var f taskFile
	if problems := strict.Decode(path, data, &f); len(problems) > 0 {
		return nil, problems
	}
	refuse := func(format string, args ...any) error {
		return fault.Refuse(2, "", "--tasks %q: not a list of tasks: %s", path, fmt.Sprintf(format, args...))
	}
	var out []Task
	for _, row := range f.Task.Items {
		commit, _ := row.Get("commit")
		prompt, _ := row.Get("prompt")
		repo, _ := row.Get("repo")
		out = append(out, Task{Repo: repo.Text, Commit: commit.Text, Prompt: prompt.Text})
	}
	if len(out) == 0 {
		return nil, refuse("there is no [[task]]")
	}
	for i, t := range out {
		if (t.Repo == "") != (out[0].Repo == "") || (t.Repo == "") != (t.Commit == "") {
			return nil, refuse("task %d: all tasks have repo and commit, or none has", i)
		}
		if (t.Prompt == "") != (out[0].Prompt == "") {
			return nil, refuse("task %d: all tasks have a prompt, or none has", i)
		}
	}
	return out, nil
}
