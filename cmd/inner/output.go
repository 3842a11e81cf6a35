package main

import (
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/tell"
	"github.com/enr/inner/internal/visible"
)

// Output follows the law of package tell. Nothing else in this package prints to stderr,
// but for lists below a line that tell has printed.

// printable makes visible what could drive a terminal or deceive who reads: names and
// contents come from strangers.
func printable(s string) string { return visible.Text(s) }

func quoted(path string) string { return quote.POSIX(path) }

func (a *app) printJSON(v any) error { return tell.JSON(a.stdout, v) }
