package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/ownhome/homes"
	"github.com/enr/inner/isolator/stage"
)

func (a *app) cmdHome() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use: "home", Short: "Show the homes and caches that boxes have of their own, copy something out, move or empty one",
		Long: "Show the homes and caches that boxes have of their own, copy something out, move or empty one.\n\n" +
			"A profile with home = \"own\" has a home folder that stays between runs, one for each project.\n" +
			"With home = \"host\" it has caches of its own, one set for each project.\n" +
			"Only such boxes see them. Without --of, the commands are about the home of this project, of several\n" +
			"about the one that a box had last; --of takes a key that list prints.",
	}, a.cmdHomeList(), a.cmdHomeGet(), a.cmdHomeMove(), a.cmdHomeReset())
}

// homeKey is the key of the home that a command is about, of one that is there. Without --of it is that of the project
// here: when each agent has a home of its own, the one that a box used last, and when there is none, that of
// its caches.
func (a *app) homeKey(c *cobra.Command) (string, error) {
	of := c.Flag("of").Value.String()
	if of == "" {
		pl, err := a.Here()
		list, errList := homes.List(a.InnerHome)
		if err = cmp.Or(err, errList); err != nil {
			return "", err
		}
		root := files.Real(cmp.Or(pl.Root(), pl.Cwd))
		var last homes.Info
		for _, h := range list {
			if h.Project == root && !h.Undo &&
				(last.Key == "" || last.Caches && !h.Caches || last.Caches == h.Caches && h.Used.After(last.Used)) {
				last = h
			}
		}
		of = cmp.Or(last.Key, ownhome.Owner{Project: root}.Key())
	}
	if strings.ContainsAny(of, "/\x00") || strings.HasPrefix(of, ".") {
		return "", cli.Usagef("%q is not the key of a home: inner home list prints them", of)
	}
	if fi, err := os.Lstat(filepath.Join(ownhome.Base(a.InnerHome), of)); err != nil || !fi.IsDir() {
		return "", fault.Refuse(1, "inner home list; --of KEY names another one",
			"there is no home %q: no box with home = \"own\" has run here", of)
	}
	return of, nil
}

// homeFlag is --of of a command about one home.
func homeFlag(c *cobra.Command) *cobra.Command {
	c.Flags().String("of", "", "the `KEY` of a home, as list prints it")
	return c
}

func (a *app) cmdHomeList() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "list", Short: "List the homes, with their sizes", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		list, err := homes.List(a.InnerHome)
		return cli.Answer{Value: append([]homes.Info{}, list...), Words: func() { a.printHomes(list) }}, err
	})
}

func (a *app) printHomes(list []homes.Info) {
	if len(list) == 0 {
		a.Say("there are no homes: home = \"own\" under [sandbox] makes one")
		return
	}
	var rows [][]string
	for _, h := range list {
		rows = append(rows, []string{h.Key, visible.Size(h.Size), a.homeState(h), a.homeOwner(h)})
	}
	cli.Table(a.Out, rows)
}

func (a *app) homeState(h homes.Info) string {
	switch {
	case h.Damaged != "":
		return "damaged"
	case h.Running:
		return "running"
	}
	return "used " + h.Used.Format(time.DateOnly)
}

func (a *app) homeOwner(h homes.Info) string {
	switch {
	case h.Damaged != "":
		return "nothing runs in it; type: inner home reset --of " + h.Key
	case h.Name != "":
		return "boxes that name it"
	case h.Caches:
		return "caches of boxes in " + a.Short(h.Project)
	case h.Undo:
		return "what runs changed in " + a.Short(h.Project) + ", for inner undo"
	case h.Agents != "":
		return h.Agents + " in " + a.Short(h.Project)
	}
	return a.Short(h.Project)
}

func (a *app) cmdHomeGet() *cobra.Command {
	return homeFlag(&cobra.Command{
		Use: "get PATH [DEST]", Short: "Copy a file or a folder out of a home", Args: cobra.RangeArgs(1, 2),
		Long: "Copy a file or a folder out of a home: PATH as the box has it (~/notes.md). DEST is a folder, or a name that is\n" +
			"free; without one it goes into the current folder. The exit code is 1 when something of it could not be read.\n\n" +
			"A program in a box wrote it: what git or other tools on this computer would run of it is switched off or moved\n" +
			"aside, and said.",
		RunE: a.OnHost(func(c *cobra.Command, args []string) error {
			key, err := a.homeKey(c)
			if err != nil {
				return err
			}
			rel, err := homes.Clean(args[0], a.Home)
			if err != nil {
				return cli.Misuse(err)
			}
			return a.homeGet(key, rel, append(args, ".")[1])
		}),
	})
}

