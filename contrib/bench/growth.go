package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const grows = "how cost grows"

// growth times the same with more and more of one thing. Each has a home of its own.
func (b *bench) growth() (rows []row) {
	for _, n := range []int{1, 10, 100} {
		dir := filepath.Join(b.home, fmt.Sprint(n, " profiles"))
		rows = append(rows, b.prompts(grows, func() {
			names := []string{b.inner, "allow", "--yes"}
			for i := range n {
				names = append(names, fmt.Sprint("p", i))
				writeFiles(dir, map[string]string{".inner/profiles/" + names[i+3] + ".toml": profile("true", "")})
			}
			b.output(dir, names...)
		}, false, dir)...)
	}
	for _, thing := range []struct {
		what string
		of   []int
		make func(home, app string, n int, run []string)
	}{
		{"secret files in the project", []int{10, 100, 1000}, func(_, app string, n int, _ []string) { many(app, "pem", n) }},
		{"records", []int{10, 100, 1000}, func(_, app string, n int, run []string) {
			for range n {
				b.output(app, run...)
			}
		}},
		{"own homes", []int{10, 100, 500}, func(home, _ string, n int, run []string) {
			for i := range n {
				app := filepath.Join(home, fmt.Sprint("other", i))
				must(os.MkdirAll(app, 0o700))
				b.output(app, append(run[:2:2], append([]string{app}, run[3:]...)...)...)
			}
		}},
		{"files", []int{5_000, 50_000, 500_000}, func(_, app string, n int, _ []string) { many(app, "txt", n) }},
		{"files of a repository", []int{5_000, 50_000, 500_000}, func(_, app string, n int, _ []string) {
			many(app, "txt", n)
			b.output(app, "sh", "-euc", commitAll)
		}},
		{"refs", []int{1_000, 10_000, 100_000}, func(_, app string, n int, _ []string) {
			many(app, "txt", 10)
			id := strings.TrimSpace(b.output(app, "sh", "-euc", commitAll))
			refs := []string{"# pack-refs with: peeled fully-peeled sorted "}
			for i := range n {
				refs = append(refs, fmt.Sprintf("%s refs/heads/x/%06d", id, i))
			}
			writeFiles(app, map[string]string{".git/packed-refs": strings.Join(refs, "\n") + "\n"})
		}},
	} {
		for _, n := range thing.of {
			var with, without []string
			rows = append(rows, row{
				part: grows, what: fmt.Sprintf("`inner run`, %d %s", n, thing.what), against: "with none", runs: 10,
				ours: func() { b.output("/", with...) }, theirs: func() { b.output("/", without...) },
				open: func() {
					with, without = b.inHome(thing.what, n), b.inHome(thing.what, 0)
					thing.make(filepath.Dir(with[2]), with[2], n, with)
					b.output("/", with...) // its folders are made at first use
					b.output("/", without...)
				},
			})
		}
	}
	for _, n := range []int{1, 10, 50, 200} {
		rows = append(rows, b.together(n))
	}
	return rows
}

// commitAll makes a repository of a folder, and prints its commit.
const commitAll = `git init -q -b main; git config user.name tester; git config user.email tester@example.com; git config gc.auto 0
git add -A; git commit -q -m start; git rev-parse HEAD`

// many makes files of one content, a hundred in each folder.
func many(dir, kind string, n int) {
	for i := range n {
		if i%100 == 0 {
			must(os.MkdirAll(filepath.Join(dir, fmt.Sprint("d", i/100)), 0o700))
		}
		must(os.WriteFile(filepath.Join(dir, fmt.Sprint("d", i/100), fmt.Sprint(i, ".", kind)), []byte("text\n"), 0o600))
	}
}

// inHome is a run in a home of its own, the third word the project in it. It has a home for each project.
func (b *bench) inHome(what string, n int) []string {
	home := filepath.Join(b.work, fmt.Sprint(n, " ", what))
	app := filepath.Join(home, "app")
	must(os.MkdirAll(app, 0o700))
	return []string{
		"/usr/bin/env", "-C", app, "HOME=" + home, b.inner, "run", "-p", "claude-interactive", "--no-interactive", "--entrypoint", "/bin/true",
	}
}

// together starts boxes at once, and waits until a program runs in each.
func (b *bench) together(n int) row {
	var boxes []*partner
	var more, took float64
	return row{
		part: grows, what: fmt.Sprintf("%d boxes started at once", n), runs: 1,
		before: func() {
			for _, p := range boxes {
				p.close()
			}
			boxes = nil
		},
		ours: func() {
			before, start := memory(), time.Now()
			for range n {
				boxes = append(boxes, b.partner(b.app, b.inner, "run", "-p", "show"))
			}
			var up sync.WaitGroup
			for _, p := range boxes {
				up.Go(func() { p.ask("up", "up") })
			}
			up.Wait()
			took = time.Since(start).Seconds()
			more = memory() - before
		},
		figure: func(float64) string {
			return fmt.Sprintf("%.0f a second, %.1f MiB each", float64(n)/took, more/float64(n)/1024)
		},
	}
}

// memory is that of all processes of this user, each shared page once (proc_pid_smaps_rollup), in KiB.
func memory() (all float64) {
	proc := os.DirFS("/proc")
	for _, path := range value(fs.Glob(proc, "[0-9]*")) {
		var size float64
		if info, err := fs.Stat(proc, path); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
			continue
		}
		text, _ := fs.ReadFile(proc, path+"/smaps_rollup") // of a process that has ended there is none
		_, pss, _ := strings.Cut(string(text), "\nPss:")
		if n, _ := fmt.Sscan(pss, &size); n == 1 {
			all += size
		}
	}
	return all
}
