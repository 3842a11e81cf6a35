package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/innerbox"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
)

// One attack, bare and then in a box.

// one tries one attack, bare and then in the box, each in a new fixture.
func (s *suite) one(at attack.Attack) row {
	r := row{Name: at.Name, Class: at.Class, What: at.What, Result: "not live"}
	leak, err := s.inFixture(at, func(sc *attack.Fixture) (string, error) { return bare(at, sc) })
	if leak == "" { // for instance because the kernel lacks what it uses
		r.Detail = "it fails outside a box, too"
		if err != nil {
			r.Detail += ": " + firstLine(err)
		}
		return r
	}
	r.Live = true
	declared := ""
	for range 2 { // a machine that is too busy for a box may have time for the next
		leak, err = s.inFixture(at, func(sc *attack.Fixture) (leak string, err error) {
			leak, declared, err = s.boxed(at, sc)
			return leak, err
		})
		if leak != "" || err == nil {
			break
		}
	}
	r.Result, r.Detail = verdict(at, leak, declared, err)
	return r
}

// verdict says how an attack in a box went.
func verdict(at attack.Attack, leak, declared string, err error) (result, detail string) {
	switch {
	case leak != "" && declared != "":
		return "declared", declared
	case leak != "":
		return "leaked", leak
	case at.Refused && fault.AsRefusal(err) != nil:
		return "held", "the run is refused: " + firstLine(err)
	case err != nil:
		return "unknown", firstLine(err)
	}
	return "held", ""
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// inFixture makes a fixture and sets this process up as somebody's who lives in it.
func (s *suite) inFixture(at attack.Attack, try func(*attack.Fixture) (string, error)) (string, error) {
	sc, err := attack.NewFixture(s.base, s.inner, s.parts, at)
	if err != nil {
		return "", err
	}
	defer sc.Close()
	if at.Terminal {
		var ends [2]*os.File
		if sc.Master, ends, err = verify.Ends(true); err != nil {
			return "", err
		}
		sc.Slave = ends[0]
	}
	env := append([]string{"HOME=" + sc.Home, "XDG_RUNTIME_DIR=" + sc.Run, "INNER_HOME=" + filepath.Join(sc.Home, ".inner")}, sc.Env...)
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		old, had := os.LookupEnv(name)
		if err := os.Setenv(name, value); err != nil {
			return "", err
		}
		defer func() {
			if had {
				_ = os.Setenv(name, old)
			} else {
				_ = os.Unsetenv(name)
			}
		}()
	}
	return try(sc)
}

// bare tries an attack outside of any box.
func bare(at attack.Attack, s *attack.Fixture) (string, error) {
	if at.Launcher != nil {
		said, err := at.Launcher(s, nil)
		return at.Leak(s, said, err), err
	}
	ours, theirs, err := verify.Line()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{attack.Program, attack.Word}, Dir: s.App, Stderr: theirs, ExtraFiles: s.Files}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // what root mounts stays its own
	}
	if s.Slave != nil {
		cmd.Stdin, cmd.Stdout = s.Slave, s.Slave
		cmd.SysProcAttr.Setctty = true
	}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return "", err
	}
	leak := ""
	late := time.AfterFunc(attackTime, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	answer, err := attack.Ask(ours, s.Trial, func(ans attack.Answer) { leak = at.Leak(s, ans.Said, said(ans)) })()
	_ = cmd.Wait()
	return leak, cmp.Or(err, said(answer))
}

// said is the error that an attack met with.
func said(a attack.Answer) error {
	if a.Err == "" {
		return nil
	}
	return errors.New(a.Err)
}

// attackable refuses a suite whose every box would be refused: nothing runs, so
// nothing can be told about it.
func (s *suite) attackable() error {
	_, err := s.inFixture(attack.Attack{}, func(sc *attack.Fixture) (string, error) {
		who, err := s.settingsIn(sc)
		if err != nil {
			return "", err
		}
		return "", s.runIn(sc, who, func(*run.Prepared) error { return nil })
	})
	if r := fault.AsRefusal(err); r != nil {
		refused := *r
		refused.Msg = fmt.Sprintf("the profile %q is refused here, so there is nothing to attack: %s", s.profile.Name, r.Msg)
		return &refused
	}
	return err
}

// settingsIn is what is set for somebody who lives in a fixture: everything about the profile
// is as in a run, but for the home and the project, which are the fixture's.
func (s *suite) settingsIn(sc *attack.Fixture) (*settings.Settings, error) {
	who := *s.Caller
	who.Home, who.InnerHome, who.Environ, who.AllTools = sc.Home, filepath.Join(sc.Home, ".inner"), os.Environ(), true
	who.Teller = tell.Teller{To: io.Discard} // what is refused is the result
	for _, path := range []string{innerbox.Box(filepath.Join(s.InnerHome, "shims")), innerbox.Git(filepath.Join(s.InnerHome, "shims"))} {
		if path != "" { // else this program does what they do
			text, err := os.ReadFile(path)
			if err = cmp.Or(err, files.Folder(filepath.Join(who.InnerHome, "shims")), files.Write(filepath.Join(who.InnerHome, "shims", filepath.Base(path)), text, 0o500)); err != nil {
				return nil, err
			}
		}
	}
	of := settings.Of(&who)
	return of, furnish(s.profile, s.context, sc)
}

// Where a box of an attack shows the two programs, read-only.
const (
	boxSuite = paths.BoxDir + "/attack"
	boxInner = paths.BoxDir + "/attacked"
)

