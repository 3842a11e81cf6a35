package features

// What somebody installs for themselves goes where the host has such programs, and there a box with
// a home of its own reads and does not write. So it goes to a folder of that home, which is first on
// PATH in its boxes and nowhere else. An overlay over the host's folders would keep their names, but
// two boxes of one home cannot share what is written above it (Documentation/filesystems/overlayfs.rst,
// "Sharing and copying layers").

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// installers are the variables of tools that install, the folder below plan.Installed that each names, and where
// it goes otherwise, below the home.
func installers() [][3]string {
	return [][3]string{
		{"GOBIN", "bin", "go/bin"},
		{"CARGO_INSTALL_ROOT", "", ".cargo/bin"},
		{"PYTHONUSERBASE", "", ".local/bin"},
		{"PIPX_HOME", "pipx", ".local/bin"},
		{"PIPX_BIN_DIR", "bin", ".local/bin"},
		{"UV_TOOL_DIR", "uv", ".local/bin"},
		{"UV_TOOL_BIN_DIR", "bin", ".local/bin"},
		{"GEM_HOME", "", ".gem"},
		{"DENO_INSTALL_ROOT", "", ".deno/bin"},
		{"BUN_INSTALL_GLOBAL_DIR", "bun", ".bun/bin"},
		{"BUN_INSTALL_BIN", "bin", ".bun/bin"},
	}
}

// installed tells tools that install to do so in the home of the box.
func installed() Feature {
	return Feature{
		Name: "programs that the box installs", Keys: []string{"sandbox.home"},
		Make: func(run *Run) error {
			if !plan.Installs(run.Spec, run.Facts) {
				return nil
			}
			at := filepath.Join(run.Home, plan.Installed)
			for _, i := range installers() {
				granted := func(dir string) bool { return paths.Below(dir, filepath.Join(run.Home, i[2])) }
				if !slices.ContainsFunc(run.Spec.WritableRoots(), granted) {
					run.Assets.Env = append(run.Assets.Env, profile.KV{Key: i[0], Value: filepath.Join(at, i[1])})
				}
			}
			// The root of a cargo workspace that the project is in may only be read, and cargo builds there.
			dir := filepath.Dir(run.Spec.Workdir)
			shown := func(m profile.Mount) bool { return m.Mode == profile.RO && paths.Below(m.Source, dir) }
			for ; dir != "/" && slices.ContainsFunc(run.Spec.Mounts, shown); dir = filepath.Dir(dir) {
				if files.Exists(filepath.Join(dir, "Cargo.toml")) {
					run.Assets.Env = append(run.Assets.Env,
						profile.KV{Key: "CARGO_TARGET_DIR", Value: filepath.Join(run.Home, ".cache/cargo-target")})
				}
			}
			npmFile(run, "prefix="+at, "npm installs in the home of the box")
			return nil
		},
	}
}

// npmFile adds a line to npm's settings for all users, which the box has as far as they say where packages come
// from. They are a file because nvm refuses to work where a variable or ~/.npmrc names the folder to install
// into, and some shells lose variables whose names are those of logins.
func npmFile(run *Run, line, reason string) {
	parts := run.Assets.Parts
	i := slices.IndexFunc(parts, func(p plan.Part) bool { return p.Op.Dest == paths.BoxNpm })
	if i < 0 {
		i = len(parts)
		boxFile(run, paths.BoxNpm, npmSettings(run), reason,
			profile.KV{Key: "NPM_CONFIG_GLOBALCONFIG", Value: paths.BoxNpm})
	}
	part := &run.Assets.Parts[i]
	part.Data = append(part.Data, line+"\n"...)
}

func npmSettings(run *Run) []byte {
	data, err := files.Read("/etc/npmrc", files.NoLinks, 64<<10)
	if node, nerr := run.FindReal("node", run.Getenv("PATH")); err != nil && nerr == nil {
		data, _ = files.Read(filepath.Join(filepath.Dir(filepath.Dir(files.Real(node))), "etc/npmrc"), files.NoLinks, 64<<10)
	}
	text := ""
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		from := strings.HasPrefix(key, "@") ||
			slices.Contains([]string{"registry", "ca", "ca[]", "cafile", "strict-ssl", "noproxy"}, key)
		if from && !profile.HasLogin(strings.TrimSpace(value)) {
			text += strings.TrimSpace(line) + "\n"
		}
	}
	return []byte(text)
}

// pythonOutside has each Python of the box find what pip installed with --user outside, which PYTHONUSERBASE
// hides (site: a line of a .pth file is a folder to look in).
func (h *ownHome) pythonOutside(run *Run) error {
	dirs, err := filepath.Glob(filepath.Join(run.Home, ".local/lib/python3*/site-packages"))
	for _, dir := range dirs {
		rel, _ := paths.Rest(filepath.Join(run.Home, ".local"), dir)
		file, line := filepath.Join(plan.Installed, rel, "outside.pth"), []byte(dir+"\n")
		if has, _ := h.Read(file, 4096); err == nil && !bytes.Equal(has, line) {
			err = h.Write(file, line, 0o600)
		}
	}
	return err
}
