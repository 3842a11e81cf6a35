package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/stage"
)

// Backend finds what makes the box: bwrap, or where a profile says so a container engine.
func Backend() features.Feature {
	return features.Feature{
		Name: "backend", Keys: []string{"sandbox.backend", "sandbox.image"}, Learn: chooseBackend, Planned: translated,
	}
}

// chooseBackend puts the engine into the facts, or leaves them as they are for bwrap.
func chooseBackend(run *features.Run) error {
	switch rc := run.Spec; rc.Backend {
	case "podman", "docker":
		e, why, fix := findEngine(rc.Backend, run.Facts.Env, run.Facts.UID)
		if e == nil {
			return &fault.Refusal{
				Code: 125, Kind: fault.KindBackend,
				Msg: fmt.Sprintf("profile %q: the sandbox cannot start: %s", rc.Name, why), Hint: fix,
			}
		}
		return useEngine(run, e)
	case "auto":
		return anyBackend(run)
	}
	return nil
}

// anyBackend takes the first that works here: bwrap, podman without root, docker. There is no
// other: without one of them nothing runs.
func anyBackend(run *features.Run) error {
	f, rc := &run.Facts, run.Spec
	why, fix := f.BwrapWhy, f.BwrapFix
	if f.Bwrap != "" {
		said, err := TryBwrap(f.Bwrap)
		if err == nil {
			return nil
		}
		why, fix = host.ProbeNamespaces("/").Cause(f.Bwrap, said)
		if why == "" {
			why = f.Bwrap + ": " + said
		}
	}
	reasons, fixes := []string{"bwrap: " + why}, []string{fix}
	if rc.Image == "" {
		reasons = append(reasons, "podman and docker: the profile names no image (sandbox.image)")
		fixes = append(fixes, "inner profile edit "+rc.Path+`, and write: [sandbox] image = "NAME@sha256:…"`)
	} else {
		for _, name := range []string{"podman", "docker"} {
			e, why, fix := findEngine(name, f.Env, f.UID)
			if e != nil {
				return useEngine(run, e)
			}
			reasons, fixes = append(reasons, name+": "+why), append(fixes, fix)
		}
	}
	return &fault.Refusal{
		Code: 125, Kind: fault.KindBackend,
		Msg:  fmt.Sprintf("profile %q: nothing here can make its sandbox: %s", rc.Name, strings.Join(reasons, "; ")),
		Hint: strings.Join(fixes, "; or "),
	}
}

// useEngine has an engine make the box. What the host could do for bwrap does not count then.
func useEngine(run *features.Run, e *engine) error {
	f, rc := &run.Facts, run.Spec
	if rc.Image != "" && !e.hasImage(rc.Image) { // inner fetches nothing
		hint := e.Name + " images --digests"
		if strings.Contains(rc.Image, "@") {
			hint = e.Name + " pull " + rc.Image
		}
		return &fault.Refusal{
			Code: 125, Kind: fault.KindBackend,
			Msg: fmt.Sprintf("profile %q: %s has no image %s (sandbox.image)", rc.Name, e.Name, rc.Image), Hint: hint,
		}
	}
	f.Engine, f.Proc, f.MoveMount, f.SysReadOnly = &e.Engine, "fresh", false, false
	if f.Limits != nil {
		why := "it holds no other limits here, with " + e.Why
		f.Limits = &limits.Host{
			Systemd: limits.Manager{Why: e.Name + " makes the box"},
			Group:   limits.Parent{Holds: e.Holds, Why: why},
		}
		if !e.Users {
			f.Limits.NprocWhy = e.Name + " counts its processes with all of yours (RLIMIT_NPROC)"
		}
	}
	return nil
}

// translated says the plan of a run in the words of its engine, when it has one, and makes the files that its
// container has of its own.
func translated(run *features.Run) error {
	e := run.Facts.Engine
	if e == nil {
		return nil
	}
	t := Target{
		Spec: run.Spec, Engine: *e, Folder: stage.DryMark, Run: "dry-run",
		UID: run.Facts.UID, GID: run.Facts.GID,
	}
	table, err := mounts("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	for _, m := range table {
		t.Mounted = append(t.Mounted, m.At)
	}
	if run.Mode.Made() {
		if t.Folder, err = run.Folder.Dir("container"); err != nil {
			return err
		}
		t.Run = run.ID()
	}
	if run.Plan, err = Translate(run.Plan, t); err != nil || !run.Mode.Made() {
		return err
	}
	for _, f := range run.Plan.Container.Files {
		name := filepath.Join("container", f.Name)
		_ = os.Remove(filepath.Join(run.Folder.Path, name)) // of a plan before this one
		if _, err := run.Folder.File(name, []byte(f.Content), 0o444); err != nil {
			return err
		}
	}
	return nil
}
