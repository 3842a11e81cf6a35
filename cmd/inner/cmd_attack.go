package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/verify"
	"github.com/enr/inner/isolator/verify/attack"
	"github.com/enr/inner/profile"
)

// attackTime is how long one attack may take.
const attackTime = 10 * time.Second

// attackRow is one attack and how it went.
type attackRow struct {
	Name   string `json:"name"`
	Class  string `json:"class"`
	What   string `json:"what"`
	Live   bool   `json:"live"`             // it works here, bare
	Result string `json:"result"`           // "held", "leaked", "declared", "not live", "unknown"
	Detail string `json:"detail,omitempty"` // what leaked, what declares it, or why not
}

// bad reports whether the row makes the profile fail.
func (r attackRow) bad() bool { return r.Result == "leaked" || r.Result == "unknown" }

type attackReport struct {
	Profile string      `json:"profile"`
	Live    int         `json:"live"`
	Held    int         `json:"held"`
	Leaked  int         `json:"leaked"` // undeclared, those that could not be told included
	Given   int         `json:"declared"`
	Attacks []attackRow `json:"attacks"`
}

// attackAll tries the escape suite on a profile's sandbox.
func (a *app) attackAll(p *profile.Profile, c profile.Context, f verifyFlags) error {
	cache, err := attackBase()
	if err != nil {
		return err
	}
	attack.Sweep(cache)
	report := attackReport{Profile: p.Name}
	// A run catches signals for good: here they end the suite between two attacks.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	for _, at := range attack.List() {
		select {
		case sig := <-stop:
			a.say("stopped by %v", sig)
			return exit(128 + int(sig.(syscall.Signal)))
		default:
		}
		if f.only != "" && at.Name != f.only {
			continue
		}
		row := a.attackOne(at, p, c, cache)
		report.Attacks = append(report.Attacks, row)
		if row.Live {
			report.Live++
		}
		switch {
		case row.bad():
			report.Leaked++
		case row.Result == "declared":
			report.Given++
		case row.Result == "held":
			report.Held++
		}
		if !f.json {
			a.printAttack(row)
		}
	}
	if len(report.Attacks) == 0 {
		return usagef("no attack is called %q", f.only)
	}
	if f.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(a.stdout, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n", len(report.Attacks), report.Live, report.Held, report.Given, report.Leaked)
	}
	if report.Leaked > 0 {
		return exit(1)
	}
	return nil
}

func (a *app) printAttack(r attackRow) {
	mark, code := "[ok]", "32"
	switch {
	case r.Result == "leaked":
		mark, code = "[!!]", "31"
	case r.Result == "unknown":
		mark, code = "[??]", "31"
	case r.Result != "held":
		mark, code = "[--]", "33"
	}
	text := r.What
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	fmt.Fprintf(a.stdout, "%s %-9s %-26s %s\n", paint(a.stdout, code, mark), r.Result, printable(r.Name), printable(text))
}

// attackBase is where scenes are made: private, and not where a box has a
// folder of its own.
func attackBase() (string, error) {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "inner")
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", &isolator.Refusal{Code: 125, Msg: "there is no place for the attacks: " + err.Error()}
	}
	if len(dir) > attack.MaxBase {
		return "", &isolator.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q has a path of more than %d bytes, too long for the names of sockets", dir, attack.MaxBase), Hint: "set XDG_CACHE_HOME"}
	}
	for _, tmp := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm"} {
		if strings.HasPrefix(dir+"/", tmp+"/") {
			return "", &isolator.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q is below %s, of which a box has its own", dir, tmp), Hint: "set XDG_CACHE_HOME"}
		}
	}
	return dir, nil
}

// attackOne tries one attack, bare and then in the box, each in a new scene.
func (a *app) attackOne(at attack.Attack, p *profile.Profile, c profile.Context, base string) attackRow {
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
	leak, err = a.inScene(at, base, func(s *attack.Scene) (leak string, err error) {
		leak, declared, err = a.boxed(at, s, p, c)
		return leak, err
	})
	switch {
	case leak != "" && declared != "":
		row.Result, row.Detail = "declared", declared
	case leak != "":
		row.Result, row.Detail = "leaked", leak
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

// boxed tries an attack in the box of a profile. Everything about the profile is
// as in a run, but for the home and the project, which are the scene's.
func (a *app) boxed(at attack.Attack, s *attack.Scene, p *profile.Profile, c profile.Context) (leak, declared string, err error) {
	b := *a
	b.home, b.inner = s.Home, filepath.Join(s.Home, ".inner")
	if at.Launcher != nil {
		said, err := at.Launcher(s, func(args ...string) *exec.Cmd {
			cmd := exec.Command("/proc/self/exe", append([]string{"run", "-p", p.Path, "-w", s.App, "--entrypoint", "/bin/sh", "--"}, args...)...)
			cmd.Dir = s.App
			return cmd
		})
		if !errors.Is(err, attack.ErrNotStarted) {
			err = nil
		}
		return at.Leak(s, said, err), "", err
	}
	if err := furnish(p, c, s); err != nil {
		return "", "", err
	}
	bc, err := b.context(place{cwd: s.App, project: b.projectOf(s.App)}, profile.Overrides{Entrypoint: "/bin/sh", Workdir: s.App}, false)
	if err != nil {
		return "", "", err
	}
	j, err := b.depart(p, bc)
	if err != nil {
		return "", "", fmt.Errorf("the sandbox does not start: %w", err)
	}
	defer j.close()
	if at.Declared != nil {
		declared = at.Declared(j.rc)
	}
	ours, theirs, err := verify.Line()
	if err != nil {
		return "", "", err
	}
	defer ours.Close()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		return "", "", err
	}
	defer null.Close()
	j.options = launch.Options{Stdin: null, Stdout: null, Stderr: theirs, Timeout: attackTime, Interactive: j.rc.Entrypoint.Interactive}
	if s.Slave != nil {
		j.options.Stdin, j.options.Stdout = s.Slave, s.Slave
	}
	j.plan = verify.Aboard(j.plan, attack.Word)
	wait := attack.Ask(ours, s.Trial, nil)
	j.launch()
	theirs.Close()
	answer, err := wait()
	if !j.result.Started {
		return "", "", startFailure(j.result)
	}
	// What a box does to its own end, and to inner's, is no answer; the host tells.
	leak = at.Leak(s, answer.Said, cmp.Or(err, said(answer)))
	return leak, declared, err
}

// furnish makes what the profile mounts of the home and the project in the
// scene.
func furnish(p *profile.Profile, c profile.Context, s *attack.Scene) error {
	rc, err := p.Resolve(c)
	if err != nil {
		return err
	}
	for _, m := range rc.Mounts {
		for _, where := range [][2]string{{c.Cwd, s.App}, {c.Project, s.App}, {c.Home, s.Home}} {
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
