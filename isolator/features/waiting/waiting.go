// Package waiting is what a person does with what boxes did in git and that has not come to the host, or stays
// with them: inner changes. A start links nothing of it.
package waiting

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/git/clone"
	"github.com/enr/inner/isolator/git/server"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/profile/gitconfig"
)

// FromCopies reports whether a change to one of git's own records comes as a clone's does: its repository was
// there before.
func FromCopies(k *changes.Kept, c changes.Change) bool {
	top, _ := c.Repository()
	fi, err := os.Lstat(filepath.Join(top, ".git"))
	return c.GitRecord() && (files.Exists(features.CopiedGit(k.Dir, top)) || err == nil && fi.IsDir())
}

// copiedState is what is noted of the repository in a copy. Without that all that the box has comes aside.
func copiedState(k *changes.Kept, top string) clone.State {
	dir := features.CopiedGit(k.Dir, top)
	if list := clone.States(dir); len(list) > 0 {
		return list[0]
	}
	_ = os.MkdirAll(dir, 0o700)
	return clone.State{Private: dir, Run: k.Record.Run, Top: top}
}

// BringCopies brings what a box committed in the repositories of such changes, and returns those changes that
// are done with.
func BringCopies(c *caller.Caller, k *changes.Kept, list []changes.Change) (done []changes.Change) {
	waits := map[string]bool{}
	for _, change := range list {
		top, at := change.Repository()
		if _, known := waits[top]; !known {
			waits[top] = true
			if files.Real(at) != files.Real(k.Dir)+at[len(k.Dir):] {
				c.Warn("git: the sandbox put something else in the place of %s: nothing of it comes",
					c.Short(filepath.Join(top, ".git")))
				continue
			}
			program, _ := host.FindHelper("git", c.Getenv("PATH"))
			for _, ref := range features.Rewound(program, features.BringClone(c, copiedState(k, top), at)) {
				text, command := ref.Words()
				c.Say("git: %s", text)
				c.Hint("%s", command)
			}
			waits[top] = len(clone.States(features.CopiedGit(k.Dir, top))) > 0
		}
		if !waits[top] {
			done = append(done, change)
		}
	}
	return done
}

// Gits are the clones below an INNER_HOME of which something waits.
func Gits(innerHome string) []clone.State {
	return slices.DeleteFunc(clone.States(features.BoxFolders(innerHome)),
		func(s clone.State) bool { return s.Lines == nil })
}

func of(c *caller.Caller, id string) []clone.State {
	return slices.DeleteFunc(Gits(c.InnerHome), func(s clone.State) bool { return s.Run != id })
}

// Apply tries again to bring what is kept of a run, and reports whether there was anything.
func Apply(c *caller.Caller, id string) bool {
	kept := of(c, id)
	for _, s := range kept {
		features.Settle(c, s.Private, id)
	}
	if len(kept) > 0 && len(of(c, id)) == 0 {
		c.Say("git: what run %s had left has come", id)
	}
	return len(kept) > 0
}

// Drop drops what is kept of a run in git, and reports whether there was anything.
func Drop(c *caller.Caller, id string) (dropped bool, err error) {
	for _, s := range of(c, id) {
		c.Say("dropped the git directory of run %s", id)
		dropped, err = true, errors.Join(err, s.Drop())
	}
	return dropped, err
}

// SaySettings names the settings of git that boxes have changed for themselves in the repository
// that a folder is in.
func SaySettings(c *caller.Caller, folder string) {
	list, _ := filepath.Glob(features.BoxFolders(c.InnerHome))
	for _, dir := range list {
		text, _ := os.ReadFile(filepath.Join(dir, features.GitTop))
		top := strings.TrimSpace(string(text))
		if _, in := paths.Rest(top, folder); top == "" || !in {
			continue
		}
		for _, name := range stay(dir) {
			c.Say("git: a setting that a sandbox changed in %s stays with it: %s", c.Short(top), name)
		}
	}
}

// stay names the settings in the private folder of a box that it changed and that stay with it.
func stay(private string) (names []string) {
	read := func(name string) (list []gitconfig.Entry) {
		if data, err := files.Read(filepath.Join(private, name), files.NoLinks, 1<<20); err == nil {
			list, _ = gitconfig.Parse(data)
		}
		return list
	}
	base := read(server.BaseSettings)
	for _, e := range server.Less(read(filepath.Join("own", server.OwnSettings)), base) {
		if !server.Passes(e, base) {
			names = append(names, server.Named(e))
		}
	}
	return names
}
