package export

import (
	"fmt"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile/strict"
)

// taskKeys are those of the file of --tasks.
func taskKeys() []strict.Key {
	return []strict.Key{{Name: "task", Kind: strict.Rows, Of: []strict.Key{{Name: "repo"}, {Name: "commit"}, {Name: "prompt"}}}}
}

// ReadTasks reads a file of tasks: one [[task]] for each run of the fleet, with the
// repository, the commit to begin at, and a prompt, which is the last argument of the program.
// Either all of them have a repository or none, and the same with the prompt.
func ReadTasks(path string, data []byte) ([]Task, error) {
	doc, problems := strict.Decode(path, data, taskKeys())
	if len(problems) > 0 {
		return nil, problems
	}
	refuse := func(format string, args ...any) error {
		return fault.Refuse(2, "", "--tasks %q: not a list of tasks: %s", path, fmt.Sprintf(format, args...))
	}
	var out []Task
	for _, row := range doc.Value("task").Items {
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
