package features

// safe-rw: the box works on a copy, which goes with the run, or is kept for
// `inner changes`.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/git/index"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// copies gives the box copies of what it mounts as safe-rw.
func copies() Feature {
	var kept string // the folder of copies that stay for a review; "" when they go with the run
	return Feature{
		Name: "copies", Keys: []string{"mounts", "output.review"},
		Make: func(run *Run) (err error) {
			run.Undo(func() {
				if kept == "" {
					return
				}
				if err := stage.Discard(run.InnerHome, kept); err != nil { // it has not come to a review with something to show
					run.Warn("the copies of run %s: %v", run.ID(), err)
				}
			})
			kept, err = makeCopies(run)
			return err
		},
		Finish: func(run *Run, _ *Outcome) error {
			if kept == "" {
				return nil
			}
			empty, err := reviewed(run, kept)
			if !empty {
				kept = ""
			}
			return err
		},
	}
}

// makeCopies makes the copies of the safe-rw mounts. With a review to come
// they are kept from here on: a crash loses nothing of what the box wrote. It returns where.
func makeCopies(run *Run) (kept string, err error) {
	review, mounts := run.Spec.Output.Review, copiedMounts(run.Spec)
	if len(mounts) == 0 {
		if run.Context.Overrides.Keep {
			run.Warn("nothing to keep: profile %q mounts nothing as safe-rw", run.Spec.Name)
		}
		return "", nil
	}
	if !run.Mode.Made() {
		for _, m := range mounts {
			at := run.Folder.At("copy of " + m.Source)
			run.mirror(at, m.Source, nil, plan.Hidden(run.Spec, run.Facts, run.Assets))
			run.Assets.Copies = append(run.Assets.Copies, plan.Copy{Dest: m.Dest, Host: at})
		}
		return "", nil
	}
	disk, err := run.Folder.Disk()
	if err != nil {
		return kept, &fault.Refusal{Code: 125, Msg: "the folder for copies: " + err.Error(), Hint: "inner doctor"}
	}
	var places []string // in the folder, which is kept elsewhere
	hidden := plan.Hidden(run.Spec, run.Facts, run.Assets)
	record := changes.Record{Run: run.Folder.ID, Profile: run.Spec.Name, Path: run.Spec.Path, Command: run.Assets.Argv[0], Begun: time.Now()}
	for i, m := range mounts {
		place, source := changes.TreeName(i), run.Facts.Look(m.Source)
		if source.Kind == host.File { // which lies in a folder
			if err := os.Mkdir(filepath.Join(disk, place), 0o700); err != nil {
				return kept, err
			}
			place = filepath.Join(place, filepath.Base(source.Real))
		}
		to := filepath.Join(disk, place)
		places = append(places, place)
		res, err := copyMount(run, m, hidden, to, review)
		if err != nil {
			return kept, err
		}
		if err := mountPointsIn(run.Spec, m, to); err != nil {
			return kept, err
		}
		if review {
			c := changes.Copy{Source: changes.Path(source.Real), Dest: changes.Path(m.Dest)}
			if err := record.Add(disk, i, c, res); err != nil {
				return kept, noRoom(m, err)
			}
			noteCopied(disk, run.ID(), source.Real, to, res.Entries)
		}
	}
	if review {
		if err := record.Write(disk); err != nil {
			return kept, &fault.Refusal{Code: 125, Msg: "the record of the copies: " + err.Error()}
		}
		if disk, err = run.Folder.Keep(); err != nil {
			return kept, &fault.Refusal{Code: 125, Msg: "the copies cannot be kept: " + err.Error()}
		}
		kept = disk
	}
	for i, m := range mounts {
		run.Assets.Copies = append(run.Assets.Copies, plan.Copy{Dest: m.Dest, Host: filepath.Join(disk, places[i])})
	}
	return kept, nil
}

