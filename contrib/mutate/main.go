// Mutate shows that each guard of the product is tested: it takes the guard out,
// runs the test that is named beside it and expects that test to fail.
//
//	mutate -tests DIR [GUARD...]
//
// It changes the tree it is started in, so it is started in a copy (contrib/mutate.sh).
// The list is contrib/mutate/guards.toml. For each guard:
//
//  1. the text that is replaced occurs exactly once in its file
//  2. the test passes on the tree as it is
//  3. the tree with the guard taken out compiles
//  4. the test fails on it
//
// Anything else is an error in the list or a guard without a test. The exit code is
// 0 only when every guard was caught.
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
)

const listFile = "contrib/mutate/guards.toml"

// A guard is one piece of code that keeps a promise, and the test that notices
// when it is gone.
type guard struct {
	Name    string `toml:"name"`
	Why     string `toml:"why"`     // what the guard keeps
	File    string `toml:"file"`    // relative to the root of the tree
	Find    string `toml:"find"`    // occurs exactly once in the file
	Replace string `toml:"replace"` // the guard broken
	Pkg     string `toml:"pkg"`     // ./cmd/inner
	Run     string `toml:"run"`     // go test -run
}

func main() {
	tests := flag.String("tests", "", "folder for the test binaries and the product's own, readable for the plain user")
	flag.Parse()
	code, err := mutate(*tests, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		code = 1
	}
	os.Exit(code)
}

// readGuards reads the list of the tree at root and checks what can be checked
// without building anything.
func readGuards(root string) ([]guard, error) {
	var list struct {
		Guard []guard `toml:"guard"`
	}
	md, err := toml.DecodeFile(filepath.Join(root, listFile), &list)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, key := range md.Undecoded() {
		faults = append(faults, fmt.Errorf("%s: unknown key %q", listFile, key))
	}
	seen := map[string]bool{}
	for _, g := range list.Guard {
		if err := g.check(root); err != nil {
			faults = append(faults, fmt.Errorf("guard %q: %w", g.Name, err))
		}
		if seen[g.Name] {
			faults = append(faults, fmt.Errorf("guard %q: the name is used twice", g.Name))
		}
		seen[g.Name] = true
	}
	return list.Guard, errors.Join(faults...)
}

func (g guard) check(root string) error {
	if slices.Contains([]string{g.Name, g.Why, g.File, g.Find, g.Pkg, g.Run}, "") {
		return errors.New("name, why, file, find, pkg and run are required")
	}
	if _, err := regexp.Compile(g.Run); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	if strings.HasSuffix(g.File, "_test.go") {
		return fmt.Errorf("%s is a test; a guard is part of the product", g.File)
	}
	if fi, err := os.Stat(filepath.Join(root, g.Pkg)); err != nil || !fi.IsDir() || !strings.HasPrefix(g.Pkg, "./") {
		return fmt.Errorf("pkg: %q is not a folder of the tree", g.Pkg)
	}
	text, err := os.ReadFile(filepath.Join(root, g.File))
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), g.Find); n != 1 {
		return fmt.Errorf("%s has the text to replace %d times, not once: %q", g.File, n, g.Find)
	}
	if g.Find == g.Replace {
		return errors.New("find and replace are the same")
	}
	return nil
}

// mutate takes out the guards of these names, or all, and returns the exit code.
func mutate(tests string, names []string) (int, error) {
	guards, err := readGuards(".")
	if err != nil {
		return 0, err
	}
	if len(names) > 0 {
		guards = slices.DeleteFunc(guards, func(g guard) bool { return !slices.Contains(names, g.Name) })
		if len(guards) != len(names) {
			return 0, fmt.Errorf("%s has %d of the guards %q", listFile, len(guards), names)
		}
	}
	// All on the unbroken tree first: each package is built once.
	unbroken := map[string]result{}
	for _, g := range guards {
		if _, done := unbroken[g.test()]; !done {
			unbroken[g.test()] = g.try(filepath.Join(tests, "unbroken"), 10*time.Minute)
		}
	}
	count := map[string]int{}
	for _, g := range guards {
		verdict, note := g.judge(filepath.Join(tests, "broken"), unbroken[g.test()])
		fmt.Printf("%-9s %-32s %s\n", verdict, g.Name, note)
		count[verdict]++
	}
	fmt.Printf("mutate: %d guards: %d caught, %d survived, %d errors\n", len(guards), count[caught],
		count[survived], count[wrong])
	if count[caught] < len(guards) {
		return 1, nil
	}
	return 0, nil
}

