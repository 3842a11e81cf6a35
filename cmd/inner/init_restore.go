package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/builtin"
)

// Restoring the built-in profiles: inner init --restore.

// restore writes the built-in profiles as they come with this version of inner. What was changed in them is lost.
func (a *app) restore(yes bool) error {
	changed := a.changedBuiltins()
	if len(changed) > 0 {
		for _, name := range changed {
			a.Say("profile %s is not the built-in one any more: inner profile diff %s shows both", name, name)
		}
		if err := a.askFor(fmt.Sprintf("Restore %d built-in profiles?", len(changed)), yes, "inner init --restore --yes"); err != nil {
			return err
		}
	}
	for _, name := range changed {
		// Taken away first: what is there may be a link or a folder's name.
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	written, err := a.Install("")
	if err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(a.Out, path)
	}
	if len(written) == 0 {
		a.Say("the built-in profiles are unmodified; nothing was changed")
	}
	return a.Regenerate()
}

// changedBuiltins names the built-in profiles that are not as they came.
// Missing ones are not among them: bringing them back loses nothing.
func (a *app) changedBuiltins() []string {
	var out []string
	for _, name := range builtin.Names() {
		path := filepath.Join(a.ProfilesDir(), name+".toml")
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if file, err := profile.ReadFile(path); err != nil || !bytes.Equal(file.Data, builtin.Read(name)) {
			out = append(out, name)
		}
	}
	return out
}
