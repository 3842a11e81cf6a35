//go:build !programs

package innerbox

// A build by `go build` alone knows no programs.
var box, git program
