package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What tools outside obey is found at any depth that is looked at, and what settings of
// git name, also through an include of an include.
func TestObeyed(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	put := func(names ...string) {
		for _, name := range names {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(d, name)), 0o755))
			must(t, os.WriteFile(filepath.Join(d, name), nil, 0o644))
		}
	}
	put("app/pkg/.vscode/tasks.json", "app/.envrc", "app/a/b/c/d/e/.mcp.json", "app/node_modules/x/.envrc", "app/pkg/lefthook.yml", "app/Makefile", "app/tools/clean.sh", "app/tools/other.sh", "app/t.attributes", "app/.githooks/pre-commit",
		".bashrc", ".mcp.json", ".cargo/registry/x/.envrc", "other/.envrc", "app/mise.x.toml")
	must(t, os.WriteFile(filepath.Join(d, ".gitconfig"), []byte("[core]\n\tattributesFile = t.attributes\n[filter \"y\"]\n\tclean = tools/of-user.sh\n"), 0o644))
	git := func(args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = d+"/app", []string{"HOME=" + d, "PATH=/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	git("init", "-q", ".")
	git("config", "includeIf.onbranch:nowhere.path", "../one.conf")
	must(t, os.WriteFile(d+"/app/one.conf", []byte("[include]\n\tpath = two.conf\n"), 0o644))
	must(t, os.WriteFile(d+"/app/two.conf", []byte("[core]\n\thooksPath = .githooks\n[filter \"x\"]\n\tclean = ./tools/clean.sh %f\n[alias]\n\tx = !./tools/other.sh\n"), 0o644))
	short := func(list []string) string {
		var out []string
		for _, p := range list {
			out = append(out, strings.TrimPrefix(p, d+"/"))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	f := Probe(Request{Home: d, Writable: []string{d + "/app"}, Obeyed: []string{d + "/app"}, Env: []string{"HOME=" + d}})
	if got, want := short(f.Obeyed), "app/.envrc app/.githooks app/a/b/c/d/e/.mcp.json app/mise.x.toml app/pkg/.vscode"; got != want {
		t.Errorf("obeyed %q, want %q", got, want)
	}
	for _, p := range []string{"app/.githooks", "app/one.conf", "app/t.attributes", "app/tools/clean.sh", "app/tools/of-user.sh", "app/two.conf"} {
		if !slices.Contains(f.Named, filepath.Join(d, p)) {
			t.Errorf("%s is not among what git's settings name: %q", p, f.Named) // this computer's own settings may name more
		}
	}
	if strings.Contains(short(f.Named), "other.sh") {
		t.Error("an alias runs when somebody types it")
	}
	for _, p := range f.Obeyed {
		if f.Paths[p].Kind == "" {
			t.Errorf("nothing is known of %s", p)
		}
	}
	// In the home itself and its hidden folders is the state of programs.
	f = Probe(Request{Home: d, Writable: []string{d}, Obeyed: []string{d}, Env: []string{"HOME=" + d}})
	if got := short(f.Obeyed); strings.Contains(" "+got, " .") || !strings.Contains(got, "other/.envrc") {
		t.Errorf("of the home %q", got)
	}
	if f = Probe(Request{Home: d, Writable: []string{d + "/app"}}); len(f.Obeyed) > 0 {
		t.Errorf("not asked for: %q", f.Obeyed)
	}
	// What is missing of the folders of hooks and of further settings is to be made.
	must(t, os.RemoveAll(d+"/app/.githooks"))
	must(t, os.Remove(d+"/app/t.attributes"))
	f = Probe(Request{Home: d, Writable: []string{d + "/app"}, Env: []string{"HOME=" + d}})
	for _, want := range []Placeholder{{Path: d + "/app/.githooks"}, {Path: d + "/app/t.attributes", Content: []byte{}}} {
		if !slices.ContainsFunc(f.Later, func(p Placeholder) bool {
			return p.Path == want.Path && (p.Content == nil) == (want.Content == nil)
		}) {
			t.Errorf("%s is not to be made: %v", want.Path, f.Later)
		}
	}
}
