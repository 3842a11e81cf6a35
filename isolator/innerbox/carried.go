//go:build programs

package innerbox

import _ "embed"

// The programs, put here by `make build`, and the digests that they are named by. What is embedded is mapped, not
// read: it costs nothing until it is written.
var (
	//go:embed box.bin
	boxText string
	//go:embed box.sum
	boxDigest string
	//go:embed git.bin
	gitText string
	//go:embed git.sum
	gitDigest string

	box = program{"inner-box", boxText, boxDigest}
	git = program{"inner-git", gitText, gitDigest}
)