// placeFor opens the folder that a copy of something of a home goes to, and says what it is called there: dest
// is a folder, or a name in one. Links below the current folder are not followed, for a box may have made them.
func placeFor(dest, rel string) (dir *os.File, name string, err error) {
	name = filepath.Base(rel)
	if rel == "." {
		name = "home"
	}
	dir, err = openFolder(dest)
	if errors.Is(err, fs.ErrNotExist) {
		name = filepath.Base(dest)
		dir, err = openFolder(filepath.Dir(dest))
	}
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		err = fault.Refuse(1, "inner home get PATH ANOTHER-NAME", "%q already exists, and is no folder", dest)
	}
	if err != nil {
		return nil, "", err
	}
	var st unix.Stat_t
	if unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return nil, "", errors.Join(taken(name), dir.Close())
	}
	return dir, name, nil
}

func taken(name string) error {
	return fault.Refuse(1, "inner home get PATH ANOTHER-NAME", "%q already exists", name)
}

func openFolder(p string) (*os.File, error) {
	if !filepath.IsLocal(p) {
		return os.OpenFile(p, unix.O_DIRECTORY, 0)
	}
	fd, err := copytree.Open(unix.AT_FDCWD, filepath.Clean(p), unix.O_DIRECTORY)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p, Err: err}
	}
	return os.NewFile(uintptr(fd), p), nil
}

// homeGet copies to a folder of inner's first, where no box sees the copy.
func (a *app) homeGet(key, rel, dest string) error {
	dir, name, err := placeFor(dest, rel)
	if err != nil {
		return err
	}
	defer dir.Close()
	at, err := filepath.Abs(dir.Name())
	if err != nil {
		return err
	}
	run, work, err := a.scratch("get")
	if err != nil {
		return err
	}
	defer run.Close()
	ctx, end := features.Interruptible(nil) // ^C leaves nothing there
	defer end()
	left, err := homes.Get(ctx, a.InnerHome, key, rel, filepath.Join(work, name))
	var brought []string
	if err == nil {
		brought, err = features.Adoption{From: work, To: dir, At: at}.Bring(ctx, a.Caller)
	}
	again := "chmod -R u+rX " + cli.Quoted(filepath.Join(ownhome.Base(a.InnerHome), key, "home", rel)) + ", and then again"
	switch {
	case ctx.Err() != nil && len(brought) == 0:
		return &fault.Refusal{Code: cli.SignalCode(ctx), Msg: "nothing was copied"}
	case errors.Is(err, fs.ErrExist):
		return taken(name)
	case errors.Is(err, fs.ErrPermission):
		return fault.Refuse(1, again, "%v", err)
	case err != nil:
		return err
	}
	for _, p := range brought {
		fmt.Fprintln(a.Out, cli.Printable(a.Short(p)))
		a.warnLinksOut(p)
	}
	return a.leftOut(rel, left, again)
}

// scratch is a folder of inner's on the disk, where no box sees it: one in that of a run, apart from what holds it.
func (a *app) scratch(name string) (*stage.Run, string, error) {
	run, err := stage.New(a.StageBase(), a.InnerHome)
	if err != nil {
		return nil, "", err
	}
	dir, err := run.Disk()
	if err == nil {
		dir = filepath.Join(dir, name)
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		run.Close()
	}
	return run, dir, err
}

// warnLinksOut names the links in a copy that lead out of it: whoever follows one there comes to
// something else than the box had, and a box made it.
func (a *app) warnLinksOut(copied string) {
	var said []string
	for _, p := range homes.LinksOut(copied) {
		to, _ := os.Readlink(p)
		said = append(said, a.Short(p)+" -> "+to)
	}
	if len(said) > 0 {
		a.Warn("links lead out of what was copied: %s", strings.Join(visible.Some(said, 20), ", "))
	}
}

