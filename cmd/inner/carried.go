//go:build carries

package main

import (
	_ "embed"

	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/shims"
)

// shimZip is cmd/inner-shim, compressed by gzip and put here by `make build`, and shimSum a line with its digest and
// size. What is embedded is mapped, not read: it costs nothing until it is written.
//
//go:embed shim.gz
var shimZip string

//go:embed shim.sum
var shimSum string

// behindShims returns the program that belongs behind the shims, with what it needs beside itself.
func behindShims() shims.Program {
	return shims.Program{Zip: shimZip, Sum: shimSum, Lacks: innerbox.Lacks, Write: func(folder string) {
		innerbox.Box(folder)
		innerbox.Git(folder)
	}, RemoveOld: innerbox.RemoveOld}
}
