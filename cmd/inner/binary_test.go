package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestNoExploits: the inner binary has no function of the attack suite. A Go binary names
// each of its functions, also a stripped one (runtime.pclntab).
func TestNoExploits(t *testing.T) {
	for name, want := range map[string]bool{"inner": false, "inner-attack": true} {
		data, err := os.ReadFile(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(data, []byte("enr/inner/isolator/verify/attack.")); got != want {
			t.Errorf("%s has functions of the attack suite: %t", name, got)
		}
	}
}

// TestStart: what is made at every start, also that of a shim and of a supervisor, is next to
// nothing. A pattern or a table is made when it is first asked for.
func TestStart(t *testing.T) {
	cmd := exec.Command(filepath.Join(os.Getenv("INNER_TEST_DIR"), "bin", "inner"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1") // runtime, "Environment Variables"
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := regexp.MustCompile(`(?m)^init (\S+) .* clock, (\d+) bytes, `).FindAllSubmatch(out, -1)
	if len(lines) == 0 {
		t.Fatalf("no package is named:\n%s", out)
	}
	for _, m := range lines {
		most := 16 << 10
		if string(m[1]) == "github.com/hanwen/go-fuse/v2/fuse" { // its table of operations
			most = 64 << 10
		}
		if bytes, err := strconv.Atoi(string(m[2])); err != nil || bytes > most {
			t.Errorf("%s makes %s bytes at each start", m[1], m[2])
		}
	}
}