// runIn prepares a run in the project of a fixture, and does something in the place of its
// program.
func (s *suite) runIn(sc *attack.Fixture, who *settings.Settings, instead func(*run.Prepared) error) error {
	c, err := who.Context(settings.Place{Cwd: sc.App, Project: who.ProjectOf(sc.App)}, profile.Overrides{Entrypoint: "/bin/sh", Workdir: sc.App}, false)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = run.Run(who, run.Call{Profile: s.profile, Context: c, Mode: features.Checks, Instead: instead, Shows: []plan.Bind{
		{Host: self, Box: boxSuite, Reason: "the attack suite"},
		{Host: s.inner, Box: boxInner, Reason: "inner, for attacks that call it"},
	}})
	return err
}

// boxed tries an attack in the box of a profile.
func (s *suite) boxed(at attack.Attack, sc *attack.Fixture) (leak, declared string, err error) {
	who, err := s.settingsIn(sc)
	if err != nil {
		return "", "", err
	}
	if at.Launcher != nil {
		return s.launched(at, sc, who)
	}
	prepared := false
	err = s.runIn(sc, who, func(box *run.Prepared) error {
		prepared = true
		if at.Declared != nil {
			declared = at.Declared(box.Spec)
		}
		leak, err = tryIn(box, at, sc)
		return err
	})
	if err != nil && !prepared {
		err = fmt.Errorf("the sandbox does not start: %w", err)
	}
	return leak, declared, err
}

// launched tries an attack on inner itself.
func (s *suite) launched(at attack.Attack, sc *attack.Fixture, who *settings.Settings) (leak, declared string, err error) {
	if err := copyProfiles(s.ProfilesDir(), who.ProfilesDir()); err != nil {
		return "", "", err
	}
	said, err := at.Launcher(sc, func(args ...string) *exec.Cmd {
		cmd := exec.Command(s.inner, append([]string{"run", "-p", s.profile.Path, "-w", sc.App, "--entrypoint", "/bin/sh", "--"}, args...)...)
		cmd.Dir = sc.App
		return cmd
	})
	if !errors.Is(err, attack.ErrNotStarted) {
		err = nil
	}
	if leak = at.Leak(sc, said, err); leak != "" && at.Declared != nil {
		c, err := who.Context(settings.Place{Cwd: sc.App, Project: who.ProjectOf(sc.App)}, profile.Overrides{Workdir: sc.App}, false)
		if err != nil {
			return leak, "", err
		}
		rc, err := settings.Resolve(s.profile, c)
		if err != nil {
			return leak, "", err
		}
		declared = at.Declared(rc)
	}
	return leak, declared, err
}

// tryIn puts an attack in the place of the program of a run.
func tryIn(box *run.Prepared, at attack.Attack, s *attack.Fixture) (leak string, err error) {
	ours, theirs, err := verify.Line()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer null.Close()
	o := launch.Options{Stdin: null, Stdout: null, Stderr: theirs, Timeout: attackTime, Supervisor: box.Options().Supervisor}
	o.Interactive = box.Spec.Entrypoint.Interactive && !box.Spec.SessionBox // its calls have no terminal
	if s.Slave != nil && !box.Spec.SessionBox {
		o.Stdin, o.Stdout, o.Made = s.Slave, s.Slave, true
	}
	trial := s.Trial
	trial.Inner = boxInner
	wait := attack.Ask(ours, trial, nil)
	res := box.Launch(o, func(p plan.Plan) plan.Plan {
		p.Program, p.Argv = boxSuite, []string{attack.Program, attack.Word}
		return p
	})
	theirs.Close()
	answer, err := wait()
	if !res.Started {
		return "", errors.New(run.StartFailure(res).Error()) // no refusal: it was to start
	}
	// What a box does to its own end, and to inner's, is no answer; the host tells.
	return at.Leak(s, answer.Said, cmp.Or(err, said(answer))), err
}

// copyProfiles puts the user's profiles into the home of a fixture: the one that is
// attacked may extend another.
func copyProfiles(from, to string) error {
	list, err := filepath.Glob(filepath.Join(from, "*.toml"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, p := range list {
		data, err := profile.ReadFile(p)
		if err != nil {
			continue // whoever extends it is told
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(p)), data.Data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// furnish makes what the profile mounts of the home and the project in the
// fixture.
func furnish(p *profile.Profile, c profile.Context, s *attack.Fixture) error {
	rc, err := p.Resolve(c)
	if err != nil {
		return err
	}
	places := [][2]string{{c.Cwd, s.App}, {c.Project, s.App}, {c.Home, s.Home}}
	// The nearest folder decides: a project may have the home in it.
	slices.SortStableFunc(places, func(x, y [2]string) int { return len(y[0]) - len(x[0]) })
	for _, m := range rc.Mounts {
		if at := moved(m.Source, places); at != "" {
			if err := makeLike(m.Source, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved is where a path of the person is in a fixture, by the first of the folders that it is below;
// "" when it is below none.
func moved(path string, places [][2]string) string {
	for _, where := range places {
		rest, err := filepath.Rel(where[0], path)
		if where[0] != "" && err == nil && filepath.IsLocal(rest) {
			return filepath.Join(where[1], rest)
		}
	}
	return ""
}

// makeLike makes an empty file where the original is one, and else a folder, unless something is
// there.
func makeLike(original, at string) error {
	if _, err := os.Lstat(at); err == nil {
		return nil
	}
	if fi, err := os.Stat(original); err == nil && fi.Mode().IsRegular() {
		return errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600))
	}
	return os.MkdirAll(at, 0o700)
}
