package tell

import (
	"fmt"
	"os"
	"testing"
)

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
	fmt.Fprintln(out, "A")
	if Err(out) == nil {
		t.Error("no error")
	}
}
