package consent

import (
	"fmt"

	"github.com/enr/inner/profile/config"
)

// wordsOf says in words what a project's config.toml sets.
func wordsOf(c *config.Config) (parts []string) {
	say := func(format, value string) {
		if value != "" {
			parts = append(parts, fmt.Sprintf(format, value))
		}
	}
	say("makes %q the default profile here", c.DefaultProfile)
	for _, kv := range c.Shims {
		parts = append(parts, fmt.Sprintf("runs %s in profile %q", kv.Key, kv.Value))
	}
	parts = append(parts, wordsOfRoles(c.Roles)...)
	parts = append(parts, wordsOfCommands(c.Commands)...)
	say("keeps workspaces in %q", c.WorkspacesPath)
	say("keeps the log in %q", c.Log)
	for _, path := range c.Hide {
		say("hides %s", path)
	}
	for _, name := range c.HideEnv {
		say("keeps the variables %s outside", name)
	}
	for _, l := range c.DefaultLimits.Rows() {
		parts = append(parts, fmt.Sprintf("limits %s to %s, where a profile does not", l.Key, l.Value))
	}
	for _, kv := range c.Aliases {
		parts = append(parts, fmt.Sprintf("makes \"inner %s\" stand for: inner %s", kv.Key, kv.Value))
	}
	return parts
}

func wordsOfRoles(r *config.Roles) (parts []string) {
	if r == nil {
		return nil
	}
	for _, kv := range r.Profiles {
		parts = append(parts, fmt.Sprintf("runs calls for the role %q in profile %q", kv.Key, kv.Value))
	}
	return parts
}

func wordsOfCommands(c *config.Commands) (parts []string) {
	if c == nil {
		return nil
	}
	for _, kv := range c.Profiles {
		parts = append(parts, fmt.Sprintf("runs the command %q in profile %q", kv.Key, kv.Value))
	}
	if c.Only {
		parts = append(parts, "runs no other commands")
	}
	return parts
}
