package run

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/sensitive"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/shims"
)

// Prepared is a run up to its plan.
type Prepared struct {
	*features.Run

	Program string   // what runs, on the host
	Argv    []string // its arguments, as the profile and its agents say

	live live // what the box got since it runs

	begun begun

	missing  error // why the host has no such program; no fault where the box has an image's system
	features []features.Feature
}

// Prepare probes the host, makes what the run needs, and plans it. In a preview nothing is made,
// and folder is dry. The caller closes the result when there is no error; after an error it is
// already closed, and holds what is known so far.
func Prepare(s *settings.Settings, c Call, spec profile.RunConfig, folder *stage.Run, mode features.Mode, bw begun) (b *Prepared, err error) {
	b = &Prepared{
		begun:    bw,
		Run:      &features.Run{Settings: s, Profile: c.Profile, Context: c.Context, Observe: c.Observe, Mode: mode, Done: c.Done, Spec: spec, Folder: folder},
		features: features.All(backend()), live: live{call: c},
	}
	if err = b.findOut(); err == nil {
		err = b.assemble(c)
	}
	if err != nil {
		b.Close()
		return b, err
	}
	if mode.Made() && c.Observe != nil && c.Observe.Hosts {
		s.Say("learning: every public host is allowed in this run")
	}
	return b, nil
}

// findOut finds out what the host has, and which program runs.
func (b *Prepared) findOut() (err error) {
	if err := b.each(func(f features.Feature) func(*features.Run) error { return f.Ask }); err != nil {
		return err
	}
	if b.Facts, err = b.look(); err != nil {
		return err
	}
	if err := b.each(func(f features.Feature) func(*features.Run) error { return f.Learn }); err != nil {
		return err
	}
	if b.Facts.Engine == nil {
		return b.missing
	}
	b.Program = programThere(b.Caller, b.Spec)
	return nil
}

// assemble makes what the run needs, and the plan.
func (b *Prepared) assemble(c Call) error {
	b.Assets = plan.Staged{RunID: b.ID(), Program: b.Program, Argv: b.Argv, Binds: slices.Clone(c.Shows), Tmp: c.Tmp, Start: c.Start, OrElse: c.OrElse}
	if err := b.each(func(f features.Feature) func(*features.Run) error { return f.Make }); err != nil {
		return err
	}
	return b.build()
}

// build makes the plan, and on the host what that needs.
func (b *Prepared) build() error {
	p, err := plan.Build(b.Spec, b.Facts, b.Assets)
	if err != nil {
		return err
	}
	b.Plan = p
	return b.each(func(f features.Feature) func(*features.Run) error { return f.Planned })
}

// Show is Prepare for a preview: nothing is made. pasted is for a bwrap command that a person
// pastes, which cannot have what inner makes for a run.
func Show(s *settings.Settings, c Call, pasted bool) (*Prepared, error) {
	mode := features.Preview
	if pasted {
		mode = features.Pasted
	}
	spec, err := settings.Resolve(c.Profile, c.Context)
	if err != nil {
		return &Prepared{Run: &features.Run{Settings: s, Spec: spec}}, err
	}
	return Prepare(s, c, spec, stage.Dry(), mode, startEarly(s, c, spec, mode))
}

// each runs one step of every feature that has it, and stops at the first error.
func (b *Prepared) each(step func(features.Feature) func(*features.Run) error) error {
	for _, f := range b.features {
		if do := step(f); do != nil {
			if err := do(b.Run); err != nil {
				return err
			}
		}
	}
	return nil
}

// look finds the program and looks at the host. It changes nothing there.
func (b *Prepared) look() (host.Facts, error) {
	var none host.Facts
	b.Spec = Named(b.Caller, b.Spec)
	if b.Program, b.missing = Program(b.Caller, b.Spec); b.missing != nil {
		if !b.Spec.Container() {
			return none, b.missing
		}
		b.Program = filepath.Join("/usr/bin", filepath.Base(b.Spec.Entrypoint.Cmd)) // until it is known what makes the box
	}
	b.Argv = features.WithArgs(append([]string{b.Spec.Entrypoint.Cmd}, b.Spec.Entrypoint.Args...), b.Agents)
	facts := b.probe()
	b.Spec = plan.Fitting(b.Spec, facts)
	if b.Spec.GitDir == "rw" { // what its settings name is the box's, too
		facts.Later = slices.DeleteFunc(facts.Later,
			func(p host.Placeholder) bool { return slices.Contains(facts.Named, p.Path) })
	}
	if path := replaced(b.Spec, facts); path != "" {
		return facts, &fault.Refusal{
			Code: 126,
			Msg:  fmt.Sprintf("%q was replaced while the sandbox was made", path),
			Hint: "run it again",
		}
	}
	return facts, nil
}

