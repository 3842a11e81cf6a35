//go:build carries

package innerbox

import _ "embed"

// The programs, compressed by gzip. What is embedded is mapped, not read: it costs nothing until it is written.
var (
	//go:embed box.gz
	boxZip string
	//go:embed git.gz
	gitZip string
)
