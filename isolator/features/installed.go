package features

// What somebody installs for themselves goes where the host has such programs, and there a box with
// a home of its own reads and does not write. So it goes to a folder of that home, which is first on
// PATH in its boxes and nowhere else. An overlay over the host's folders would keep their names, but
// two boxes of one home cannot share what is written above it (Documentation/filesystems/overlayfs.rst,
// "Sharing and copying layers").

import (
	"bytes"
	"cmp"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// installer is a variable of a tool that installs, and the folder that it names below plan.Installed.
type installer struct {
	variable, below string
	usual           string // where it goes otherwise, below the home
}

func installers() []installer {
	return []installer{
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
func installed(home *ownHome) Feature {
	return Feature{
		Name: "programs that the box installs", Keys: []string{"sandbox.home"},
		Make: func(run *Run) error {
			if !plan.Installs(run.Spec, run.Facts) {
				return nil
			}
			at := filepath.Join(run.Home, plan.Installed)
			for _, i := range installers() {
				usual := filepath.Join(run.Home, i.usual)
				if !slices.ContainsFunc(run.Spec.WritableRoots(), func(dir string) bool { return paths.Below(dir, usual) }) {
					run.Assets.Env = append(run.Assets.Env, profile.KV{Key: i.variable, Value: filepath.Join(at, i.below)})
				}
			}
			boxFile(run, paths.BoxNpm, npmSettings(run, at), "npm installs in the home of the box", profile.KV{Key: "NPM_CONFIG_GLOBALCONFIG", Value: paths.BoxNpm})
			return nil
		},
		Planned: func(run *Run) error {
			if home.Home == nil || !plan.Installs(run.Spec, run.Facts) {
				return nil
			}
			return cmp.Or(home.pythonOutside(run), home.begin(run))
		},
	}
}

// npmSettings are those for all users, with the folder to install into. They are a file because nvm refuses to
// work where a variable or ~/.npmrc names that folder.
func npmSettings(run *Run, at string) []byte {
	places := []string{"/etc/npmrc"}
	if node, err := run.FindReal("node", run.Getenv("PATH")); err == nil {
		places = append([]string{filepath.Join(filepath.Dir(filepath.Dir(files.Real(node))), "etc/npmrc")}, places...)
	}
	var text []byte
	for _, p := range places {
		ofSystem := slices.ContainsFunc(profile.SystemFolders(), func(dir string) bool { return paths.Below(dir, p) })
		if data, err := files.Read(p, files.NoLinks, 64<<10); err == nil && ofSystem {
			text = append(data, '\n')
			break
		}
	}
	return append(text, "prefix="+at+"\n"...)
}

// pythonOutside has each Python of the box find what pip installed with --user outside, which PYTHONUSERBASE hides (site:
// a line of a .pth file is a folder to look in).
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
