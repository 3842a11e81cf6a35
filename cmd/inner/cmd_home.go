package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/repos"
)

func (a *app) cmdHome() *cobra.Command {
	c := &cobra.Command{
		Use: "home", Short: "Show the homes and caches that boxes have of their own, copy something out, or empty one",
		Long: "Show the homes and caches that boxes have of their own, copy something out, or empty one.\n\n" +
			"A profile with home = \"own\" has a home folder that stays between runs: one for each project, or the\n" +
			"one that home_name names. With home = \"host\" it has caches of its own, one set for each project.\n" +
			"Only such boxes see them. Without --of, the commands are about the home of this project, of several\n" +
			"about the one that a box had last; --of takes a key that list prints.",
	}
	c.AddCommand(a.cmdHomeList(), a.cmdHomeShow(), a.cmdHomeGet(), a.cmdHomeReset())
	return c
}

// homeKey is the key of the home that is meant, of one that is there.
func (a *app) homeKey(of string) (string, error) {
	if of == "" {
		pl, err := a.Here()
		if err != nil {
			return "", err
		}
		root := pl.Root()
		if root == "" {
			root = pl.Cwd
		}
		if of, err = a.projectHome(files.Real(root)); err != nil {
			return "", err
		}
	}
	if strings.ContainsAny(of, "/\x00") || strings.HasPrefix(of, ".") {
		return "", usagef("%q is not the key of a home: inner home list prints them", of)
	}
	if fi, err := os.Lstat(filepath.Join(ownhome.Base(a.InnerHome), of)); err != nil || !fi.IsDir() {
		return "", fault.Refuse(1, "inner home list; --of KEY names another one", "there is no home %q: no box with home = \"own\" has run here", of)
	}
	return of, nil
}

// projectHome is the key of the home of a project. When each agent has a home of its own, it
// is the one that a box used last; when there is none, it is that of the project's caches.
func (a *app) projectHome(root string) (string, error) {
	list, err := ownhome.List(a.InnerHome)
	if err != nil {
		return "", err
	}
	var last ownhome.Info
	for _, h := range list {
		if h.Project == root && (last.Key == "" || last.Caches && !h.Caches || last.Caches == h.Caches && h.Used.After(last.Used)) {
			last = h
		}
	}
	if last.Key == "" {
		return ownhome.Owner{Project: root}.Key(), nil
	}
	return last.Key, nil
}

// homeCommand is a command about one home.
func (a *app) homeCommand(c *cobra.Command, do func(key string, args []string) error) *cobra.Command {
	find := a.homeFlag(c)
	c.RunE = a.onHost(func(_ *cobra.Command, args []string) error {
		key, err := find()
		if err != nil {
			return err
		}
		return do(key, args)
	})
	return c
}

// homeFlag is --of of a command about one home; find is the key of the home that is meant.
func (a *app) homeFlag(c *cobra.Command) (find func() (string, error)) {
	of := c.Flags().String("of", "", "the `KEY` of a home, as list prints it")
	return func() (string, error) { return a.homeKey(*of) }
}

func (a *app) cmdHomeList() *cobra.Command {
	return a.answersOnHost(&cobra.Command{
		Use: "list", Short: "List the homes, with their sizes", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (answer, error) {
		list, err := ownhome.List(a.InnerHome)
		return answer{value: append([]ownhome.Info{}, list...), words: func() { a.printHomes(list) }}, err
	})
}

func (a *app) printHomes(list []ownhome.Info) {
	if len(list) == 0 {
		a.Say("there are no homes: home = \"own\" under [sandbox] makes one")
		return
	}
	var rows [][]string
	for _, h := range list {
		rows = append(rows, []string{h.Key, copytree.Size(h.Size), a.homeState(h), a.homeOwner(h)})
	}
	tell.Table(a.stdout, rows)
}

func (a *app) homeState(h ownhome.Info) string {
	switch {
	case h.Damaged != "":
		return "damaged"
	case h.Running:
		return "running"
	}
	return "used " + h.Used.Format(time.DateOnly)
}

func (a *app) homeOwner(h ownhome.Info) string {
	switch {
	case h.Damaged != "":
		return "nothing runs in it; type: inner home reset --of " + h.Key
	case h.Name != "":
		return "boxes that name it"
	case h.Caches:
		return "caches of boxes in " + a.Short(h.Project)
	case h.Agents != "":
		return h.Agents + " in " + a.Short(h.Project)
	}
	return a.Short(h.Project)
}

func (a *app) cmdHomeShow() *cobra.Command {
	var find func() (string, error)
	c := a.answersOnHost(&cobra.Command{Use: "show", Short: "Say what is in a home", Args: cobra.NoArgs}, func(*cobra.Command, []string) (answer, error) {
		key, err := find()
		if err != nil {
			return answer{}, err
		}
		h := ownhome.Look(a.InnerHome, key)
		return answer{value: h, words: func() {
			fmt.Fprintf(a.stdout, "%s\n%s, %s, %s\n", printable(filepath.Join(a.Short(ownhome.Base(a.InnerHome)), key)), copytree.Size(h.Size), counted(h.Files, "file", "files"), a.homeState(h))
			var rows [][]string
			for _, e := range h.Top {
				rows = append(rows, []string{"  ~/" + e.Name, copytree.Size(e.Size), counted(e.Files, "file", "files")})
			}
			tell.Table(a.stdout, rows)
		}}, nil
	})
	find = a.homeFlag(c)
	return c
}

func (a *app) cmdHomeGet() *cobra.Command {
	return a.homeCommand(&cobra.Command{
		Use: "get PATH [DEST]", Short: "Copy a file or a folder out of a home", Args: cobra.RangeArgs(1, 2),
		Long: "Copy a file or a folder out of a home: PATH as the box has it (~/notes.md). DEST is a folder, or a name that is\n" +
			"free; without one it goes into the current folder. The exit code is 1 when something of it could not be read.\n\n" +
			"A program in a box wrote it: what git or other tools on this computer would run of it is switched off or moved\n" +
			"aside, and said.",
	}, func(key string, args []string) error {
		rel, err := ownhome.Clean(args[0], a.Home)
		if err != nil {
			return usage{err}
		}
		dest := "."
		if len(args) > 1 {
			dest = args[1]
		}
		return a.homeGet(key, rel, dest)
	})
}

// freeName is where a copy of something of a home goes: into a folder that is there, else under
// a name that is free.
func freeName(dest, rel string) (string, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return "", err
	}
	name := filepath.Base(rel)
	if rel == "." {
		name = "home"
	}
	if fi, err := os.Stat(dest); err == nil && fi.IsDir() {
		dest = filepath.Join(dest, name)
	}
	if _, err := os.Lstat(dest); !errors.Is(err, fs.ErrNotExist) {
		return "", fault.Refuse(1, "inner home get PATH ANOTHER-NAME", "%q already exists", dest)
	}
	return dest, nil
}

