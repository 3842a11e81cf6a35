package features

import (
	"fmt"
)

// masks makes the file that masks are bound from.
func masks() Feature {
	return Feature{
		Name: "masks", Keys: []string{"sandbox.allow", "sandbox.hide"},
		Make: func(run *Run) (err error) {
			run.Assets.Empty, err = run.Folder.File("empty", nil, 0o444)
			return err
		},
	}
}

// counted is a number with the word for it.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
