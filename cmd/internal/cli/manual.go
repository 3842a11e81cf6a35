//go:build manual

package cli

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Manual writes the manual page of a command, and those of the commands below it, into a folder. Nothing of it is in
// the binaries.
func Manual(c *cobra.Command, version, dir string) error {
	c.DisableAutoGenTag = true // it would name the day
	seconds, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	date := time.Unix(seconds, 0).UTC()
	return doc.GenManTree(c, &doc.GenManHeader{Section: "1", Source: "inner " + version, Manual: "inner", Date: &date}, dir)
}
