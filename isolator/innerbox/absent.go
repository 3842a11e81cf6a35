//go:build !programs

package innerbox

// A build by `go build` alone carries no inner-box.
var program, digest string
