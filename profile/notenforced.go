package profile

import (
	"fmt"
	"slices"
)

// NotEnforced lists what the profile asks for and this version of inner cannot
// enforce, one line each. When it is not empty nothing may run: no layer is
// dropped in silence.
func (rc RunConfig) NotEnforced() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, c := range rc.Capabilities {
		if c != "claude" {
			add("capabilities: %q is not there yet", c)
		}
	}
	for _, m := range rc.Mounts {
		if m.Mode == SafeRW {
			add("%s: mode \"safe-rw\" (work on a copy) is not there yet", m.key())
		}
		if m.Workspace {
			add("%s: ${workspaces_path} is not there yet", m.key())
		}
	}
	if rc.WorkspaceWorkdir {
		add("entrypoint.workdir: ${workspaces_path} is not there yet")
	}
	if rc.Git != nil {
		add("[git]: cleaning the git configuration is not there yet")
	}
	if rc.Network == NetAllowlist {
		add(`sandbox.network_mode = "allowlist": network by name is not there yet`)
	}
	if len(rc.NetworkAllow) > 0 && rc.Network != NetAllowlist {
		add("sandbox.network_allow: network by name is not there yet")
	}
	if len(rc.NetworkDeny) > 0 {
		add("sandbox.network_deny: network by name is not there yet")
	}
	if rc.Limits.Any() {
		add("sandbox.limits: limits are not there yet")
	}
	if rc.Backend == "podman" {
		add(`sandbox.backend = "podman" is not there yet`)
	}
	if rc.Base == "minimal" {
		add(`sandbox.base = "minimal" is not there yet`)
	}
	if !rc.PIDNamespace {
		add("sandbox.pid_namespace = false: without it processes could outlive the run")
	}
	if slices.Contains(rc.Allow, "nested-user-ns") {
		add(`sandbox.allow: "nested-user-ns" is not there yet`)
	}
	if rc.Seccomp == "strict" {
		add(`sandbox.seccomp = "strict" is not there yet`)
	}
	if rc.Proc != "auto" && rc.Proc != "fresh" {
		add("sandbox.proc = %q is not there yet", rc.Proc)
	}
	if rc.Clipboard {
		add("sandbox.clipboard: the clipboard is not there yet")
	}
	if rc.Noop.Mode == "hard" {
		add(`noop.mode = "hard" is not there yet`)
	}
	return out
}
