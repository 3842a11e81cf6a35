package cli

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/handover"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/runlog"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
)

// AuditUnusable notes that inner run found no profile that it may run.
func (a *App) AuditUnusable(name, cwd string, err error) {
	var said Exit
	e := runlog.Event{Type: runlog.EventRefused, Profile: name, Command: "run", Cwd: cwd, Code: fault.Code(err), Reason: err.Error()}
	if profile.IsURL(name) {
		e.Profile = BareURL(name)
	}
	switch {
	case IsMisuse(err):
		return
	case errors.As(err, &said):
		e.Code, e.Reason = int(said), ""
	}
	a.Audit(e)
}

// NameOf is what -p calls the profile of a file.
func NameOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".toml") }

// BareURL is a URL without what may be a secret in it: who asks, and with which
// words.
func BareURL(url string) string {
	url, _, _ = strings.Cut(url, "#")
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + "/" + path
}

// CallHere is a call of the profile of that name, or of a role, in this folder; commanded: as inner run makes it, for
// which [commands] of config.toml may have another one.
func (a *App) CallHere(name string, who WhoFlags, o profile.Overrides, commanded bool) (call run.Call, pl settings.Place, err error) {
	if pl, err = a.Ready(); err != nil {
		return call, pl, err
	}
	if call.By, err = a.RoleFlags(who, pl, &name); err != nil {
		return call, pl, err
	}
	if call.Profile, err = a.Choose(name, pl); err != nil {
		return call, pl, err
	}
	if commanded {
		if call.Profile, o, err = a.Commanded(pl, call.Profile, o, false, nil, call.By.Role); err != nil {
			return call, pl, err
		}
	}
	call.Context, err = a.Context(pl, o, false)
	return call, pl, err
}

// Unusable says why a profile or a config.toml cannot be used, and what to
// type.
func (a *App) Unusable(err error, name string) error {
	var said Exit
	if errors.As(err, &said) || IsMisuse(err) {
		return err
	}
	a.Fail(err)
	if _, unknown := errors.AsType[*profile.NotFoundError](err); unknown && !profile.IsURL(name) {
		if fi, err := os.Stat(name); err == nil && fi.Mode().IsRegular() {
			a.Hint("-p %s is the file here", quote.POSIX("./"+name))
		}
	}
	if hint := a.Cure(err, name, nil); hint != "" && fault.AsRefusal(err) == nil { // which has its own
		a.Hint("%s", hint)
	}
	return Exit(fault.Code(err))
}

// Cure is what to do about an error of a profile, or of the name that somebody gave one; p is nil when it was not
// found.
func (a *App) Cure(err error, name string, p *profile.Profile) string {
	r, hint := fault.AsRefusal(err), a.Mend(err)
	switch {
	case r != nil && r.Hint != "":
		return r.Hint
	case profile.IsURL(name):
	case hint != "":
		return hint
	case p != nil:
		return "edit " + a.Short(p.Path)
	case strings.ContainsRune(name, '/'):
		return "look at " + name
	}
	return ""
}

// maxArgsFile is what one argument of execve may hold on Linux (MAX_ARG_STRLEN,
// 32 pages of 4 KiB), less its end.
const maxArgsFile = 32*4096 - 1

// ReadArgsFile reads a file whose content is one argument.
func ReadArgsFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", Usagef("--args-file: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxArgsFile+1))
	switch {
	case err != nil:
		return "", Usagef("--args-file: %w", err)
	case len(data) > maxArgsFile:
		return "", fault.Refuse(2, "name the file in the prompt, and let the program read it",
			"--args-file %q is larger than the %d bytes Linux takes as one argument", path, maxArgsFile)
	case strings.ContainsRune(string(data), 0):
		return "", Usagef("--args-file %q holds a NUL byte", path)
	}
	return string(data), nil
}

// ApprovedDigest reads sha256:HEX, and returns the digest in lower case.
func ApprovedDigest(text string) (string, error) {
	sum, ok := strings.CutPrefix(text, "sha256:")
	if data, err := hex.DecodeString(sum); !ok || err != nil || len(data) != 32 {
		return "", Usagef("--approved %q is not sha256: and 64 hexadecimal digits", text)
	}
	return strings.ToLower(sum), nil
}

