// Package lazy has what is made when it is first asked for: what a package makes at its start costs every start
// of inner.
package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns what compiles an expression once.
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
