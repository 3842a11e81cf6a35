package main

import (
	"path/filepath"
	"slices"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/changes"
	"github.com/enr/inner/isolator/ownhome"
	"github.com/enr/inner/isolator/review"
)

// Copies that boxes have of files of the project: see package ownhome. They belong to no
// run, and nothing of them is applied.

// listFiles lists the copies that differ from what inner made.
func (a *app) listFiles(list []ownhome.Changed) {
	for _, f := range list {
		a.Say("%s has a %s of its own; yours stays as it is", f.Owner, a.Short(f.Original))
		a.Hint("inner changes show %s", cli.Quoted(f.Original))
	}
}

func (a *app) printFiles(list []changes.Change, asJSON bool) error {
	if asJSON {
		return a.printChanges(list)
	}
	return a.printDiff(list)
}

// changedFiles are the differences at the paths, when all of them are of such files.
func (a *app) changedFiles(named []string) ([]changes.Change, error) {
	var out []changes.Change
	list, err := ownhome.ChangedFiles(a.InnerHome)
	for _, p := range named {
		at, _ := filepath.Abs(p)
		n := len(out)
		for _, f := range list {
			if f.Original == at {
				c, err := review.OfCopy(filepath.Dir(filepath.Dir(at)), at, f.Copies)
				if err != nil {
					return nil, err
				}
				out = append(out, c)
			}
		}
		if len(out) == n {
			return nil, err
		}
	}
	return slices.Clip(out), err
}