// ChooseApproved loads the profile that the digest, sha256:HEX, names, and no other.
func (a *App) ChooseApproved(name, digest string, pl settings.Place) (*profile.Profile, error) {
	want, err := ApprovedDigest(digest)
	if err != nil {
		return nil, err
	}
	p, err := a.Load(name, pl)
	if err != nil {
		return nil, err
	}
	if got := p.Files[0].Digest; got != want {
		return nil, fault.Refuse(125, "export it again, and have the new digest approved",
			"profile %q has the sha256 %s, but %s is approved", p.Path, got, want)
	}
	if len(p.Files) > 1 {
		return nil, fault.Refuse(125, "inner profile show --resolved prints it as one file",
			"profile %q extends %q, whose bytes were not approved", p.Path, p.Files[1].Path)
	}
	return p, nil
}

// HandoverTime is how long a container may take to fetch, or to push.
const HandoverTime = 8 * time.Minute

// EndBundle writes the bundle, and returns the exit code: that of the program, unless its work
// could not be kept.
func (a *App) EndBundle(l *handover.Leaving, code int) int {
	ctx, stop := context.WithTimeout(context.Background(), HandoverTime)
	defer stop()
	switch err := l.End(ctx); {
	case err == nil:
		a.Say("the commits of the run are in %s", l.Bundle)
		return code
	case errors.Is(err, handover.ErrNothing):
		a.Say("the run made no commits, so there is no bundle")
		return code
	default:
		a.Warn("the bundle cannot be written: %v", err)
		return cmp.Or(code, 1)
	}
}

// FirstConfig is the config.toml of a new installation.
const FirstConfig = `# Settings of inner for this user.

# The profile of ` + "`inner run`" + ` without -p.
default_profile = "shell"

# Commands that are always sandboxed, also outside projects: inner init --everywhere claude
# [shims]
# claude = "claude"
`

// Install creates what is missing of INNER_HOME and returns what it wrote. had says which
// built-in profiles an earlier call wrote: of those, what is missing was deleted.
func (a *App) Install(had string) ([]string, error) {
	if err := files.MkdirOwn(a.InnerHome); err != nil && !errors.Is(err,
		fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, d := range []string{a.InnerHome, a.LogsDir(), filepath.Join(a.InnerHome, "trust"), filepath.Join(a.InnerHome, "workspaces")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	done, err := builtin.Install(a.ProfilesDir(), had)
	written := done.Written
	if err != nil {
		return written, err
	}
	if told, _ := files.Read(a.BuiltinsFile(), files.NoLinks, 1<<20); string(told) == builtin.Sums() {
		done.Changed = nil // was said
	}
	for _, name := range done.Changed {
		a.Say("profile %s is as you changed it, and not that of this version: inner profile diff %s shows both",
			name, name)
	}
	if err := files.Write(a.BuiltinsFile(), []byte(builtin.Sums()), 0o600); err != nil {
		return written, err
	}
	switch err := files.Create(a.ConfigFile(), []byte(FirstConfig), 0o600); {
	case errors.Is(err, fs.ErrExist):
		return written, nil
	case err != nil:
		return written, err
	}
	return append(written, a.ConfigFile()), nil
}

// Ready is the place of a call that needs profiles, where the built-in ones are by now.
func (a *App) Ready() (settings.Place, error) {
	if err := a.FirstUse(); err != nil {
		return settings.Place{}, err
	}
	return a.Here()
}

// FirstUse installs the built-ins, also the first time that this version of inner is used.
func (a *App) FirstUse() error {
	if InBox() {
		return fault.Refuse(126, "inner status", "profiles are on the host: this is inside a sandbox")
	}
	had, _ := files.Read(a.BuiltinsFile(), files.NoLinks, 1<<20)
	if !files.Exists(a.ProfilesDir()) {
		had = nil
	} else if string(had) == builtin.Sums() {
		return nil
	}
	written, err := a.Install(string(had))
	a.Forget() // one of them may be new
	if err != nil {
		hint := "inner doctor"
		if r := fault.AsRefusal(err); r != nil {
			hint = r.Hint
		}
		return fault.Refuse(125, hint, "%s cannot be created: %v", a.InnerHome, err)
	}
	if len(written) > 0 {
		a.Say("first use of this version: wrote %d files below %s", len(written), a.Short(a.InnerHome))
	}
	// Shims of the version before may not know what its built-in profiles say now; inner alone carries theirs.
	if a.Program.Zip != "" && files.Exists(a.Folder().StateFile()) {
		a.WarnIf(a.Regenerate())
	}
	return nil
}
