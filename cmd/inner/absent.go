//go:build !carries

package main

import "github.com/enr/inner/shims"

// behindShims returns no program: a build by `go build` alone carries none, and its shims run a copy of
// itself.
func behindShims() shims.Program { return shims.Program{} }
