package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/isolator/consent"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/trust"
	"github.com/enr/inner/shims"
)

// Words that two of the profiles to be allowed claim: the person says which one has each.

// rivals are the words that two of the profiles claim, those allowed before among
// them.
func (a *app) rivals(p proposal) []shims.Rivals {
	return slices.DeleteFunc(a.Look(p.place).Rivals(p.has), func(r shims.Rivals) bool {
		return slices.ContainsFunc(p.cfg.Config.Shims, func(kv profile.KV) bool { return kv.Key == r.Word })
	})
}

// askRivals asks which profile is to have each word, notes it in the candidates, and
// returns the words that stay open.
func (a *app) askRivals(root string, rivals []shims.Rivals, list []consent.Candidate, yes bool) (open []shims.Rivals, err error) {
	for _, r := range rivals {
		if yes || !caller.IsTerminal(a.In) {
			open = append(open, r)
			continue
		}
		n, err := a.askRival(r)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			open = append(open, r)
			continue
		}
		for j, path := range r.Paths {
			i := slices.IndexFunc(list, func(c consent.Candidate) bool { return c.Profile.Path == path })
			if i < 0 { // allowed before, and not named now
				if err := a.Trust().Yield(root, path, r.Word, j != n-1); err != nil {
					a.Fail(err)
				}
				continue
			}
			list[i].Yields = trust.WithWord(list[i].Yields, r.Word, j != n-1)
		}
	}
	return open, nil
}

// askRival asks which of the profiles is to have a word: its number, or 0 for none.
func (a *app) askRival(r shims.Rivals) (int, error) {
	a.Say("%s is claimed by %s. Which one should run it?", r.Word, strings.Join(r.Names, " and "))
	for i, name := range r.Names {
		fmt.Fprintf(a.Err, "  %d  %s\n", i+1, cli.Printable(name))
	}
	text, ok := a.answer(fmt.Sprintf("[1-%d, Enter: none of them] ", len(r.Names)))
	if !ok {
		a.Say("nothing was allowed")
		return 0, cli.Exit(1)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > len(r.Names) {
		return 0, nil
	}
	return n, nil
}
