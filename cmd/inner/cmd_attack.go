package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
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

// attackAll tries the escape suite on a profile's sandbox. The attacks of one
// process come one after the other: a run has the process's signals and
// environment to itself. So there is a process for each processor.
func (a *app) attackAll(p *profile.Profile, c profile.Context, f verifyFlags) error {
	cache, err := attackBase()
	if err != nil {
		return err
	}
	if f.rows {
		return a.attackRows(p, c, cache)
	}
	attack.Sweep(cache)
	known, err := a.attackRegistries(p, c) // its processes find the answers
	if err != nil {
		return err
	}
	if err := a.attackable(p, c, cache, known); err != nil {
		return err
	}
	var names []string
	for _, at := range attack.List() {
		if f.only == "" || at.Name == f.only {
			names = append(names, at.Name)
		}
	}
	if len(names) == 0 {
		return usagef("no attack is called %q", f.only)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	jobs := f.jobs
	if jobs == 0 {
		jobs = runtime.NumCPU()
	}
	report := attackReport{Profile: p.Name}
	sig, err := attackers(names, min(jobs, len(names)), p, f, stop, func(row attackRow) {
		report.count(row)
		if !f.json {
			a.printAttack(row)
		}
	})
	switch {
	case err != nil:
		return &fault.Refusal{Code: 125, Msg: "the attacks cannot be tried: " + err.Error()}
	case sig != nil:
		a.say("stopped by %v", sig)
		return exit(128 + int(sig.(syscall.Signal)))
	case f.json:
		if err := a.printJSON(report); err != nil {
			return err
		}
	default:
		fmt.Fprintf(a.stdout, "\n%d attacks, %d live here: %d held, %d declared, %d leaked\n", len(report.Attacks), report.Live, report.Held, report.Given, report.Leaked)
	}
	if report.Leaked > 0 {
		return exit(1)
	}
	return nil
}

func (r *attackReport) count(row attackRow) {
	r.Attacks = append(r.Attacks, row)
	if row.Live {
		r.Live++
	}
	switch {
	case row.bad():
		r.Leaked++
	case row.Result == "declared":
		r.Given++
	case row.Result == "held":
		r.Held++
	}
}

// attackRows tries the attacks whose names come in, a line each, and answers
// each by a row of JSON.
func (a *app) attackRows(p *profile.Profile, c profile.Context, cache string) error {
	// A run catches signals for good; whoever sends the names ends it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	known, err := a.attackRegistries(p, c)
	if err != nil {
		return err
	}
	out := json.NewEncoder(a.stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		at, ok := attack.Find(in.Text())
		if !ok {
			return usagef("no attack is called %q", in.Text())
		}
		if err := out.Encode(a.attackOne(at, p, c, cache, known)); err != nil {
			return err
		}
	}
	return in.Err()
}

// attackRegistries has the package managers asked that the profile's groups name,
// once: in the home of a scene they would say the same.
func (a *app) attackRegistries(p *profile.Profile, c profile.Context) (map[string]registry.Told, error) {
	rc, err := settings.Resolve(p, c)
	if err != nil {
		return nil, err
	}
	return features.Registries(a.Settings, p, c, rc)
}

// attackers has some processes of inner try the attacks, and gives the rows to
// done in the order of the names. A signal ends the suite between two attacks.
func attackers(names []string, jobs int, p *profile.Profile, f verifyFlags, stop <-chan os.Signal, done func(attackRow)) (os.Signal, error) {
	rows := make([]chan attackRow, len(names)) // in the order of the names
	for i := range rows {
		rows[i] = make(chan attackRow, 1)
	}
	next := make(chan int) // taken by whoever is free
	broken := make(chan error, jobs)
	var all sync.WaitGroup
	for range jobs {
		all.Add(1)
		go func() {
			defer all.Done()
			if err := attacker(names, next, rows, p, f); err != nil {
				broken <- err
			}
		}()
	}
	end := make(chan struct{})
	go func() {
		defer close(next)
		for i := range names {
			select {
			case next <- i:
			case <-end:
				return
			}
		}
	}()
	var sig os.Signal
	var err error
	for i := range names {
		select {
		case row := <-rows[i]:
			done(row)
			continue
		case sig = <-stop:
		case err = <-broken:
		}
		break
	}
	close(end)
	all.Wait()
	return sig, err
}

// perProcess is how many attacks one process tries. Each leaves a session keyring
// that the process holds to its end, and a user has 200 keys (keyrings(7)).
const perProcess = 30

// attacker has one process after the other try the attacks it is given.
func attacker(names []string, next <-chan int, rows []chan attackRow, p *profile.Profile, f verifyFlags) error {
	for {
		more, err := someAttacks(names, next, rows, p, f)
		if err != nil || !more {
			return err
		}
	}
}

// someAttacks is one process. more: the attacks have not come to an end.
func someAttacks(names []string, next <-chan int, rows []chan attackRow, p *profile.Profile, f verifyFlags) (more bool, err error) {
	cmd := exec.Command("/proc/self/exe", "verify", "--attack", "--rows", "-p", cmp.Or(f.profile, p.Name))
	cmd.Args[0], cmd.Stderr = "inner", os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return false, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	answers := json.NewDecoder(out)
	for range perProcess {
		i, ok := <-next
		if more = ok; !ok {
			break
		}
		var row attackRow
		if _, err = io.WriteString(in, names[i]+"\n"); err == nil {
			err = answers.Decode(&row)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", names[i], err)
			break
		}
		rows[i] <- row
	}
	in.Close()
	return more, errors.Join(err, cmd.Wait())
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
		return "", &fault.Refusal{Code: 125, Msg: "there is no place for the attacks: " + err.Error()}
	}
	if len(dir) > attack.MaxBase {
		return "", &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q has a path of more than %d bytes, too long for the names of sockets", dir, attack.MaxBase), Hint: "set XDG_CACHE_HOME"}
	}
	for _, tmp := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm"} {
		if paths.Below(tmp, dir) {
			return "", &fault.Refusal{Code: 125, Msg: fmt.Sprintf("the cache folder %q is below %s, of which a box has its own", dir, tmp), Hint: "set XDG_CACHE_HOME"}
		}
	}
	return dir, nil
}

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
