package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
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
	s, rc := r.s, &r.rc
	run, out, name := s.In("entrypoint"), s.In("output"), s.Value("name")
	alone := !rc.Entrypoint.Interactive
	shell := slices.Contains([]string{"bash", "zsh", "fish", "sh", "dash", "ksh"}, filepath.Base(rc.Entrypoint.Cmd))
	copies := slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return m.Mode == SafeRW })
	// A profile that says both has it for boxes in which the login cannot be used so.
	both := slices.ContainsFunc(rc.Credentials, func(c Credential) bool { return c.File == s.Value("sync_credentials").At.File })
	const noEffect = "has no effect: the run is not interactive"
	for _, w := range []struct {
		applies         bool
		at              strict.Pos
		key, text, hint string
	}{
		{name.V != "" && name.V != rc.Name && (rc.Scope == Global || rc.Scope == Local), name.At, "name", fmt.Sprintf("is %q, but -p and extends know the profile by its file's name, %q", name.V, rc.Name), ""},
		{rc.SyncLogin && len(rc.Capabilities) == 0, s.Value("sync_credentials").At, "sync_credentials", "has no effect without capabilities", ""},
		{rc.SyncLogin && len(rc.Capabilities) > 0 && len(rc.agents(false)) == 0 && !both, s.Value("sync_credentials").At, "sync_credentials", "has no effect: the sandbox has no copy of a login ([credentials])", ""},
		{out("log").V != "" && rc.Output.Audit, out("log").At, "output.log", `has no effect with record = "audit", which keeps no folder of the run`, ""},
		{len(rc.NetworkDeny) > 0 && rc.Network == NetOff, s.Value("sandbox.network_allow").At, "sandbox.network_allow", "has no effect: there is no network", ""},
		{rc.Network == NetAllowlist && len(rc.NetworkAllow)+len(rc.Capabilities) == 0, s.Value("sandbox.network_mode").At, "sandbox.network_mode", "the list of hosts is empty: nothing can be reached", ""},
		{out("review").On() && !copies, out("review").At, "output.review", "has no effect: no mount has the mode safe-rw", ""},
		{run("tui").On() && shell, run("tui").At, "entrypoint.tui", "a shell sets up the terminal itself: what is pasted would not be shown", `cursor_fix = "shell" is what shells need`},
		{alone && run("tui").On(), run("tui").At, "entrypoint.tui", noEffect, ""},
		{alone && run("cursor_fix").V != "", run("cursor_fix").At, "entrypoint.cursor_fix", noEffect, ""},
		{alone && run("history").Items != nil, run("history").At, "entrypoint.history", noEffect, ""},
		{alone && rc.Output.Record, out("record").At, "output.record", noEffect, ""},
		{alone && rc.Output.Timeout == 0, run("interactive").At, "output.timeout_seconds", "nobody is watching, and nothing ends the run", "timeout_seconds = 1800"},
	} {
		if w.applies {
			r.warn(w.at, w.key, w.hint, "%s", w.text)
		}
	}
	rc.warnings = append(rc.warnings, s.former...)
	for i := range rc.Mounts {
		m := &rc.Mounts[i]
		switch src := real(m.Source); {
		case m.Mode != RW:
		case r.holdsHome(src):
			r.warn(strict.Pos{File: m.File, Line: m.Line}, m.Key, "", "makes your whole home folder writable")
		case systemFolder(src):
			r.warn(strict.Pos{File: m.File, Line: m.Line}, m.Key, "", "makes the system folder %q writable", src)
		}
	}
	for _, set := range s.Value("env.set").Items {
		if LooksSecret(set.Key) && set.Text != "" && !strings.Contains(set.Text, "$") {
			r.warn(set.At, strict.Join("env", "set", set.Key), fmt.Sprintf("inherit = [%q] takes it from your environment", set.Key), "a secret stands in the file")
		}
		inBox := paths.Below("/tmp", set.Text) || slices.ContainsFunc(rc.Mounts, func(m Mount) bool { return paths.Below(m.Dest, set.Text) })
		if _, err := os.Lstat(set.Text); filepath.IsAbs(set.Text) && !strings.ContainsAny(set.Text, ":$") && !inBox && errors.Is(err, fs.ErrNotExist) {
			r.warn(set.At, strict.Join("env", "set", set.Key), "", "%q does not exist on the host", set.Text)
		}
	}
}