func (a *app) homeGet(key, rel, dest string) error {
	dest, err := freeName(dest, rel)
	if err != nil {
		return err
	}
	// What tools would obey is found, and switched off, before it has the name that was asked for.
	work, err := os.MkdirTemp(filepath.Dir(dest), ".inner-get-")
	if err != nil {
		return err
	}
	ctx, end := a.interrupts.context() // ^C leaves nothing there
	defer end()
	defer func() { _ = copytree.Remove(work) }()
	left, err := ownhome.Get(ctx, a.InnerHome, key, rel, filepath.Join(work, filepath.Base(dest)))
	if err == nil {
		err = a.holdCopy(work, filepath.Dir(dest))
	}
	if ctx.Err() != nil {
		a.Say("nothing was copied")
		return exit(1)
	}
	again := "chmod -R u+rX " + quoted(filepath.Join(ownhome.Base(a.InnerHome), key, "home", rel)) + ", and then again"
	if errors.Is(err, fs.ErrPermission) {
		return fault.Refuse(1, again, "%v", err)
	}
	if err != nil {
		return err
	}
	if err := a.outOf(work, filepath.Dir(dest)); err != nil {
		return err
	}
	return a.leftOut(rel, left, again)
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
		return exit(1)
	}
	return nil
}

// holdCopy switches off and moves aside what tools on this computer would obey of a copy in
// the folder work, and says so with the names that it will have in dir.
func (a *app) holdCopy(work, dir string) error {
	found, err := repos.Search{
		Roots: []string{work}, Obeyed: []string{work}, Timeless: []string{work}, Homes: a.Homes(), Limit: time.Minute, Hooks: host.EverywhereHooks(a.Getenv),
	}.Hold()
	at := func(p string) string {
		if rest, ok := strings.CutPrefix(p, files.Real(work)+"/"); ok {
			p = filepath.Join(dir, rest)
		}
		return a.Short(p)
	}
	for _, h := range found.Held {
		a.Warn("%s would run on your machine, and is switched off: %s; the original is %s", at(h.Place), strings.Join(h.What, ", "), at(h.Aside[0].Kept))
	}
	for _, m := range found.Moved {
		a.Warn("%s would be obeyed by %s, and is %s", at(m.Path), m.Tool, at(m.Kept))
	}
	if len(found.Unseen) > 0 {
		return errors.New("the copy is too large or too deep to look for what tools on your machine would obey: copy parts of it")
	}
	return err
}

// outOf moves what is in a folder to another one, and prints where it is now.
func (a *app) outOf(work, dir string) error {
	entries, err := os.ReadDir(work)
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if files.Exists(to) {
			return fmt.Errorf("%q is there now", to)
		}
		if err := os.Rename(filepath.Join(work, e.Name()), to); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, printable(a.Short(to)))
	}
	return nil
}

func (a *app) cmdHomeReset() *cobra.Command {
	var yes bool
	c := a.homeCommand(&cobra.Command{
		Use: "reset", Short: "Remove a home with all that is in it, after asking", Args: cobra.NoArgs,
	}, func(key string, _ []string) error {
		h := ownhome.Look(a.InnerHome, key)
		with := ", with the logins and sessions of its agents"
		if h.Caches {
			with = ": caches, which are filled again"
		}
		fmt.Fprintf(a.stderr, "to be removed: %s (%s, %s)%s\n", printable(key), copytree.Size(h.Size), counted(h.Files, "file", "files"), with)
		if err := a.askFor("Remove it?", yes, "inner home reset --yes"); err != nil {
			return err
		}
		return ownhome.Reset(a.InnerHome, key)
	})
	yesFlag(c, &yes)
	return c
}
