package verify

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/launch/box"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// The test binary plays every part: the tests, the launcher (wordJob, a process
// of its own because a run needs the main thread), the supervisor in the box and
// the inner half.
const wordJob = "__job"

func TestMain(m *testing.M) {
	switch {
	case box.Is(os.Args):
		os.Exit(box.Run())
	case IsInside(os.Args):
		os.Exit(Inside())
	case len(os.Args) == 2 && os.Args[1] == wordJob:
		runtime.LockOSThread()
		os.Exit(jobMain())
	}
	os.Exit(m.Run())
}

// job is one verification of one plan.
type job struct {
	Plan     plan.Plan
	Checks   []Check
	Custom   []profile.Check
	Terminal bool
	Env      []string // what the launcher is started with
}

type outcome struct {
	Result launch.Result
	Report Report
}

func jobMain() int {
	var j job
	if err := gob.NewDecoder(os.Stdin).Decode(&j); err != nil { // the JSON of a plan is a part of it
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	e, err := Open("test", j.Checks, j.Custom, j.Terminal)
	if err != nil {
		return 1
	}
	defer e.Close()
	res := launch.Run(e.Plan(j.Plan), e.Options())
	if err := json.NewEncoder(os.Stdout).Encode(outcome{res, e.Report()}); err != nil {
		return 1
	}
	return 0
}

func (j job) run(t testing.TB) outcome {
	t.Helper()
	var data, out, errOut bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(j); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe", wordJob)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = &data, &out, &errOut, append(os.Environ(), j.Env...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, errOut.String())
	}
	var o outcome
	if err := json.Unmarshal(out.Bytes(), &o); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errOut.String())
	}
	return o
}

// world is a home with everything in it that a box must not see or change.
type world struct {
	t              testing.TB
	home, app, run string
	facts          host.Facts
	rc             profile.RunConfig
	staged         plan.Staged
	stage          *stage.Run
}

func newWorld(t testing.TB) *world {
	t.Helper()
	if os.Geteuid() == 0 {
		missing(t, "as root this proves nothing; make test runs it as a plain user")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	// Not below /tmp, where a box has a folder of its own.
	dir, err := os.MkdirTemp(cache, "verify.")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(dir, "home"), run: filepath.Join(dir, "run")}
	w.app = filepath.Join(w.home, "app")
	for _, d := range []string{w.run, w.app} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("INNER_TEST_MUST") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// file writes a file of the home; a name that ends with / is a folder.
func (w *world) file(name, text string) string {
	w.t.Helper()
	p := filepath.Join(w.home, name)
	if strings.HasSuffix(name, "/") {
		if err := os.MkdirAll(p, 0o700); err != nil {
			w.t.Fatal(err)
		}
		return p
	}
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return p
}

// depart does what a run does up to its plan.
func (w *world) depart(profileText string, env []string) plan.Plan {
	w.t.Helper()
	path := w.file("app/box.toml", profileText)
	inner := filepath.Join(w.home, ".inner")
	l := profile.Loader{Home: w.home, GlobalDir: filepath.Join(inner, "profiles")}
	p, err := l.Load(path, profile.Direct)
	if err != nil {
		w.t.Fatal(err)
	}
	w.rc, err = p.Resolve(profile.Context{Home: w.home, InnerHome: inner, UID: os.Getuid(), Lookup: os.LookupEnv, Cwd: w.app, Project: w.app})
	if err != nil {
		w.t.Fatal(err)
	}
	base := filepath.Join(w.run, "inner")
	if w.stage, err = stage.New(base, inner); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { w.stage.Close() })
	who := host.Begin(host.Facts{Home: w.home, InnerHome: inner, StageBase: base, Env: host.Environment(env)})
	who.Bwrap, _, _ = host.FindBwrap(os.Getenv("PATH"), nil)
	w.facts = host.Probe(who, host.Request{Hide: w.rc.Hide, Writable: w.rc.WritableRoots(), Later: plan.LaterFolders(w.rc, func(string) bool { return true }), Obeyed: plan.ObeyedRoots(w.rc), Startup: plan.StartupPlaces(w.rc, who)})
	w.staged = plan.Staged{RunID: w.stage.ID, Program: "/bin/sh", Argv: []string{"sh"}}
	if w.staged.Empty, err = w.stage.File("empty", nil, 0o444); err != nil {
		w.t.Fatal(err)
	}
	if err := w.stage.MakePlaceholders(w.facts.Later...); err != nil {
		w.t.Fatal(err)
	}
	for i, top := range w.facts.Repositories {
		dir, err := w.stage.Dir(fmt.Sprintf("git%d", i)) // a clone: no server runs here
		if err != nil {
			w.t.Fatal(err)
		}
		at := filepath.Join(top, ".git")
		w.staged.Repos = append(w.staged.Repos, plan.Repo{Dir: at, Binds: []plan.Bind{{Host: dir, Box: at, Write: true, Reason: "a clone"}}})
	}
	if len(w.rc.Noop.Rules) > 0 {
		if w.staged.Noop, err = w.stage.Dir("noop"); err != nil {
			w.t.Fatal(err)
		}
		for _, n := range w.rc.Noop.Commands() {
			if _, err := w.stage.File(filepath.Join("noop", n), []byte("#!/bin/sh\nexit 1\n"), 0o755); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	plan, err := plan.Build(w.rc, w.facts, w.staged)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) checks(p plan.Plan) []Check {
	return Checks(Subject{Config: w.rc, Facts: w.facts, Staged: w.staged, Plan: p})
}

func bad(r Report) string {
	var out []string
	for _, v := range r.Checks {
		if v.Bad() {
			out = append(out, fmt.Sprintf("%s (%s: %s)", v.ID, v.Result, v.Detail))
		}
	}
	return strings.Join(out, "; ")
}
