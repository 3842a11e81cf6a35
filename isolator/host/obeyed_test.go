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
	must(t, os.MkdirAll(d+"/app/.git/hooks", 0o755))
	for link, to := range map[string]string{"hooks/pre-push": "../../tools/hook.sh", "hooks/post-commit": "../../tools/to-come.sh", "hooks/own": "../description", "info/attributes": d + "/app/info"} {
		must(t, os.Symlink(to, d+"/app/.git/"+link))
	}
	put("app/tools/hook.sh", "app/info")
	short := func(list []string) string {
		var out []string
		for _, p := range list {
			out = append(out, strings.TrimPrefix(p, d+"/"))
		}
		slices.Sort(out)
		return strings.Join(out, " ")
	}
	f := Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=" + d})}), Request{Writable: []string{d + "/app"}, Obeyed: []string{d + "/app"}})
	if got, want := short(f.Obeyed), "app/.envrc app/.githooks app/a/b/c/d/e/.mcp.json app/mise.x.toml app/pkg/.vscode"; got != want {
		t.Errorf("obeyed %q, want %q", got, want)
	}
	for _, p := range []string{"app/.githooks", "app/one.conf", "app/t.attributes", "app/tools/clean.sh", "app/tools/of-user.sh", "app/two.conf", "app/tools/hook.sh", "app/tools/to-come.sh", "app/info"} {
		if !slices.Contains(f.Named, filepath.Join(d, p)) {
			t.Errorf("%s is not among what git's settings name: %q", p, f.Named) // this computer's own settings may name more
		}
	}
	if strings.Contains(short(f.Named), "/.git/") {
		t.Errorf("of the git folder itself: %q", f.Named)
	}
	if strings.Contains(short(f.Named), "other.sh") {
		t.Error("an alias runs when somebody types it")
	}
	for _, p := range f.Obeyed {
		if f.Look(p).Kind == Missing {
			t.Errorf("nothing is known of %s", p)
		}
	}
	// In the home itself and its hidden folders is the state of programs.
	f = Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=" + d})}), Request{Writable: []string{d}, Obeyed: []string{d}})
	if got := short(f.Obeyed); strings.Contains(" "+got, " .") || !strings.Contains(got, "other/.envrc") {
		t.Errorf("of the home %q", got)
	}
	if f = Probe(Begin(Facts{Home: d}), Request{Writable: []string{d + "/app"}}); len(f.Obeyed) > 0 {
		t.Errorf("not asked for: %q", f.Obeyed)
	}
	// What is missing of the folders of hooks and of further settings is to be made.
	must(t, os.RemoveAll(d+"/app/.githooks"))
	must(t, os.Remove(d+"/app/t.attributes"))
	f = Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=" + d})}), Request{Writable: []string{d + "/app"}})
	for _, want := range []Placeholder{{Path: d + "/app/.githooks"}, {Path: d + "/app/t.attributes", Content: []byte{}}} {
		if !slices.ContainsFunc(f.Later, func(p Placeholder) bool {
			return p.Path == want.Path && (p.Content == nil) == (want.Content == nil)
		}) {
			t.Errorf("%s is not to be made: %v", want.Path, f.Later)
		}
	}
}

// Links of start-up files, in start-up folders and of what settings of git name are followed to
// what the box can write, there or not; other links are nobody's business.
func TestObeyedLinks(t *testing.T) {
	d, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, dir := range []string{"app/hooks", "app/tree", "other", "fish/conf.d", "fish/.git", "tools"} {
		must(t, os.MkdirAll(filepath.Join(d, dir), 0o755))
	}
	for _, f := range []string{"app/config.fish", "app/hook", "app/fsm", "other/file"} {
		must(t, os.WriteFile(filepath.Join(d, f), nil, 0o644))
	}
	for link, to := range map[string]string{
		".zshrc": "app/zshrc", ".zlogin": "other/none", "fish/config.fish": "../app/config.fish", "fish/conf.d/all": "../../app", "fish/conf.d/none": "../../app/none", "fish/other": "../other/file",
		"fish/own": "conf.d", "fish/.git/hook": "../../app/hook", "fish/between": "../app/between", "app/between": "../other/file",
		"tools/hooks": "../app/hooks", "app/hooks/pre-commit": "../hook", "tools/fsm": "../app/way/fsm", "app/way": ".", "tools/include": "../app/include",
	} {
		must(t, os.Symlink(to, filepath.Join(d, link)))
	}
	must(t, os.WriteFile(d+"/.gitconfig", []byte("[core]\n\thooksPath = ~/tools/hooks\n\tfsmonitor = ~/tools/fsm\n[include]\n\tpath = ~/tools/include\n[alias]\n\tx = !~/tools/hooks/x\n"), 0o644))
	under := func(list []string) []string {
		out := []string{}
		for _, p := range list {
			if rest, ok := strings.CutPrefix(p, d+"/"); ok { // this computer's own settings may name more
				out = append(out, rest)
			}
		}
		slices.Sort(out)
		return out
	}
	startup := []string{d + "/.zshrc", d + "/.zlogin", d + "/fish"}
	f := Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=" + d})}), Request{Startup: startup, Writable: []string{d + "/app"}})
	if got, want := under(f.Startup), []string{".zshrc", "fish/between", "fish/conf.d/all", "fish/conf.d/none", "fish/config.fish"}; !slices.Equal(got, want) {
		t.Errorf("of start-up files %q, want %q", got, want)
	}
	if got, want := under(f.Named), []string{"app/fsm", "app/hook", "app/hooks", "app/include", "tools/fsm", "tools/hooks/pre-commit"}; !slices.Equal(got, want) {
		t.Errorf("named by git %q, want %q", got, want)
	}
	if !slices.ContainsFunc(f.Later, func(p Placeholder) bool { return p.Path == d+"/app/include" && p.Content != nil }) {
		t.Errorf("what an include leads to is not to be made: %v", f.Later)
	}
	if f.Look(d+"/.zshrc").Link != d+"/app/zshrc" || f.Look(d+"/fish/config.fish").Real != d+"/app/config.fish" {
		t.Error("nothing is known of them")
	}
	f = Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=Core.HooksPath", "GIT_CONFIG_VALUE_0=" + d + "/app/variable", "GIT_TEMPLATE_DIR=" + d + "/app/tree"})}), Request{Writable: []string{d + "/app"}})
	if got, want := under(f.Named), []string{"app/tree", "app/variable"}; !slices.Equal(got, want) {
		t.Errorf("named by variables %q, want %q", got, want)
	}
	f = Probe(Begin(Facts{Home: d, Env: Environment([]string{"HOME=" + d})}), Request{Startup: startup, Writable: []string{d + "/tools"}})
	if len(f.Startup) > 0 {
		t.Errorf("%q leads to what the box cannot write", f.Startup)
	}
}
