package config

import (
	"fmt"
	"strings"
)

// Describe says in words what a project's config.toml sets.
func (c *Config) Describe() []string {
	var parts []string
	if c.DefaultProfile != "" {
		parts = append(parts, fmt.Sprintf("makes %q the default profile here", c.DefaultProfile))
	}
	for _, kv := range c.Shims {
		parts = append(parts, fmt.Sprintf("runs %s in profile %q", kv.Key, kv.Value))
	}
	if c.Roles != nil {
		for _, kv := range c.Roles.Profiles {
			parts = append(parts, fmt.Sprintf("runs calls for the role %q in profile %q", kv.Key, kv.Value))
		}
		if len(c.Roles.Order) > 0 {
			parts = append(parts, "orders its roles: "+strings.Join(c.Roles.Order, ", "))
		}
	}
	if c.Commands != nil {
		for _, kv := range c.Commands.Profiles {
			parts = append(parts, fmt.Sprintf("runs the command %q in profile %q", kv.Key, kv.Value))
		}
		if c.Commands.Only {
			parts = append(parts, "runs no other commands")
		}
	}
	if c.WorkspacesPath != "" {
		parts = append(parts, fmt.Sprintf("keeps workspaces in %q", c.WorkspacesPath))
	}
	if c.Log != "" {
		parts = append(parts, fmt.Sprintf("keeps the log in %q", c.Log))
	}
	for _, path := range c.Hide {
		parts = append(parts, "hides "+path)
	}
	for _, name := range c.HideEnv {
		parts = append(parts, "keeps the variables "+name+" outside")
	}
	for _, l := range c.DefaultLimits.Rows() {
		parts = append(parts, fmt.Sprintf("limits %s to %s, where a profile does not", l.Key, l.Value))
	}
	for _, kv := range c.Aliases {
		parts = append(parts, fmt.Sprintf("makes \"inner %s\" stand for: inner %s", kv.Key, kv.Value))
	}
	return parts
}
