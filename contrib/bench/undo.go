package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/enr/inner/isolator/copytree"
	"github.com/enr/inner/isolator/undo"
)

// undos time what is kept of a project before a run, beside the start of its box, and after it.
func (b *bench) undos() (rows []row) {
	for _, n := range []int{300, 50_000} {
		for _, repository := range []bool{false, true} {
			what := fmt.Sprintf("%d files", n)
			p := undo.Project{
				Top:  filepath.Join(b.home, fmt.Sprintf("undo-%d-%v", n, repository)),
				Home: filepath.Join(b.home, "undo"), Git: "/usr/bin/git",
			}
			if repository {
				what += " of a repository"
				p.Objects, p.Index = filepath.Join(p.Top, ".git"), filepath.Join(p.Top, ".git", "index")
			}
			run := 0
			begin := func() *undo.Snapshot {
				run++
				return value(undo.Begin(context.Background(), p, undo.About{Run: fmt.Sprintf("r%06d", run)}))
			}
			aim := "≤ +5 ms"
			if n > 300 {
				aim = "≤ +60 ms"
			}
			look := func() {
				must(copytree.Walk(p.Top, []string{"."}, func(rel string,
					_ unix.Stat_t,
				) bool {
					return rel != ".git"
				}))
			}
			rows = append(rows, row{
				part: "undo", what: "before a run, " + what + ", unchanged", ours: func() { begin().Drop() },
				against: "lstat(2) of each", theirs: look, aim: aim, runs: 20,
				open: func() {
					must(os.MkdirAll(p.Home, 0o700))
					must(os.MkdirAll(p.Top, 0o755))
					b.output(p.Top, "sh", "-euc", makeRepository, "sh", fmt.Sprint(n))
					if !repository {
						must(os.RemoveAll(filepath.Join(p.Top, ".git")))
					}
				},
			})
			var s *undo.Snapshot
			rows = append(rows, row{
				part: "undo", what: "after it, " + what + ", ten changed", runs: 10,
				before: func() {
					s = begin()
					for i := range 10 {
						must(os.WriteFile(filepath.Join(p.Top, fmt.Sprintf("d0/f%d", i)),
							fmt.Append(nil, run), 0o644))
					}
				},
				ours: func() { value(s.End(context.Background())) },
			})
		}
	}
	return rows
}
