//go:build programs

package isolator

// inner-git serves git directories, and nothing else of inner links what that needs.
const servesGit = false

func serveGit([]string) int { return 2 }
