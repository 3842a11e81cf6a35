package shared

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing may follow an index: another reader might take it for a part of it.
func TestParseReadsToTheEnd(t *testing.T) {
	text := string(Index{Schema: 1, Name: "team", Version: 1}.Bytes())
	if _, err := Parse([]byte(text)); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"{}", "x", "}", "]"} {
		if _, err := Parse([]byte(text + more)); err == nil || !strings.Contains(err.Error(), "something follows the index") {
			t.Errorf("%q after an index: %v", more, err)
		}
	}
}

func TestReadKnownFaults(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema": 2}`: "schema is 2, this version of inner reads only 1",
		`{`:             "unexpected end of JSON input",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "publishers"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadKnown(dir); err == nil || !strings.HasSuffix(err.Error(), ": "+want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
