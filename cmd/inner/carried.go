//go:build programs

package main

import (
	_ "embed"

	"github.com/enr/inner/shims"
)

// shimProgram is cmd/inner-shim, put here by `make build`, and shimDigest what its version is. What is
// embedded is mapped, not read: it costs nothing until it is written.
//
//go:embed shim.bin
var shimProgram string

//go:embed shim.sum
var shimDigest string

// behindShims returns the program that belongs behind the shims.
func behindShims() shims.Program { return shims.Program{Bytes: shimProgram, Digest: shimDigest} }
