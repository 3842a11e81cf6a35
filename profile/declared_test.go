package profile

import (
	"slices"
	"testing"
)

// A name that is not built in may be one that the user declares; the file that
// declares is only read then.
func TestDeclaredCapabilities(t *testing.T) {
	for _, c := range []struct {
		list, want string
		asked      bool
	}{
		{`["claude", "gemini"]`, "", false},
		{`["claude", "aider"]`, "", true},
		{`["aidre"]`, `/p.toml:2: capabilities: unknown name "aidre" (did you mean "aider"?)`, true},
		{`["claud"]`, `/p.toml:2: capabilities: unknown name "claud" (did you mean "claude"?)`, true},
	} {
		asked := false
		_, problems := parse(File{Path: "/p.toml", Data: []byte("schema_version = \"1\"\ncapabilities = " + c.list)}, func() []string {
			asked = true
			return []string{"aider"}
		})
		var got []string
		for _, p := range problems {
			got = append(got, p.Error())
		}
		if want := slices.DeleteFunc([]string{c.want}, func(s string) bool { return s == "" }); !slices.Equal(got, want) || asked != c.asked {
			t.Errorf("%s: %q, asked %t", c.list, got, asked)
		}
	}
}

// Writing a renewed login back is something a profile gives.
func TestSyncLoginIsAGrant(t *testing.T) {
	rc := RunConfig{Capabilities: []string{"claude"}, SyncLogin: true}
	if !slices.ContainsFunc(Grants(rc), func(g Grant) bool {
		return g.Kind == "login" && g.Text == "can replace the stored login by a newer one of: claude" && !g.Tightens
	}) {
		t.Errorf("no such grant: %+v", Grants(rc))
	}
}
