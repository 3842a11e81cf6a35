package profile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// @toolchains is what is there, where a variable has moved it, and that variable.
func TestToolchains(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{".local/bin", ".nvm", "moved/pyenv", "cargo/bin", "secret"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"PYENV_ROOT": home + "/moved/pyenv", "CARGO_HOME": home + "/cargo", "RUSTUP_HOME": "/opt/rust", "NVM_DIR": home, "GOROOT": "go"}
	r := &resolver{c: Context{Home: home, Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}}
	folders, variables := r.toolchains()
	if want := []string{home + "/.local/bin", home + "/.nvm", home + "/moved/pyenv", home + "/cargo/bin"}; !slices.Equal(folders, want) {
		t.Errorf("folders %q, want %q", folders, want)
	}
	if want := []string{"PYENV_ROOT", "RUSTUP_HOME"}; !slices.Equal(variables, want) {
		t.Errorf("variables %q, want %q", variables, want)
	}
}

// A program may resolve a profile without an environment.
func TestToolchainsWithoutEnvironment(t *testing.T) {
	w, p := resolveWorld(t, "[sandbox]\nhome = \"isolated\"\nhome_allow = [\"@toolchains\"]")
	ctx := w.context()
	ctx.Lookup = nil
	_, err := p.Resolve(ctx)
	must(t, err)
}
