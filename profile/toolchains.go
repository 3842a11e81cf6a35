package profile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
)

// Toolchains in home_allow stands for the folders below the home in which programs
// installed for one user live: those that are there, also where a variable has moved
// them. The variable goes along.
const Toolchains = "@toolchains"

// SystemFolders are what a box with base = "minimal" has of the host: programs, their
// libraries and their settings, of a distribution, of somebody's own below /usr/local
// and /opt, of Nix and of Guix. The last is where openSUSE keeps the certificates that
// /etc/ssl leads to.
func SystemFolders() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/var/lib/ca-certificates"}
}

// toolchainFolders are where they are when nothing is said. Of ~/.cargo, ~/go and so on
// only the programs: the rest are logins and caches. Caches start empty, and what is
// made in them goes with the run.
func toolchainFolders() []string {
	return []string{
		".local/bin", "bin", ".local/pipx", ".local/share/pipx", ".local/share/uv",
		".local/share/pnpm", ".local/share/mise", ".local/share/fnm", ".local/share/rtx",
		".nvm", ".npm-global", ".volta", ".fnm", ".bun", ".deno", ".yarn/bin", ".n",
		".asdf", ".tool-versions", ".pyenv", ".rbenv", ".rvm", ".nodenv", ".goenv", ".gvm", ".jenv", ".sdkman", ".jdks",
		".cargo/bin", ".cargo/env", ".rustup", "go/bin", "sdk", ".local/go", ".juliaup",
		".ghcup/bin", ".elan", ".opam", ".nix-profile", ".local/state/nix", ".config/mise",
		".terminfo", ".fonts", ".local/share/fonts", ".config/fontconfig", // of programs on a terminal, and of those that draw
		".cache/ms-playwright", ".cache/Cypress", ".cache/puppeteer", ".cache/node/corepack", // programs, not what they keep; see plan.Versions
	}
}

// withVersions are all of @toolchains: a home that is the host's has caches of the box's own in the place of the last.
func withVersions() []string {
	return append(toolchainFolders(), ".cache/electron", ".cache/node-gyp", ".cache/pre-commit", ".gradle/wrapper/dists", ".gradle/jdks")
}

// toolchainVariables say where they are instead; behind a slash is what of such a folder is shown.
func toolchainVariables() []string {
	return []string{
		"NVM_DIR", "VOLTA_HOME", "FNM_DIR", "BUN_INSTALL", "PNPM_HOME", "N_PREFIX",
		"ASDF_DIR", "ASDF_DATA_DIR", "MISE_DATA_DIR", "PYENV_ROOT", "RBENV_ROOT", "NODENV_ROOT",
		"PLAYWRIGHT_BROWSERS_PATH", "CYPRESS_CACHE_FOLDER", "PUPPETEER_CACHE_DIR", "COREPACK_HOME", "GOENV_ROOT",
		"SDKMAN_DIR", "JAVA_HOME", "GOROOT", "RUSTUP_HOME", "UV_PYTHON_INSTALL_DIR",
		"PIPX_HOME", "CARGO_HOME/bin", "GOPATH/bin", "DENO_INSTALL_ROOT",
	}
}

// toolchains returns the folders that are there, and the variables that go along where the box has their folder. What
// only holds programs beside caches keeps its default place in the box, which can be
// written: CARGO_HOME and GOPATH do not go along.
func (r *resolver) toolchains() (folders, variables []string) {
	add := func(p string) (shown bool) {
		if p == r.c.Home || !paths.Below(r.c.Home, p) {
			return slices.ContainsFunc(SystemFolders(), func(dir string) bool { return paths.Below(dir, p) })
		}
		if _, err := os.Stat(p); err != nil {
			return false
		}
		if !slices.Contains(folders, p) {
			folders = append(folders, p)
		}
		return true
	}
	for _, rel := range withVersions() {
		add(filepath.Join(r.c.Home, rel))
	}
	for _, v := range toolchainVariables() {
		name, below, part := strings.Cut(v, "/")
		value, ok := r.c.Lookup(name)
		if !ok || !filepath.IsAbs(value) || filepath.Clean(value) == r.c.Home {
			continue
		}
		if add(filepath.Join(value, below)) && !part {
			variables = append(variables, name)
		}
	}
	return folders, variables
}

// usualToolchain reports whether a folder of @toolchains is where it is when nothing is
// said.
func usualToolchain(home, path string) bool {
	rel, err := filepath.Rel(home, path)
	return err == nil && slices.Contains(withVersions(), rel)
}

// addToolchains shows the folders of installed programs.
func (r *resolver) addToolchains() {
	folders, variables := r.toolchains()
	for _, p := range folders {
		r.named = append(r.named, named{path: p, key: "sandbox.home_allow", soft: true})
		r.rc.Toolchains = append(r.rc.Toolchains, p)
	}
	r.rc.HomeAllow, r.toolVariables = append(r.rc.HomeAllow, folders...), variables
}
