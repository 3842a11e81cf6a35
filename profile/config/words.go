package config

import (
	"fmt"

	"github.com/enr/inner/profile"
)

// Words say what a project's config.toml sets.
func (r Read) Words() (parts []string) {
	c := r.Config
	say := func(format string, values ...any) { parts = append(parts, fmt.Sprintf(format, values...)) }
	each := func(format string, list []profile.KV) {
		for _, kv := range list {
			say(format, kv.Key, kv.Value)
		}
	}
	if c.DefaultProfile != "" {
		say("makes %q the default profile here", c.DefaultProfile)
	}
	each("runs %s in profile %q", c.Shims)
	if c.Roles != nil {
		each("runs calls for the role %q in profile %q", c.Roles.Profiles)
	}
	if c.Commands != nil {
		each("runs the command %q in profile %q", c.Commands.Profiles)
		if c.Commands.Only {
			say("runs no other commands")
		}
	}
	if c.WorkspacesPath != "" {
		say("keeps workspaces in %q", c.WorkspacesPath)
	}
	if c.Log != "" {
		say("keeps the log in %q", c.Log)
	}
	for _, path := range c.Hide {
		say("hides %s", path)
	}
	for _, name := range c.HideEnv {
		say("keeps the variables %s outside", name)
	}
	for _, l := range c.DefaultLimits.Rows() {
		say("limits %s to %s, where a profile does not", l.Key, l.Value)
	}
	each("makes \"inner %s\" stand for: inner %s", c.Aliases)
	return parts
}
