package main

import (
	"fmt"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/visible"
)

// Output follows the law of package tell. This package prints to stderr by a Teller; only lists
// below such a line, and what the consent shows, are printed without one.

// printable makes visible what could drive a terminal or deceive the reader: names and
// contents come from strangers.
func printable(s string) string { return visible.Text(s) }

// counted is a number of things, with the word for one or for many.
func counted(n int, one, many string) string { return fmt.Sprintf("%d %s", n, plural(n, one, many)) }

// quoted is a path as a word of a POSIX shell.
func quoted(path string) string { return quote.POSIX(path) }

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (a *app) printJSON(v any) error { return tell.JSON(a.stdout, v) }
