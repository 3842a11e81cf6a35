package settings

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
)

// Context is what a profile is resolved against here.
func (s *Settings) Context(pl Place, o profile.Overrides, forShim bool) (profile.Context, error) {
	return s.contextWith(pl, o, forShim, false)
}

// contextWith is Context; with asIs the project's own config.toml counts as it is,
// approved or not.
func (s *Settings) contextWith(pl Place, o profile.Overrides, forShim, asIs bool) (profile.Context, error) {
	c := profile.Context{
		Home: s.Home, OtherHome: s.OtherHome(), InnerHome: s.InnerHome, UID: os.Getuid(), Lookup: s.LookupEnv,
		Cwd: pl.Cwd, Project: pl.Root(), Overrides: o, ForShim: forShim, MCP: s.MCP, Builtin: s.IsBuiltin,
	}
	if pwd := s.Getenv("PWD"); pwd != pl.Cwd && filepath.IsAbs(pwd) && files.Real(pwd) == pl.Cwd {
		c.Entered = filepath.Clean(pwd)
	}
	var err error
	if c.Organisation, err = s.Organisation(); err != nil {
		return c, err
	}
	cfg, err := s.GlobalConfig()
	if err != nil {
		return c, err
	}
	c.WorkspacesPath, c.LogPath, c.DefaultLimits = cfg.WorkspacesPath, cfg.Log, cfg.DefaultLimits
	c.HideEnv = cfg.HideEnv
	c.Hide, c.Written = cfg.Hide, s.Trust().Written
	var layers []Layer
	dirs := []string{pl.Cwd}
	if o.Workdir != "" {
		dirs = append(dirs, files.Real(s.Absolute(o.Workdir, pl.Cwd)))
	}
	if asIs && pl.Project != nil {
		own := s.ProjectConfig(pl)
		if own.Err != nil {
			return c, own.Err
		}
		layers = []Layer{{pl.Root(), own.Config}}
		dirs = []string{filepath.Dir(pl.Root())}
	}
	more, err := s.Layers(dirs...)
	if err != nil {
		return c, err
	}
	for _, l := range append(layers, more...) {
		if l.Root == pl.Root() { // the project in force says before what the user says
			c.WorkspacesPath = cmp.Or(l.Config.WorkspacesPath, c.WorkspacesPath)
			c.ProjectLog = l.Config.Log
		}
		c.ProjectHide = append(slices.Clip(c.ProjectHide), l.Config.Hide...)
		c.HideEnv = append(slices.Clip(c.HideEnv), l.Config.HideEnv...)
		c.ProjectLimits = c.ProjectLimits.Or(l.Config.DefaultLimits)
	}
	return c, nil
}

// MCP are the MCP servers in the user's settings of the agents of a run. Whether these settings are the user's own word
// is for the profile to judge.
func (s *Settings) MCP(rc profile.RunConfig) (list []profile.MCPServer) {
	from := capability.Origin{Home: s.Home, Workdir: rc.Workdir, Lookup: s.LookupEnv}
	from.Follow = func(path string) (string, bool) { return files.Real(path), true }
	for _, name := range rc.Capabilities {
		c, _ := capability.Find(name) // a profile is refused that names another
		list = append(list, c.MCP(from)...)
	}
	return list
}