// copiedMounts are the safe-rw mounts.
func copiedMounts(spec profile.RunConfig) []profile.Mount {
	return slices.DeleteFunc(slices.Clone(spec.Mounts), func(m profile.Mount) bool { return m.Mode != profile.SafeRW })
}

// copyMount copies the source of one mount, shows how far it is, and can be
// interrupted.
func copyMount(run *Run, m profile.Mount, hidden []string, to string, record bool) (copytree.Result, error) {
	c, source := run.Caller, run.Facts.Look(m.Source)
	o := copytree.Options{Dev: source.ID.Dev, Ino: source.ID.Ino, Record: record}
	for _, p := range hidden {
		switch rel, in := paths.Rest(source.Real, p); {
		case !in:
		case rel == "":
			return copytree.Result{}, copyRefusal(m, "it is hidden, and cannot be copied for the box", "")
		default:
			o.Exclude = append(o.Exclude, rel)
		}
	}
	ctx, stop := Interruptible(run.Done)
	defer stop()
	defer time.AfterFunc(time.Second, func() {
		if caller.IsTerminal(c.Stderr) { // where somebody waits
			c.Say("copying %s", c.Short(m.Source))
		}
	}).Stop()
	res, err := copytree.Copy(ctx, source.Real, to, o)
	var signalled *SignalledError
	switch {
	case errors.As(context.Cause(ctx), &signalled):
		return res, &fault.Refusal{Code: 128 + int(signalled.Signal), Msg: fmt.Sprintf("interrupted while %s was copied; nothing has run", c.Short(m.Source))}
	case err != nil:
		return res, noRoom(m, err)
	}
	tellLeft(c, m, res.Left)
	if err := leaveHidden(to, o.Exclude, res.Entries); err != nil {
		run.Warn("%s: git in the copy takes tracked files that are hidden for deleted: %v", mountKey(m), err)
	}
	return res, nil
}

