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

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/verify"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/registry"
)

// One attack, bare and then in a box.

// attackOne tries one attack, bare and then in the box, each in a new scene.
func (a *app) attackOne(at attack.Attack, p *profile.Profile, c profile.Context, base string, known map[string]registry.Told) attackRow {
	row := attackRow{Name: at.Name, Class: at.Class, What: at.What, Result: "not live"}
	leak, err := a.inScene(at, base, func(s *attack.Scene) (string, error) { return bare(at, s) })
	if leak == "" { // for instance a kernel that does not have it
		row.Detail = "it fails outside of a box, too"
		if err != nil {
			row.Detail += ": " + firstLine(err)
		}
		return row
	}
	row.Live = true
	declared := ""
	for range 2 { // a machine that is too busy for a box may have time for the next
		leak, err = a.inScene(at, base, func(s *attack.Scene) (leak string, err error) {
			leak, declared, err = a.boxed(at, s, p, c, known)
			return leak, err
		})
		if leak != "" || err == nil {
			break
		}
	}
	switch {
	case leak != "" && declared != "":
		row.Result, row.Detail = "declared", declared
	case leak != "":
		row.Result, row.Detail = "leaked", leak
	case at.Refused && fault.AsRefusal(err) != nil:
		row.Result, row.Detail = "held", "the run is refused: "+firstLine(err)
	case err != nil:
		row.Result, row.Detail = "unknown", firstLine(err)
	default:
		row.Result, row.Detail = "held", ""
	}
	return row
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// inScene makes a scene and sets this process up as somebody's who lives in it.
func (a *app) inScene(at attack.Attack, base string, try func(*attack.Scene) (string, error)) (string, error) {
	s, err := attack.NewScene(base, at)
	if err != nil {
		return "", err
	}
	defer s.Close()
	if at.Terminal {
		var ends [2]*os.File
		if s.Master, ends, err = verify.Ends(true); err != nil {
			return "", err
		}
		s.Slave = ends[0]
	}
	env := append([]string{"HOME=" + s.Home, "XDG_RUNTIME_DIR=" + s.Run, "INNER_HOME=" + filepath.Join(s.Home, ".inner")}, s.Env...)
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
	return try(s)
}

// bare tries an attack outside of any box.
func bare(at attack.Attack, s *attack.Scene) (string, error) {
	if at.Launcher != nil {
		said, err := at.Launcher(s, nil)
		return at.Leak(s, said, err), err
	}
	ours, theirs, err := verify.Line()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{"inner", attack.Word}, Dir: s.App, Stderr: theirs, ExtraFiles: s.Files}
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
func (a *app) attackable(p *profile.Profile, c profile.Context, base string, known map[string]registry.Told) error {
	_, err := a.inScene(attack.Attack{}, base, func(s *attack.Scene) (string, error) {
		b, err := a.resident(s, p, c, known)
		if err != nil {
			return "", err
		}
		return "", b.runIn(s, p, func(*isolator.Prepared) error { return nil })
	})
	if r := (*fault.Refusal)(nil); errors.As(err, &r) {
		refused := *r
		refused.Msg = fmt.Sprintf("the profile %q is refused here, there is nothing to attack: %s", p.Name, r.Msg)
		return &refused
	}
	return err
}

// resident is inner as somebody has it who lives in a scene: everything about the
// profile is as in a run, but for the home and the project, which are the scene's.
func (a *app) resident(s *attack.Scene, p *profile.Profile, c profile.Context, known map[string]registry.Told) (*app, error) {
	b, who := *a, *a.Caller
	who.Home, who.InnerHome, who.Environ, who.AllTools = s.Home, filepath.Join(s.Home, ".inner"), os.Environ(), true
	who.Teller, b.Settings, b.stderr = teller{&b}, settings.Of(&who), io.Discard // what is refused is the result
	if len(known) > 0 {
		if err := errors.Join(os.MkdirAll(b.InnerHome, 0o700), features.NoteRegistries(b.Settings, p, known)); err != nil {
			return nil, err
		}
	}
	return &b, furnish(p, c, s)
}

// runIn prepares a run in the project of a scene, and does something in the place of its
// program.
func (a *app) runIn(s *attack.Scene, p *profile.Profile, instead func(*isolator.Prepared) error) error {
	c, err := a.Context(settings.Place{Cwd: s.App, Project: a.ProjectOf(s.App)}, profile.Overrides{Entrypoint: "/bin/sh", Workdir: s.App}, false)
	if err != nil {
		return err
	}
	_, err = isolator.Run(a.Settings, isolator.Call{Profile: p, Context: c, Instead: instead})
	return err
}

// boxed tries an attack in the box of a profile.
func (a *app) boxed(at attack.Attack, s *attack.Scene, p *profile.Profile, c profile.Context, known map[string]registry.Told) (leak, declared string, err error) {
	b, err := a.resident(s, p, c, known)
	if err != nil {
		return "", "", err
	}
	if at.Launcher != nil {
		if err := lendProfiles(a.ProfilesDir(), b.ProfilesDir()); err != nil {
			return "", "", err
		}
		said, err := at.Launcher(s, func(args ...string) *exec.Cmd {
			cmd := exec.Command("/proc/self/exe", append([]string{"run", "-p", p.Path, "-w", s.App, "--entrypoint", "/bin/sh", "--"}, args...)...)
			cmd.Dir = s.App
			return cmd
		})
		if !errors.Is(err, attack.ErrNotStarted) {
			err = nil
		}
		if leak = at.Leak(s, said, err); leak != "" && at.Declared != nil {
			bc, err := b.Context(settings.Place{Cwd: s.App, Project: b.ProjectOf(s.App)}, profile.Overrides{Workdir: s.App}, false)
			if err != nil {
				return leak, "", err
			}
			rc, err := settings.Resolve(p, bc)
			if err != nil {
				return leak, "", err
			}
			declared = at.Declared(rc)
		}
		return leak, declared, err
	}
	prepared := false
	err = b.runIn(s, p, func(box *isolator.Prepared) error {
		prepared = true
		if at.Declared != nil {
			declared = at.Declared(box.Spec)
		}
		leak, err = tryIn(box, at, s)
		return err
	})
	if err != nil && !prepared {
		err = fmt.Errorf("the sandbox does not start: %w", err)
	}
	return leak, declared, err
}

// tryIn puts an attack in the place of the program of a run.
func tryIn(box *isolator.Prepared, at attack.Attack, s *attack.Scene) (leak string, err error) {
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
	o := launch.Options{Stdin: null, Stdout: null, Stderr: theirs, Timeout: attackTime, Interactive: box.Spec.Entrypoint.Interactive}
	if s.Slave != nil {
		o.Stdin, o.Stdout = s.Slave, s.Slave
	}
	wait := attack.Ask(ours, s.Trial, nil)
	res := box.Launch(o, func(plan plan.Plan) plan.Plan { return verify.Aboard(plan, attack.Word) })
	theirs.Close()
	answer, err := wait()
	if !res.Started {
		return "", errors.New(isolator.StartFailure(res).Error()) // no refusal: it was to start
	}
	box.HandOver()
	// What a box does to its own end, and to inner's, is no answer; the host tells.
	return at.Leak(s, answer.Said, cmp.Or(err, said(answer))), err
}

// lendProfiles puts the user's profiles into the home of a scene: the one that is
// attacked may extend another.
func lendProfiles(from, to string) error {
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
// scene.
func furnish(p *profile.Profile, c profile.Context, s *attack.Scene) error {
	rc, err := p.Resolve(c)
	if err != nil {
		return err
	}
	places := [][2]string{{c.Cwd, s.App}, {c.Project, s.App}, {c.Home, s.Home}}
	// The nearest folder decides: a project may have the home in it.
	slices.SortStableFunc(places, func(x, y [2]string) int { return len(y[0]) - len(x[0]) })
	for _, m := range rc.Mounts {
		for _, where := range places {
			rest, err := filepath.Rel(where[0], m.Source)
			if where[0] == "" || err != nil || !filepath.IsLocal(rest) {
				continue
			}
			at := filepath.Join(where[1], rest)
			if _, err := os.Lstat(at); err == nil {
				break
			}
			if fi, err := os.Stat(m.Source); err == nil && fi.Mode().IsRegular() {
				err = errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, nil, 0o600))
				if err != nil {
					return err
				}
			} else if err := os.MkdirAll(at, 0o700); err != nil {
				return err
			}
			break
		}
	}
	return nil
}
