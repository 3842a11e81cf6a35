//go:build programs

package innerbox

import _ "embed"

// program is cmd/inner-box, put here by `make build`, and digest what it is named by. What is
// embedded is mapped, not read: it costs nothing until it is written.
//
//go:embed program.bin
var program string

//go:embed program.sum
var digest string
