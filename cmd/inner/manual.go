//go:build manual

package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

var version = "dev"

// main writes the manual page of each command into a folder. It stands in the
// place of inner's own main for `go run -tags manual ./cmd/inner FOLDER`:
// nothing of it is in the binary.
func main() {
	a := appOf("", "")
	root := a.tree(false)
	root.DisableAutoGenTag = true // it would name the day
	// inner completes by scripts of its own, and cobra adds a help command later.
	for _, c := range root.Commands() {
		c.DisableAutoGenTag = true
	}
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	date := time.Unix(seconds, 0).UTC()
	if err := manual(root, date, os.Args[len(os.Args)-1]); err != nil {
		a.Fail(err)
		os.Exit(1)
	}
}

func manual(root *cobra.Command, date time.Time, dir string) error {
	return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "inner " + version, Manual: "inner", Date: &date}, dir)
}
