//go:build programs

package run

// serveGit refuses: inner-git serves git directories, and nothing else of inner links what that needs. Where inner-git
// cannot be executed, the box has a clone.
func serveGit() int { return 2 }
