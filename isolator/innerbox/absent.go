//go:build !programs

package innerbox

// A build by `go build` alone carries no programs.
var box, git program
