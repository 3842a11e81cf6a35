// Command copy measures what a safe-rw copy costs against cp -a.
//
//	go run ./contrib/bench/copy [-dir FOLDER] [-files 50000] [-bytes 1073741824] [-rounds 3]
//
// It makes a tree of that many files in FOLDER, log-normal in size as source
// trees are, and copies it alternately with `cp -a --reflink=auto` and with
// isolator/copytree. It prints the medians and their ratio, and leaves nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/enr/inner/isolator/copytree"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "where to work")
	files := flag.Int("files", 50_000, "files in the tree")
	size := flag.Int64("bytes", 1<<30, "bytes in the tree")
	rounds := flag.Int("rounds", 3, "copies with each")
	flag.Parse()
	if err := run(*dir, *files, *size, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "copy:", err)
		os.Exit(1)
	}
}

func run(dir string, files int, size int64, rounds int) error {
	work, err := os.MkdirTemp(dir, "inner-copy.")
	if err != nil {
		return err
	}
	defer copytree.Remove(work)
	src, dst := filepath.Join(work, "src"), filepath.Join(work, "dst")
	if err := makeTree(src, files, size); err != nil {
		return err
	}
	var cp, ours, cpGone, oursGone []time.Duration
	for range rounds {
		if err := timed(&cp, func() error { return exec.Command("cp", "-a", "--reflink=auto", src, dst).Run() }); err != nil {
			return err
		}
		if err := timed(&cpGone, func() error { return exec.Command("rm", "-rf", dst).Run() }); err != nil {
			return err
		}
		if err := timed(&ours, func() error {
			_, err := copytree.Copy(context.Background(), src, dst, copytree.Options{Record: true})
			return err
		}); err != nil {
			return err
		}
		if err := timed(&oursGone, func() error { return copytree.Remove(dst) }); err != nil {
			return err
		}
	}
	fmt.Printf("%d files, %s; median of %d\n", files, copytree.Size(size), rounds)
	row := func(what string, theirs, mine []time.Duration) {
		a, b := median(theirs), median(mine)
		fmt.Printf("%-8s cp/rm %8.2f s   inner %8.2f s   ratio %.2f   (cp/rm %s; inner %s)\n", what, a.Seconds(), b.Seconds(), float64(b)/float64(a), all(theirs), all(mine))
	}
	row("copy", cp, ours)
	row("remove", cpGone, oursGone)
	return nil
}

// timed measures f from a disk at rest.
func timed(list *[]time.Duration, f func() error) error {
	syscall.Sync()
	start := time.Now()
	err := f()
	*list = append(*list, time.Since(start))
	return err
}

func all(list []time.Duration) string {
	out := ""
	for _, d := range list {
		out += fmt.Sprintf(" %.2f", d.Seconds())
	}
	return out[1:]
}

func median(list []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

// makeTree writes files of log-normal sizes, fifty to a folder.
func makeTree(root string, files int, size int64) error {
	r := rand.New(rand.NewPCG(1, 2))
	weights := make([]float64, files)
	sum := 0.0
	for i := range weights {
		weights[i] = math.Exp(8.2 + 1.6*r.NormFloat64())
		sum += weights[i]
	}
	blob := make([]byte, 1<<20)
	for i := range blob {
		blob[i] = byte(r.Uint32())
	}
	for i, w := range weights {
		folder := filepath.Join(root, fmt.Sprintf("d%d/e%d", i/1000, i/50%20))
		if i%50 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
		}
		data := blob
		n := int64(w / sum * float64(size))
		for int64(len(data)) < n {
			data = append(data[:len(data):len(data)], blob...)
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%d.txt", i%50)), data[:n], 0o644); err != nil {
			return err
		}
	}
	return nil
}