// The verdicts about a guard.
const (
	caught   = "caught"
	survived = "SURVIVED"
	wrong    = "ERROR" // of the list or of the build: nothing is known of the guard
)

// test names the test of a guard.
func (g guard) test() string { return g.Pkg + " -run " + g.Run }

// A result is what one test said of one tree.
type result struct {
	err    error // it did not build, or nothing ran
	failed bool
	took   time.Duration
	output string
}

// judge breaks the guard, tries its test in dir and mends the guard again.
func (g guard) judge(dir string, was result) (verdict, note string) {
	switch {
	case was.err != nil:
		return wrong, was.err.Error()
	case was.failed:
		return wrong, "its test fails on the tree as it is:\n" + was.output
	}
	text, err := os.ReadFile(g.File)
	if err == nil {
		err = os.WriteFile(g.File, bytes.Replace(text, []byte(g.Find), []byte(g.Replace), 1), 0o644)
	}
	if err != nil {
		return wrong, err.Error()
	}
	now := g.try(dir, max(time.Minute, 30*time.Second+4*was.took)) // a broken guard may well mean waiting for what never comes
	switch err := errors.Join(os.WriteFile(g.File, text, 0o644), os.RemoveAll(dir), now.err); {
	case err != nil:
		return wrong, "with the guard taken out: " + err.Error()
	case !now.failed:
		return survived, fmt.Sprintf("%s passes without it: %s", g.test(), g.Why)
	}
	return caught, fmt.Sprintf("%s (%.1fs)", g.test(), now.took.Seconds())
}

// try builds what the guard's test needs into dir, the product in bin where the tests run that, unless it is there, and
// runs the test. A test that failed is not one that did not run.
func (g guard) try(dir string, limit time.Duration) (r result) {
	binary := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(g.Pkg, "./"), "/", "-")+".test")
	if _, err := os.Stat(binary); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return result{err: err}
		}
		out, err := command(cmp.Or(os.Getenv("GO"), "go"), "test", "-c", "-buildvcs=false",
			"-trimpath", "-o", binary, g.Pkg).CombinedOutput()
		if err == nil && usesProduct(g.Pkg) {
			out, err = command("make", "--no-print-directory", "build").CombinedOutput() // as people do
		}
		if err != nil {
			return result{err: fmt.Errorf("it does not build: %w\n%s", err, out)}
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return result{err: err}
	}
	cmd := exec.Command(root+"/contrib/as-plain-user.sh", binary, "-test.v", "-test.run", g.Run,
		"-test.timeout", limit.String())
	cmd.Dir, cmd.Env = g.Pkg, append(os.Environ(), "INNER_TEST_BIN="+root+"/bin/inner")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	r = result{failed: err != nil, took: time.Since(start), output: string(out)}
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(r.output, w) })
	}
	switch {
	case err == nil && !says("--- PASS: "):
		r.err = fmt.Errorf("%s has no test that matches %q", g.Pkg, g.Run)
	case err != nil && !says("--- FAIL: ", "\npanic: ", "WARNING: DATA RACE"):
		r.err = fmt.Errorf("the test did not run: %w\n%s", err, out)
	}
	return r
}

// usesProduct reports whether the tests of a package run the true binary.
func usesProduct(pkg string) bool {
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		return true
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err != nil || strings.Contains(string(text), "INNER_TEST_BIN")
	})
}

// command is one that builds.
func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "MAKEFLAGS=")
	return cmd
}