// leftOut says what of a copy was left out, and ends with 1 when that would be lost with the
// home, as cp does.
func (a *app) leftOut(rel string, left []copytree.Left, again string) error {
	lost := false
	for _, l := range left {
		a.Warn("left out: ~/%s: %s", filepath.Join(rel, l.Path), l.Why)
		lost = lost || l.Lost()
	}
	if lost {
		a.Hint("%s", again)
		return cli.Exit(1)
	}
	return nil
}

func (a *app) cmdHomeMove() *cobra.Command {
	var yes bool
	c := &cobra.Command{
		Use: "move OLD NEW", Short: "Take along the homes, caches and kept changes of a project that was moved", Args: cobra.ExactArgs(2),
		Long: "Take along the homes, caches and kept changes of a project that was moved from OLD to NEW. What NEW has of\n" +
			"its own meanwhile is removed, after asking. What was allowed is not taken along: it holds for a path.",
	}
	c.RunE = a.OnHost(func(_ *cobra.Command, args []string) error {
		cwd, err := os.Getwd()
		from, to := files.Real(a.Absolute(args[0], cwd)), files.Real(a.Absolute(args[1], cwd))
		list, lerr := homes.List(a.InnerHome)
		if err = cmp.Or(err, lerr); err != nil {
			return err
		}
		if fi, err := os.Stat(to); err != nil || !fi.IsDir() || to == from {
			return fault.Refuse(1, "mv OLD NEW comes first", "%q is not the folder of a moved project", to)
		}
		if files.Exists(a.Absolute(args[0], cwd)) { // a link may be a box's, and lead to another project
			return fault.Refuse(1, "mv OLD NEW comes first", "%q is still there", args[0])
		}
		old := slices.DeleteFunc(slices.Clone(list),
			func(h homes.Info) bool { return h.Project != from || h.Damaged != "" })
		if len(old) == 0 {
			return fault.Refuse(1, "inner home list", "%q has no home", from)
		}
		if slices.ContainsFunc(list, func(h homes.Info) bool { return h.Project == to }) {
			if err := a.askFor("Remove what "+a.Short(to)+" has in its place?", yes,
				"inner home move --yes "+cli.Quoted(args[0])+" "+cli.Quoted(args[1])); err != nil {
				return err
			}
		}
		for _, h := range old {
			if err := homes.Move(a.InnerHome, h.Key, to); err != nil {
				return err
			}
			h.Project = to
			a.Say("moved: %s (of %s)", a.homeOwner(h), a.Short(from))
		}
		return nil
	})
	cli.YesFlag(c, &yes)
	return c
}

func (a *app) cmdHomeReset() *cobra.Command {
	var yes bool
	c := homeFlag(&cobra.Command{Use: "reset", Short: "Remove a home with all that is in it, after asking", Args: cobra.NoArgs})
	c.RunE = a.OnHost(func(*cobra.Command, []string) error {
		key, err := a.homeKey(c)
		if err != nil {
			return err
		}
		keys := []string{key}
		if h := homes.Look(a.InnerHome, key); c.Flag("of").Value.String() == "" { // what runs changed goes with the home
			if kept := (ownhome.Owner{Project: h.Project, Undo: true}).Key(); files.Exists(filepath.Join(ownhome.Base(a.InnerHome), kept)) {
				keys = append(keys, kept)
			}
		}
		for _, key := range keys {
			h := homes.Look(a.InnerHome, key)
			if h.Running {
				return homes.Busy(key)
			}
			with := ", with the logins and sessions of its agents"
			if h.Caches {
				with = ": caches, which are filled again"
			} else if h.Undo {
				with = ": what runs changed, for inner undo"
			}
			fmt.Fprintf(a.Err, "to be removed: %s (%s, %s)%s\n", cli.Printable(key),
				visible.Size(h.Size), visible.Counted(h.Files, "file", "files"), with)
		}
		if err := a.askFor("Remove it?", yes, "inner home reset --yes"); err != nil {
			return err
		}
		for _, key := range keys {
			if err := homes.Reset(a.InnerHome, key); err != nil {
				return err
			}
		}
		return nil
	})
	cli.YesFlag(c, &yes)
	return c
}
