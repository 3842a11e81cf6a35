package sensitive

import (
	"strings"
	"testing"
)

// The table is well-formed: names are relative and have one star at most, each stands in
// one row, and every row says whose it is.
func TestRows(t *testing.T) {
	seen := map[string]string{}
	for _, r := range Rows() {
		if r.Tool == "" || len(r.Names) == 0 || r.Told && (r.Made || r.Where == Home) {
			t.Errorf("row %+v", r)
		}
		for _, n := range r.Names {
			if n == "" || n[0] == '/' || strings.Contains(n, "..") || strings.Count(n, "*") > 1 || strings.ContainsAny(n, `?[\`) || strings.Contains(strings.TrimSuffix(n, "/"), "*/") {
				t.Errorf("%q is no name that is understood", n)
			}
			key := strings.ToLower(strings.TrimSuffix(n, "/"))
			if r.Where == Home {
				key = "~/" + key
			}
			if was, twice := seen[key]; twice {
				t.Errorf("%q is of %s and of %s", n, was, r.Tool)
			}
			seen[key] = r.Tool
			if r.Made && !strings.HasSuffix(n, "/") {
				t.Errorf("%q is made, and no folder", n)
			}
		}
	}
}

func TestBelow(t *testing.T) {
	for p, want := range map[string]string{
		".envrc": "direnv", "a/b/.envrc": "direnv", ".envrc.local": "direnv", ".ENVRC": "direnv", ".envrc.inner-held": "", ".envrc.inner-held.2": "", ".envrc.inner-held.2x": "direnv", "x.inner-held/.envrc": "direnv", "x.inner-held.code-workspace": "VS Code", ".envrcx": "",
		"mise.toml": "mise", "mise.local.toml": "mise", ".mise.prod.toml": "mise", ".config/mise/conf.d/a.toml": "mise", "pkg/.config/mise.toml": "mise", "config/mise.toml": "mise", "mise/config.toml": "mise", "premise/config.toml": "",
		"pkg/.vscode/tasks.json": "VS Code", "pkg/.vscode/": "VS Code", ".vscode": "", "x.code-workspace": "VS Code", ".code-workspace": "",
		"pkg/.claude/settings.json": "agents", "pkg/.husky/pre-commit": "husky", ".mcp.json": "agents", "mcp.json": "", ".github/hooks/x.json": "agents", "github/hooks/x.json": "",
		"lefthook.yml": "lefthook", "lefthook-local.yaml": "lefthook", "pkg/lefthook.yml": "", "repo/lefthook.yml": "lefthook", ".gitmodules": "git", "repo/.gitmodules": "git", "pkg/.gitmodules": "",
		".zed/tasks.json": "Zed", ".pre-commit-config.yaml": "pre-commit", ".cargo/config.toml": "cargo", "a/.cargo/config.toml": "cargo", "config.toml": "", ".hg/hgrc": "Mercurial", ".hg/store": "",
		".yarn/releases/yarn.cjs": "yarn", ".yarn/cache/x.zip": "", "tools/bazel": "bazel", ".jj/repo": "Jujutsu", ".jj/repo/config.toml": "Jujutsu", ".jj/repo/": "", ".Rprofile": "R",
		"Makefile": "make and its kind", "package.json": "node", ".bashrc": "", "src/main.go": "", "CLAUDE.md": "agents",
		".prototools": "proto", "bin/hermit.hcl": "Hermit", "bin/run": "", "a/.lsp/config.edn": "language servers", "hie.yaml": "language servers", "renv/activate.R": "R", "renv/settings.json": "",
		".direnv/flake-profile-1.rc": "direnv", "a/.direnv/bin/x": "direnv", ".direnv/python-3/bin/x": "", "_opam/.opam-switch/environment": "opam", "_opam/bin/x": "other builds", "x/environment": "",
		".ctags.d/x.ctags": "ctags and Global", "obj/gtags.conf": "ctags and Global", "src/tags": "", ".qoder/settings.json": "agents", ".letta/settings.json": "agents", "codebuff.json": "agents", ".jedi/project.json": "language servers",
		".pdm-plugins/lib/x.pth": "pdm", ".poetry/plugins/x.pth": "poetry", "poetry.toml": "", "global.json": ".NET", "_darcs/prefs/defaults": "Darcs", "_darcs/patches/x": "",
	} {
		kind := File
		if strings.HasSuffix(p, "/") {
			kind, p = Folder, strings.TrimSuffix(p, "/")
		}
		hit, ok := Below("/p", p, kind, func(dir string) bool { return dir == "/p" || dir == "/p/repo" })
		got := ""
		if ok {
			got = hit.Row.Tool
		}
		if got != want {
			t.Errorf("%s: %q, want %q", p, got, want)
		}
	}
	if hit, ok := Match("/p", ".vscode", Link); !ok || hit.Base != "/p" {
		t.Error("a link of the name of a folder may become one")
	}
	if hit, ok := Match("/p/a/.config", "mise.toml", File); !ok || hit.Base != "/p/a" {
		t.Errorf("base %q", hit.Base)
	}
}

func TestPackages(t *testing.T) {
	for p, want := range map[string]bool{
		"node_modules/x/.vscode": true, "a/node_modules": true, "go/pkg/mod/x@v1/.vscode": true, "pkg/.vscode": false, "vendor/x": false, ".venv/lib/python3/site-packages/x": true, "modules": false,
	} {
		if got := Packages(p); got != want {
			t.Errorf("%s: %t", p, got)
		}
	}
}

// What was protected before the table was is in it.
func TestStartup(t *testing.T) {
	have := strings.Join(Startup(), " ") + " " + strings.Join(Made(nil), " ")
	for _, n := range []string{".bashrc", ".config/fish", ".ssh", "bin", ".gitconfig", ".vscode", ".claude", ".idea"} {
		if !strings.Contains(" "+have+" ", " "+n+" ") {
			t.Errorf("%s is missing", n)
		}
	}
}

// Folders are made for the tools of this computer, and for no others.
func TestMade(t *testing.T) {
	for _, r := range Rows() {
		if r.Made != (len(r.Signs) > 0) {
			t.Errorf("%s %v: made %t, %d signs", r.Tool, r.Names, r.Made, len(r.Signs))
		}
	}
	if got := Made(func(string) bool { return false }); len(got) > 0 {
		t.Errorf("made where no tool is: %v", got)
	}
	if got := strings.Join(Made(func(sign string) bool { return sign == "code" }), " "); got != ".vscode .devcontainer" {
		t.Errorf("for an editor: %s", got)
	}
}