// probe looks at the host.
func (b *Prepared) probe() host.Facts {
	spec := b.Spec
	terminal := spec.Entrypoint.Interactive && caller.IsTerminal(b.Stdin) && caller.IsTerminal(b.Stdout)
	who := host.Begin(host.Facts{
		Home: b.Home, OtherHome: b.OtherHome(), InnerHome: b.InnerHome, StageBase: b.StageBase(), Env: host.Environment(b.Environ), Terminal: terminal,
		Bwrap: b.begun.bwrap, BwrapWhy: b.begun.why, BwrapFix: b.begun.fix,
	})
	programs := b.OnPath(sensitive.Signs()...)
	needed := func(sign string) bool {
		if rest, ok := strings.CutPrefix(sign, "~/"); ok {
			place := filepath.Join(b.Home, rest)
			return b.AllTools || who.Look(place).There()
		}
		return b.AllTools || slices.Contains(spec.Capabilities, sign) || slices.Contains(programs, sign)
	}
	return host.Probe(who, host.Request{
		Hide: spec.Hide, Writable: spec.WritableRoots(),
		Later: plan.LaterFolders(spec, needed), Obeyed: plan.ObeyedRoots(spec), Startup: plan.StartupPlaces(spec, who), Display: spec.Clipboard,
		Nested: slices.Contains(spec.Allow, "nested-user-ns"), Limits: spec.Limits.Any(),
	})
}

// begun is the bwrap of a run, or why there is none, and what was started of it.
type begun struct {
	bwrap, why, fix string
	supervisor      string
	early           *launch.Early // waits for the plan; nil when nothing was started
}

// startEarly finds bwrap, and starts it while its plan is made, where a program is to run and bwrap makes its box as it is.
func startEarly(s *settings.Settings, c Call, spec profile.RunConfig, mode features.Mode) (b begun) {
	b.bwrap, b.why, b.fix = host.FindBwrap(s.Getenv("PATH"), s.SetuidBwrap)
	if mode.Made() {
		b.supervisor = cmp.Or(innerbox.Box(filepath.Join(s.InnerHome, "shims")), s.Exe)
	}
	if b.bwrap != "" && mode.Made() && !spec.Container() && !spec.Limits.Any() {
		b.early = launch.StartEarly(b.bwrap, launch.Options{Supervisor: b.supervisor, Done: c.Done})
	}
	return b
}

// Named completes a profile that names no program: a run takes the caller's shell then.
func Named(c *caller.Caller, rc profile.RunConfig) profile.RunConfig {
	if rc.Entrypoint.Cmd == "" {
		rc.Entrypoint.Cmd = c.Getenv("SHELL")
	}
	if rc.Entrypoint.Cmd == "" {
		rc.Entrypoint.Cmd = "/bin/sh"
	}
	return rc
}

// Program finds the program to run, on the PATH of the box or else on the caller's. The error is
// a *fault.Refusal.
func Program(c *caller.Caller, rc profile.RunConfig) (string, error) {
	cmd := rc.Entrypoint.Cmd
	if c.IsShim(cmd) {
		cmd = filepath.Base(cmd) // of $SHELL: the program behind it
	}
	if strings.Contains(cmd, "/") {
		if !filepath.IsAbs(cmd) {
			cmd = filepath.Join(rc.Cwd, cmd)
		}
		if err := runnable(cmd); err != nil {
			return "", err
		}
		return cmd, nil
	}
	real, err := c.FindReal(cmd, plan.BoxPath(rc, c.Getenv("PATH")))
	if err == nil {
		return real, nil
	}
	found, err2 := c.FindReal(cmd, c.Getenv("PATH"))
	if err2 == nil && filepath.IsAbs(found) {
		return found, nil
	}
	code, msg := 127, fmt.Sprintf("program %q was not found on PATH", cmd)
	if errors.Is(err, shims.ErrNotExecutable) || errors.Is(err2, shims.ErrNotExecutable) {
		code, msg = 126, fmt.Sprintf("program %q on PATH is not executable", cmd)
	}
	return "", &fault.Refusal{Code: code, Kind: fault.KindNotFound, Msg: msg, Hint: fmt.Sprintf("install %s, or name its path in entrypoint.cmd", cmd)}
}

// runnable refuses a path with no program.
func runnable(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &fault.Refusal{Code: 127, Msg: fmt.Sprintf("program %q does not exist", path)}
	case err != nil:
		return &fault.Refusal{Code: 126, Msg: err.Error()}
	case fi.IsDir() || fi.Mode().Perm()&0o111 == 0:
		return &fault.Refusal{Code: 126, Kind: fault.KindNotFound, Msg: fmt.Sprintf("program %q is not executable", path)}
	}
	return nil
}

// programThere returns the program of a box that has an image's system: a path, or a name that
// the supervisor looks for on the PATH there.
func programThere(c *caller.Caller, rc profile.RunConfig) string {
	cmd := rc.Entrypoint.Cmd
	switch {
	case c.IsShim(cmd):
		return filepath.Base(cmd)
	case strings.Contains(cmd, "/") && !filepath.IsAbs(cmd):
		return filepath.Join(rc.Cwd, cmd)
	}
	return cmd
}

// replaced returns a path of the profile that no longer leads where it led when the grants were
// compared with what was allowed; "" when there is none.
func replaced(rc profile.RunConfig, facts host.Facts) string {
	for path, real := range rc.Real {
		if at := facts.Look(path); at.Real != "" && cmp.Or(at.Link, at.Real) != real {
			return path
		}
	}
	return ""
}
