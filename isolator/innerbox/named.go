//go:build programs

package innerbox

import _ "embed"

// The programs of this build, by what `make build` says of them: the digest that their files are named by, and their
// size. cmd/inner alone carries the programs themselves.
var (
	//go:embed box.sum
	boxSum string
	//go:embed git.sum
	gitSum string

	box = program{"inner-box", boxZip, boxSum}
	git = program{"inner-git", gitZip, gitSum}
)
