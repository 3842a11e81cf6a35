package profile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/profile/strict"
)

// Warnings returns what is odd about a run although nothing forbids it: keys
// that have no effect beside the others, and mounts that are larger than they
// look. None of them stops a run. What a grant amounts to its own words say, in inner allow.
func (rc RunConfig) Warnings() []strict.Problem { return slices.Clone(rc.warnings) }

// Former are the lines of the version before, and what they are read as.
func (p *Profile) Former() []strict.Problem { return slices.Clone(p.src.former) }

func (r *resolver) warn(at strict.Pos, key, hint, format string, args ...any) {
	r.rc.warnings = append(r.rc.warnings, at.Problem(key, fmt.Sprintf(format, args...), hint))
}

// warnings looks at the finished RunConfig.
func (r *resolver) warnings() {
	name, sync, log := r.s.Name, r.s.SyncCredentials, r.s.Output.Log
	r.warnWhere([]warning{
		{name.V != "" && name.V != r.rc.Name && (r.rc.Scope == Global || r.rc.Scope == Local), name.At, "name", "", fmt.Sprintf("is %q, but -p and extends know the profile by its file's name, %q", name.V, r.rc.Name)},
		{sync.V && len(r.rc.Capabilities) == 0, sync.At, "sync_credentials", "", "has no effect without capabilities"},
		{log.V != "" && r.rc.Output.Audit, log.At, "output.log", "", `has no effect with record = "audit", which keeps no folder of the run`},
	})
	r.rc.warnings = append(r.rc.warnings, r.s.former...)
	r.warnSandbox()
	r.warnMounts()
	r.warnEnv()
	r.warnEntrypoint()
}

// warning is a warning about a key, given when it applies.
type warning struct {
	applies         bool
	at              strict.Pos
	key, hint, text string
}

// warnWhere gives the warnings of a list that apply.
func (r *resolver) warnWhere(list []warning) {
	for _, w := range list {
		if w.applies {
			r.warn(w.at, w.key, w.hint, "%s", w.text)
		}
	}
}

func (r *resolver) warnSandbox() {
	s, rc := &r.s.Sandbox, &r.rc
	r.warnWhere([]warning{
		{len(rc.NetworkDeny) > 0 && rc.Network == NetOff, s.NetworkAllow.At, "sandbox.network_allow", "", "has no effect: there is no network"},
		{rc.Network == NetAllowlist && len(rc.NetworkAllow)+len(rc.Capabilities) == 0, s.NetworkMode.At, "sandbox.network_mode", "", "the list of hosts is empty: nothing can be reached"},
	})
}

func (r *resolver) warnMounts() {
	copies := false
	for i := range r.rc.Mounts {
		m := &r.rc.Mounts[i]
		copies = copies || m.Mode == SafeRW
		if m.Mode != RW {
			continue
		}
		at := strict.Pos{File: m.File, Line: m.Line}
		switch src := real(m.Source); {
		case r.holdsHome(src):
			r.warn(at, m.Key, "", "makes your whole home folder writable")
		case systemFolder(src):
			r.warn(at, m.Key, "", "makes the system folder %q writable", src)
		}
	}
	if o := r.s.Output.Review; o.V && !copies {
		r.warn(o.At, "output.review", "", "has no effect: no mount has the mode safe-rw")
	}
}

func (r *resolver) warnEnv() {
	e := &r.s.Env
	for _, set := range e.Set.Entries {
		r.warnSet(set)
	}
	for i, it := range e.PathPrepend.Items {
		if dir := r.rc.Env.PathPrepend[i]; r.absent(dir) {
			r.warn(it.At, "env.path_prepend", "", "%q does not exist on the host", dir)
		}
	}
}

func (r *resolver) warnSet(set strict.Entry[string]) {
	key := strict.Join("env", "set", set.Key)
	if LooksSecret(set.Key) && set.Value != "" && !strings.Contains(set.Value, "$") {
		r.warn(set.At, key, fmt.Sprintf("inherit = [%q] takes it from your environment", set.Key), "a secret stands in the file")
	}
	for _, kv := range r.rc.Env.Set {
		if kv.Key == set.Key && filepath.IsAbs(kv.Value) && r.absent(kv.Value) {
			r.warn(set.At, key, "", "%q does not exist on the host", kv.Value)
		}
	}
}

// absent reports whether a value that looks like a path names nothing, here or
// in the box.
func (r *resolver) absent(path string) bool {
	if strings.ContainsAny(path, ": \t") {
		return false
	}
	m := Mount{Dest: filepath.Clean(path)}
	if slices.ContainsFunc(r.rc.Mounts, func(other Mount) bool { return other.Dest == m.Dest }) {
		return false
	}
	hostPath, made := r.mountPoint(&m)
	ok, err := exists(hostPath)
	return !made && !ok && err == nil
}

func (r *resolver) warnEntrypoint() {
	e, o, rc := &r.s.Entrypoint, &r.s.Output, &r.rc.Entrypoint
	switch filepath.Base(rc.Cmd) {
	case "bash", "zsh", "fish", "sh", "dash", "ksh":
		if rc.TUI {
			r.warn(e.TUI.At, "entrypoint.tui", `cursor_fix = "shell" is what shells need`, "a shell sets up the terminal itself: what is pasted would not be shown")
		}
	}
	if rc.Interactive {
		return
	}
	const noEffect = "has no effect: the run is not interactive"
	r.warnWhere([]warning{
		{rc.TUI, e.TUI.At, "entrypoint.tui", "", noEffect},
		{rc.CursorFix != "", e.CursorFix.At, "entrypoint.cursor_fix", "", noEffect},
		{len(rc.History) > 0, e.History.At, "entrypoint.history", "", noEffect},
		{o.Record.V == "true", o.Record.At, "output.record", "", noEffect},
		{r.rc.Output.Timeout == 0, e.Interactive.At, "output.timeout_seconds", "timeout_seconds = 1800", "nobody is watching, and nothing ends the run"},
	})
}
