package cli

import (
	"bytes"
	"testing"
)

// TestTable has columns, and nothing that drives a terminal.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	Table(&b, [][]string{{"A", "B"}, {"long\x1b[2J", "x"}})
	if b.String() != "A            B\nlong\\x1b[2J  x\n" {
		t.Errorf("%q", b.String())
	}
}
