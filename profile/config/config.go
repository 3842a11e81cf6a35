// Package config reads config.toml.
package config

import "github.com/enr/inner/profile"

// Config is config.toml as written.
type Config struct {
	DefaultProfile string
	WorkspacesPath string
	Log            string
	Aliases        []profile.KV
	Shims          []profile.KV // command, profile
	DefaultLimits  profile.Limits
}

// Load reads config.toml; a missing file is an empty Config.
func Load(path string) (*Config, profile.File, error) { return &Config{}, profile.File{}, nil }
