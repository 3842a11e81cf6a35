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

func mutate(tests string, names []string) (int, error) {
	guards, err := readGuards(".")
	if err != nil {
		return 0, err
	}
	if guards, err = choose(guards, names); err != nil {
		return 0, err
	}
	s := &suite{dir: tests, unbroken: map[string]result{}}
	// All on the unbroken tree first: each package is built once.
	for _, g := range guards {
		if _, done := s.unbroken[g.test()]; !done {
			s.unbroken[g.test()] = s.try(filepath.Join(tests, "unbroken"), g, 0)
		}
	}
	count := map[string]int{}
	for _, g := range guards {
		verdict, note := s.judge(g)
		fmt.Printf("%-9s %-32s %s\n", verdict, g.Name, note)
		count[verdict]++
	}
	fmt.Printf("mutate: %d guards: %d caught, %d survived, %d errors\n", len(guards), count[caught], count[survived], count[wrong])
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

func choose(all []guard, names []string) ([]guard, error) {
	if len(names) == 0 {
		return all, nil
	}
	var some []guard
	for _, name := range names {
		i := slices.IndexFunc(all, func(g guard) bool { return g.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%s has no guard %q", listFile, name)
		}
		some = append(some, all[i])
	}
	return some, nil
}

// test names the test of a guard.
func (g guard) test() string { return g.Pkg + " -run " + g.Run }

// A result is what one test said of one tree.
type result struct {
	err    error // it did not build, or nothing ran
	failed bool
	took   time.Duration
	output string
}

type suite struct {
	dir      string
	unbroken map[string]result
}

// judge breaks one guard, tries its test and mends the guard again.
func (s *suite) judge(g guard) (verdict, note string) {
	was := s.unbroken[g.test()]
	if was.err != nil {
		return wrong, was.err.Error()
	}
	if was.failed {
		return wrong, "its test fails on the tree as it is:\n" + was.output
	}
	text, err := os.ReadFile(g.File)
	if err != nil {
		return wrong, err.Error()
	}
	broken := strings.Replace(string(text), g.Find, g.Replace, 1)
	if err := os.WriteFile(g.File, []byte(broken), 0o644); err != nil {
		return wrong, err.Error()
	}
	dir := filepath.Join(s.dir, "broken")
	now := s.try(dir, g, was.took)
	if err := errors.Join(os.WriteFile(g.File, text, 0o644), os.RemoveAll(dir)); err != nil {
		return wrong, err.Error()
	}
	switch {
	case now.err != nil:
		return wrong, "with the guard taken out: " + now.err.Error()
	case !now.failed:
		return survived, fmt.Sprintf("%s passes without it: %s", g.test(), g.Why)
	}
	return caught, fmt.Sprintf("%s (%.1fs)", g.test(), now.took.Seconds())
}

// try builds what the guard's test needs into dir, unless it is there, and runs
// the test. Unbroken is how long it took on the tree as it is.
func (s *suite) try(dir string, g guard, unbroken time.Duration) result {
	binary := filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(g.Pkg, "./"), "/", "-")+".test")
	if err := buildTest(binary, g.Pkg); err != nil {
		return result{err: err}
	}
	root, err := os.Getwd()
	if err != nil {
		return result{err: err}
	}
	// A broken guard may well mean waiting for what never comes.
	limit := max(time.Minute, 30*time.Second+4*unbroken)
	if unbroken == 0 {
		limit = 10 * time.Minute
	}
	cmd := exec.Command(root+"/contrib/as-plain-user.sh", binary, "-test.v", "-test.run", g.Run, "-test.timeout", limit.String())
	cmd.Dir = g.Pkg
	cmd.Env = append(os.Environ(), "INNER_TEST_BIN="+root+"/bin/inner")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err = cmd.Run()
	return g.result(err, out.String(), time.Since(start))
}

// buildTest builds the test binary of a package, and the product in bin when the tests run that, unless it is there.
func buildTest(binary, pkg string) error {
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	err := build(cmp.Or(os.Getenv("GO"), "go"), "test", "-c", "-buildvcs=false", "-trimpath", "-o", binary, pkg)
	if err == nil && usesProduct(pkg) {
		err = build("make", "--no-print-directory", "build") // as people do
	}
	return err
}

// result tells what came of a test binary: a test that failed is not one that did not run.
func (g guard) result(err error, output string, took time.Duration) result {
	r := result{took: took, output: output}
	failed := strings.Contains(r.output, "--- FAIL: ") || strings.Contains(r.output, "\npanic: ") || strings.Contains(r.output, "WARNING: DATA RACE")
	switch {
	case err == nil && !strings.Contains(r.output, "--- PASS: "):
		r.err = fmt.Errorf("%s has no test that matches %q", g.Pkg, g.Run)
	case err != nil && !failed:
		r.err = fmt.Errorf("the test did not run: %w\n%s", err, r.output)
	}
	r.failed = err != nil
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

func build(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "MAKEFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("it does not build: %s %s: %w\n%s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
