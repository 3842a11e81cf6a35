//go:build !programs

package run

import "github.com/enr/inner/isolator/git/share"

// serveGit serves git directories: a build by `go build` alone carries no inner-git (isolator/innerbox).
func serveGit() int { return share.Run() }
