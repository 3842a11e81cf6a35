package main

// safe-rw: the box works on a copy, which goes with the run, or is kept for
// `inner changes`.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile"
)

// stageCopies makes the copies of the safe-rw mounts. With a review to come
// they are kept from here on: a crash loses nothing of what the box wrote.
func stageCopies(j *journey) error {
	review := j.rc.Output.Review
	var mounts []profile.Mount
	for _, m := range j.rc.Mounts {
		if m.Mode == profile.SafeRW {
			mounts = append(mounts, m)
		}
	}
	if len(mounts) == 0 {
		if j.context.Overrides.Keep {
			j.app.warn("nothing to keep: profile %q mounts nothing as safe-rw", j.rc.Name)
		}
		return nil
	}
	disk, err := j.run.Disk()
	if err != nil {
		return &fault.Refusal{Code: 125, Msg: "the folder for copies: " + err.Error(), Hint: "inner doctor"}
	}
	made := disk
	var copies []plan.Copy
	hidden := plan.Hidden(j.rc, j.prep.facts, j.staged)
	record := changes.Record{Run: j.run.ID, Profile: j.rc.Name, Path: j.rc.Path, Command: j.prep.argv[0], Begun: time.Now()}
	for i, m := range mounts {
		to := filepath.Join(disk, changes.TreeName(i))
		if j.prep.facts.Paths[m.Source].Kind == host.File { // in a folder of its own
			if err := os.Mkdir(to, 0o700); err != nil {
				return err
			}
			to = filepath.Join(to, filepath.Base(j.prep.facts.Paths[m.Source].Real))
		}
		copies = append(copies, plan.Copy{Dest: m.Dest, Host: to})
		res, err := j.app.copyMount(m, j.prep.facts, hidden, to, review)
		if err != nil {
			return err
		}
		if err := mountPointsIn(j.rc, m, to); err != nil {
			return err
		}
		if review {
			c := changes.Copy{Source: j.prep.facts.Paths[m.Source].Real, Dest: m.Dest}
			if err := record.Add(disk, i, c, res); err != nil {
				return noRoom(m, err)
			}
		}
	}
	if review {
		if err := record.Write(disk); err != nil {
			return &fault.Refusal{Code: 125, Msg: "the record of the copies: " + err.Error()}
		}
		if disk, err = j.run.Keep(); err != nil {
			return &fault.Refusal{Code: 125, Msg: "the copies cannot be kept: " + err.Error()}
		}
		j.kept = disk
		j.after = append(j.after, (*journey).review)
	}
	for _, c := range copies { // where they are now
		rel, err := filepath.Rel(made, c.Host)
		if err != nil {
			return err
		}
		j.staged.Copies = append(j.staged.Copies, plan.Copy{Dest: c.Dest, Host: filepath.Join(disk, rel)})
	}
	return nil
}

// copyMount copies the source of one mount, shows how far it is, and can be
// interrupted.
func (a *app) copyMount(m profile.Mount, f host.Facts, hidden []string, to string, record bool) (copytree.Result, error) {
	source := f.Paths[m.Source]
	o := copytree.Options{Dev: source.ID.Dev, Ino: source.ID.Ino, Record: record, Progress: &copytree.Progress{}}
	for _, p := range hidden {
		switch rel, err := filepath.Rel(source.Real, p); {
		case err != nil || rel == ".." || strings.HasPrefix(rel, "../"):
		case rel == ".":
			return copytree.Result{}, copyRefusal(m, "it is hidden, and cannot be copied for the box", "")
		default:
			o.Exclude = append(o.Exclude, rel)
		}
	}
	ctx, stop := interruptible()
	defer stop()
	done := a.progress("copying "+a.Short(m.Source), o.Progress.Done.Load, o.Progress.Total.Load)
	res, err := copytree.Copy(ctx, source.Real, to, o)
	done()
	var signalled *signalledError
	switch {
	case errors.As(context.Cause(ctx), &signalled):
		return res, &fault.Refusal{Code: 128 + int(signalled.signal), Msg: fmt.Sprintf("interrupted while %s was copied; nothing has run", a.Short(m.Source))}
	case err != nil:
		return res, noRoom(m, err)
	}
	a.tellLeft(m, res.Left)
	return res, nil
}