// leaveHidden has git in a copy take no notice of tracked files that are hidden, and so are not in it: no commit
// there deletes them. No link of the copy is followed, and the indexes of its repositories are all that changes.
func leaveHidden(tree string, hidden []string, list []copytree.Entry) (err error) {
	top, err := unix.Open(tree, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(top)
	for done := map[string]bool{}; len(hidden) > 0; hidden = hidden[1:] {
		for dir := path.Dir(hidden[0]); !done[dir]; dir = path.Dir(dir) {
			done[dir] = true
			if st, errOne := copytree.Lstat(top, path.Join(dir, ".git/index")); errOne == nil &&
				st.Mode&unix.S_IFMT == unix.S_IFREG {
				err = errors.Join(err, leaveIn(top, dir, hidden, list))
			}
		}
	}
	return err
}

// leaveIn is leaveHidden in one repository. Its index keeps its time, as git believes times that are older.
func leaveIn(top int, dir string, hidden []string, list []copytree.Entry) error {
	file := path.Join(dir, ".git/index")
	data, err := copytree.Read(top, file, maxIndex)
	if err != nil {
		return err
	}
	away, none := map[string]bool{}, true
	for _, p := range hidden {
		away[p] = true
	}
	x, err := index.Parse(data)
	var served []byte
	if err == nil {
		served, err = x.Served(func(name string) bool {
			for p := path.Join(dir, name); p != "."; p = path.Dir(p) {
				if away[p] {
					none = false
					return true
				}
			}
			return false
		})
	}
	if err == nil && none || err != nil && !slices.ContainsFunc(hidden,
		func(p string) bool { return index.MayHold(data, strings.TrimPrefix(p, dir+"/")) }) {
		return nil
	}
	if err != nil {
		return err
	}
	return copytree.In(top, file, func(parent int, name string) error {
		var was, now unix.Stat_t
		temp := ".inner-" + rand.Text()
		err := errors.Join(unix.Fstatat(parent, name, &was, unix.AT_SYMLINK_NOFOLLOW),
			copytree.New(parent, temp, served, fs.FileMode(was.Mode).Perm()))
		if err != nil {
			return err
		}
		times := []unix.Timespec{was.Atim, was.Mtim}
		err = errors.Join(unix.UtimesNanoAt(parent, temp, times, unix.AT_SYMLINK_NOFOLLOW),
			unix.Renameat(parent, temp, parent, name), unix.Fstatat(parent, name, &now, unix.AT_SYMLINK_NOFOLLOW))
		for i := range list {
			if list[i].Path == file {
				list[i].Copy = now.Ino
			}
		}
		return err
	})
}

// maxIndex bounds an index that is read.
const maxIndex = 512 << 20

// tellLeft names what is not in a copy and could have been expected there.
func tellLeft(c *caller.Caller, m profile.Mount, left []copytree.Left) {
	const most = 3
	for i, l := range left {
		if i == most {
			c.Warn("%s: and %d more", mountKey(m), len(left)-most)
			return
		}
		c.Warn("%s: %q is not in the copy: %s", mountKey(m), l.Path, l.Why)
	}
}

// mountPointsIn makes sure that what is mounted in a copy finds its place
// there.
func mountPointsIn(rc profile.RunConfig, over profile.Mount, tree string) error {
	for _, m := range rc.Mounts {
		rel, in := paths.Rest(files.Real(over.Dest), files.Real(m.Dest))
		if in && rel != "" && !between(rc, over, m) && !copytree.Has(tree, rel) {
			return copyRefusal(m, fmt.Sprintf("dest %q is not in the copy of %q", m.Dest, over.Source), "create it first")
		}
	}
	return nil
}

// between reports whether another mount lies between a mount and one in it.
func between(rc profile.RunConfig, over, m profile.Mount) bool {
	return slices.ContainsFunc(rc.Mounts, func(x profile.Mount) bool {
		return x.Dest != over.Dest && x.Dest != m.Dest && paths.Below(over.Dest, x.Dest) && paths.Below(x.Dest, m.Dest)
	})
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
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return copyRefusal(m, fmt.Sprintf("no room in INNER_HOME for the copy of %q: %v", m.Source, err), "free some space, or mount a smaller folder as safe-rw")
	case errors.Is(err, copytree.ErrOther), errors.Is(err, fs.ErrNotExist):
		return copyRefusal(m, fmt.Sprintf("mount source %q is gone, or another one is in its place", m.Source), "run it again")
	}
	return copyRefusal(m, fmt.Sprintf("%q cannot be copied: %v", m.Source, err), "")
}

// SignalledError is why an Interruptible context ended.
type SignalledError struct{ Signal syscall.Signal }

func (e *SignalledError) Error() string { return e.Signal.String() }

// Interruptible returns a context that the signals which end a program cancel, or, when ends is not nil,
// that channel, so that what was begun can be taken away.
func Interruptible(ends <-chan struct{}) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	ch := make(chan os.Signal, 8)
	if ends == nil {
		signal.Notify(ch, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	}
	go func() {
		select {
		case s := <-ch:
			n, _ := s.(syscall.Signal)
			cancel(&SignalledError{n})
		case <-ends:
			cancel(&SignalledError{syscall.SIGKILL})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(ch)
		cancel(nil)
	}
}

// reviewed ends a run whose copies were kept: with a list of what changed. Copies in which
// nothing did are empty.
func reviewed(run *Run, kept string) (empty bool, err error) {
	k, err := changes.Open(kept)
	if err != nil {
		return true, err
	}
	list, err := k.Finish()
	if err != nil {
		return false, err
	}
	if len(list) == 0 {
		run.Say("nothing changed in the copy of %s", Sources(run.Caller, k))
		return true, nil
	}
	ListChanges(run.Caller, k, list, someChanges)
	run.Hint("inner changes show %s", k.Record.Run)
	return false, nil
}
