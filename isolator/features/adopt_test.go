package features

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enr/inner/isolator/caller"
)

// A copy that an inner left when it was killed is no part of what the next one brings.
func TestBringAfterKill(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	for _, p := range []string{from, from + ".own", filepath.Join(dir, "to")} {
		if err := os.Mkdir(p, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for p, text := range map[string]string{from + "/a": "new", from + ".own/a": "old", from + ".own/b": "old"} {
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	to, err := os.Open(filepath.Join(dir, "to"))
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	brought, err := Adoption{From: from, To: to, At: to.Name()}.Bring(t.Context(), &caller.Caller{InnerHome: dir})
	if err != nil || len(brought) != 1 {
		t.Fatalf("Bring = %q, %v", brought, err)
	}
	if text, err := os.ReadFile(filepath.Join(to.Name(), "a")); err != nil || string(text) != "new" {
		t.Errorf("brought %q, %v", text, err)
	}
	if _, err := os.Lstat(from + ".own"); err == nil {
		t.Error("the copy was left")
	}
}
