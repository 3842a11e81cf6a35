package plan

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile"
)

// DefaultPath is PATH in a box whose profile neither inherits nor sets it.
const DefaultPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"

// always are the variables without which ordinary programs do not work.
func always() []string { return []string{"HOME", "USER", "LOGNAME", "TERM"} }

// hostOnly reports whether a variable leads out of the box or makes programs
// run code: it passes only when the profile names it exactly.
func hostOnly(name string) bool {
	switch name {
	case "TMUX", "TMUX_PANE", "STY", "NVIM", "NVIM_LISTEN_ADDRESS", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
		"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO",
		"DOCKER_HOST", "CONTAINER_HOST", "KUBECONFIG", "HISTFILE", "MAIL",
		"PULSE_SERVER", "PIPEWIRE_REMOTE", "SWAYSOCK", "I3SOCK",
		"NIRI_SOCKET", "ALACRITTY_SOCKET", "SESSION_MANAGER", "SSH_ASKPASS",
		"NOTIFY_SOCKET", "JOURNAL_STREAM", "LISTEN_FDS", "LISTEN_PID",
		"LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "BASH_ENV", "ENV",
		"PROMPT_COMMAND", "PYTHONSTARTUP", "PYTHONPATH", "PERL5OPT", "PERL5LIB",
		"RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "PAGER", "EDITOR",
		"VISUAL", "LESSOPEN", "LESSCLOSE", "MANPAGER", "BROWSER",
		"OLDPWD", "PWD", "SHLVL", "_", "INNER_HOME", "INNER_SANDBOX", "INNER_RUN_ID", "__INNER_SHIM":
		return true
	}
	for _, p := range []string{"BASH_FUNC_", "LD_", "GIT_", "KITTY_", "VSCODE_", "WEZTERM_", "ZELLIJ", "SUDO_", "XDG_SESSION", "GNOME_KEYRING_", "__"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// tempVariables say where programs put what they need for a while.
func tempVariables() []string { return []string{"TMPDIR", "TMP", "TEMP"} }

// temp has those that pass name a folder that the box can write.
func (b *builder) temp() error {
	env := host.Environment(Environment(b.rc, b.f, b.s))
	for _, name := range tempVariables() {
		l, hostPath := b.at(b.canon(env[name]))
		there := b.kind(env[name]) == host.Dir && b.canon(env[name]) == hostPath || l.Dest == b.canon(env[name])
		if env[name] != "" && !(there && l.Writable() && !l.empty) && !b.profileSets(name) {
			b.s.Env = append(b.s.Env, profile.KV{Key: name, Value: "/tmp"})
		}
	}
	return nil
}

// Environment is the whole environment of the program, KEY=VALUE, sorted.
func Environment(rc profile.RunConfig, f host.Facts, s Staged) []string {
	env := map[string]string{}
	for name, v := range f.Env {
		if passes(rc.Env, name, v) {
			env[name] = v
		}
	}
	env["HOME"] = f.Home
	env["PWD"] = cmp.Or(rc.Entered, rc.Cwd)
	env["INNER_SANDBOX"] = rc.Name
	env["INNER_RUN_ID"] = s.RunID
	for _, kv := range s.Env {
		env[kv.Key] = kv.Value
	}
	for _, kv := range append(proxyEnv(rc), rc.Env.Set...) {
		env[kv.Key] = kv.Value
	}
	env["PATH"] = BoxPath(rc, f.Env["PATH"])
	if len(s.Path) > 0 {
		list := filepath.SplitList(env["PATH"])
		for i, dir := range list {
			list[i] = cmp.Or(s.Path[dir], dir)
		}
		env["PATH"] = strings.Join(list, ":")
	}
	if Installs(rc, f) {
		env["PATH"] = filepath.Join(f.Home, Installed, "bin") + ":" + env["PATH"]
	}
	if s.Noop != "" {
		env["PATH"] = paths.BoxNoop + ":" + env["PATH"]
		shellFilesEnv(env)
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// Installed is where programs go that a box with a home of its own installs: below that home,
// those to be run in bin.
const Installed = ".installed"

// Installs reports whether a box has such a folder, and it is first on PATH.
func Installs(rc profile.RunConfig, f host.Facts) bool {
	return rc.Home == "own" && f.Engine == nil && !slices.ContainsFunc(rc.Env.Set,
		func(kv profile.KV) bool { return kv.Key == "PATH" })
}

// passes reports whether the program gets a variable of the host. PATH is made by BoxPath.
func passes(rules profile.Env, name, value string) bool {
	if name == "PATH" || rules.Kept(name) {
		return false
	}
	exact, pattern := inherits(rules.Inherit, name)
	if exact || slices.Contains(always(), name) {
		return true
	}
	return (pattern || rules.InheritAll) && !hostOnly(name) && !profile.LooksSecret(name) && !profile.HasLogin(value)
}

// inherits reports whether the list names a variable exactly, or by pattern.
func inherits(list []string, name string) (exact, pattern bool) {
	for _, p := range list {
		if p == name {
			exact = true
		} else if profile.VariableLike(p, name) {
			pattern = true
		}
	}
	return exact, pattern
}

// BoxPath is PATH in the box, without the noop shims in front: path_prepend,
// then [env] set, the inherited PATH, or DefaultPath. Relative and empty
// elements are dropped: they would make the working folder a program folder.
func BoxPath(rc profile.RunConfig, hostPath string) string {
	p := DefaultPath
	if exact, pattern := inherits(rc.Env.Inherit, "PATH"); !rc.Env.Kept("PATH") &&
		(exact || pattern || rc.Env.InheritAll) && hostPath != "" {
		p = hostPath
	}
	for _, kv := range rc.Env.Set {
		if kv.Key == "PATH" {
			p = kv.Value
		}
	}
	var out []string
	for _, d := range append(slices.Clone(rc.Env.PathPrepend), filepath.SplitList(p)...) {
		if filepath.IsAbs(d) && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	if len(out) == 0 {
		return DefaultPath
	}
	return strings.Join(out, ":")
}
