//go:build !programs

package isolator

import "github.com/enr/inner/isolator/git/share"

// A build by `go build` alone carries no inner-git (isolator/innerbox): it serves git directories itself.
const servesGit = true

func serveGit(args []string) int { return share.Run(args) }
