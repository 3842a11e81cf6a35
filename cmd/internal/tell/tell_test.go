package tell

import (
	"bytes"
	"os"
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

// TestErr keeps what went wrong.
func TestErr(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	out := To(full)
	if Err(out) != nil {
		t.Error("an error before anything was printed")
	}
	Table(out, [][]string{{"A"}})
	if Err(out) == nil {
		t.Error("no error")
	}
}