// tellLeft names what is not in a copy and could have been expected there.
func (a *app) tellLeft(m profile.Mount, left []copytree.Left) {
	const most = 3
	for i, l := range left {
		if i == most {
			a.warn("%s: and %d more", mountKey(m), len(left)-most)
			return
		}
		a.warn("%s: %q is not in the copy: %s", mountKey(m), l.Path, l.Why)
	}
}

// mountPointsIn makes sure that what is mounted in a copy finds its place
// there.
func mountPointsIn(rc profile.RunConfig, over profile.Mount, tree string) error {
	for _, m := range rc.Mounts {
		rel, err := filepath.Rel(files.Real(over.Dest), files.Real(m.Dest))
		if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") || between(rc, over, m) {
			continue
		}
		if !copytree.Has(tree, rel) {
			return copyRefusal(m, fmt.Sprintf("dest %q is not in the copy of %q", m.Dest, over.Source), "create it first")
		}
	}
	return nil
}

// between reports whether another mount lies between a mount and one in it.
func between(rc profile.RunConfig, over, m profile.Mount) bool {
	for _, x := range rc.Mounts {
		if x.Dest != over.Dest && x.Dest != m.Dest && inFolder(over.Dest, x.Dest) && inFolder(x.Dest, m.Dest) {
			return true
		}
	}
	return false
}

func mountKey(m profile.Mount) string { return fmt.Sprintf("mounts.%q", m.Written) }

func copyRefusal(m profile.Mount, why, hint string) error {
	at := ""
	if m.Line > 0 {
		at = fmt.Sprintf(" (%s:%d)", filepath.Base(m.File), m.Line)
	}
	return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("%s%s: %s", mountKey(m), at, why), Hint: hint}
}

// noRoom puts a failed copy into words.
func noRoom(m profile.Mount, err error) error {
	var room *copytree.NoRoomError
	switch {
	case errors.As(err, &room):
		return copyRefusal(m, fmt.Sprintf("no room for the copy of %q in INNER_HOME: %s", m.Source, room), "free some space, or mount a smaller folder as safe-rw")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return copyRefusal(m, fmt.Sprintf("the disk of INNER_HOME was full before %q was copied", m.Source), "free some space, or mount a smaller folder as safe-rw")
	case errors.Is(err, copytree.ErrOther), errors.Is(err, fs.ErrNotExist):
		return copyRefusal(m, fmt.Sprintf("mount source %q is gone, or another one is in its place", m.Source), "run it again")
	}
	return copyRefusal(m, fmt.Sprintf("%q cannot be copied: %v", m.Source, err), "")
}

// signalledError is why an interruptible context ended.
type signalledError struct{ signal syscall.Signal }

func (e *signalledError) Error() string { return e.signal.String() }

// interruptible returns a context that the signals which end a program cancel,
// so that what was begun can be taken away.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 8)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-ch:
			n, _ := s.(syscall.Signal)
			cancel(&signalledError{n})
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		close(done)
	}
}

// review ends a run whose copies were kept: with a list of what changed.
func (j *journey) review() error {
	dir := j.kept
	k, err := changes.Open(dir)
	if err != nil {
		return err
	}
	list, err := k.Finish()
	if err != nil {
		j.kept = ""
		return err
	}
	if len(list) == 0 {
		j.app.say("nothing changed in the copy of %s", j.app.sources(k))
		return nil
	}
	j.kept = ""
	j.app.listChanges(k, list, someChanges)
	j.app.hint("inner changes show %s", k.Record.Run)
	return nil
}

// dropCopies lets copies that were to be kept go with the run, when it has not
// come to a review with something to show.
func (j *journey) dropCopies() error {
	if j.kept == "" {
		return nil
	}
	return j.run.Unkeep(j.kept)
}
