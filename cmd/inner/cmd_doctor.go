package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/hooks/usershell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/container"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/picture"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/roles"
	"github.com/enr/inner/isolator/seccomp"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/config"
)

// finding is one line of doctor. One that is a warning or broken carries a fix.
type finding struct {
	Name   string `json:"name"`
	Status string `json:"status"` // "ok", "absent", "warning", "broken"
	Text   string `json:"text"`
	Fix    string `json:"fix,omitempty"`
}

func ok(name, format string, args ...any) finding {
	return finding{Name: name, Status: "ok", Text: fmt.Sprintf(format, args...)}
}

// absent is something that this host does not have, and that nobody has asked for yet:
// what asks for it does not start.
func absent(name, fix, format string, args ...any) finding {
	return finding{Name: name, Status: "absent", Text: fmt.Sprintf(format, args...), Fix: fix}
}

func warning(name, fix, format string, args ...any) finding {
	return finding{Name: name, Status: "warning", Text: fmt.Sprintf(format, args...), Fix: fix}
}

func broken(name, fix, format string, args ...any) finding {
	return finding{Name: name, Status: "broken", Text: fmt.Sprintf(format, args...), Fix: fix}
}

func (a *app) cmdDoctor() *cobra.Command {
	var name string
	var who cli.WhoFlags
	var roles bool
	c := a.Answers(&cobra.Command{
		Use: "doctor [NAME|./FILE | --as ROLE | --roles]", Short: "Check what works on this host, or whether a profile starts here; one fix per finding", Args: cli.OneProfile(&name),
		Long: "Check what works on this host. Exit code 1 when something needed is broken.\n\n" +
			"With a profile: say whether inner run would start it here, and what enforces it.\n" +
			"Its sandbox is made and removed again; the program is loaded in it, and ended before its\n" +
			"first instruction. Exit code 1 when inner run would end with 125 or 126, and 127 when the\n" +
			"program is not found.\n\n" +
			"With --roles: show the table [roles] of config.toml that is in force here, the project's when it is\n" +
			"allowed and has one, else yours, and compare each role with the one before it. Exit code 1 when one\n" +
			"may do less anywhere than the one before, or cannot be used.",
		ValidArgsFunction: a.CompleteOneProfile,
	}, func(cmd *cobra.Command, args []string) (cli.Answer, error) {
		if err := who.Check(cmd); err != nil {
			return cli.Answer{}, err
		}
		if roles {
			if cmd.Flags().Changed("profile") || len(args) > 0 || who.Asked {
				return cli.Answer{}, cli.Usagef("--roles is about all roles")
			}
			out, bad, err := a.roles()
			return cli.Answer{Value: out, Words: func() { a.printRoles(out) }, Code: cli.OneIf(bad)}, err
		}
		if cmd.Flags().Changed("profile") || len(args) > 0 || who.Asked {
			if name == "" && !who.Asked {
				return cli.Answer{}, cli.Usagef("the name of the profile is empty")
			}
			c, err := a.checkProfile(name, who)
			if err != nil {
				return cli.Answer{}, a.Unusable(err, name)
			}
			return cli.Answer{Value: c, Words: func() { a.printFindings(c.Findings) }, Code: c.exitCode()}, nil
		}
		list := a.diagnose()
		anyBroken := slices.ContainsFunc(list, func(f finding) bool { return f.Status == "broken" })
		return cli.Answer{Value: list, Words: func() { a.printFindings(list) }, Code: cli.OneIf(anyBroken)}, nil
	})
	a.ProfileFlag(c, &name)
	who.AddRole(a.App, c)
	c.Flags().BoolVar(&roles, "roles", false, "show which profile each role has, and compare them")
	return c
}

func (a *app) printFindings(list []finding) {
	mark := map[string]string{"ok": "32", "absent": "36", "warning": "33", "broken": "31"}
	for _, f := range list {
		fmt.Fprintf(a.Out, "%s %-12s %s\n", cli.Paint(a.Out, mark[f.Status], fmt.Sprintf("%-7s", f.Status)), f.Name, cli.Printable(strings.ReplaceAll(f.Text, "\n", "; ")))
		if f.Fix != "" {
			fmt.Fprintf(a.Out, "        %-12s fix: %s\n", "", cli.Printable(f.Fix))
		}
	}
}

func (a *app) diagnose() []finding {
	if cli.InBox() {
		return []finding{ok("box", "this is inside a sandbox; run doctor on the host")}
	}
	bwrap, why, fix := host.FindBwrap(os.Getenv("PATH"), a.SetuidBwrap)
	var box []finding
	if bwrap == "" {
		box = append(box, broken("bwrap", fix, "%s", why))
	} else if box = bwrapVersion(bwrap); box[0].Status == "ok" {
		box = append(box, namespaces(bwrap))
	}
	var groups []finding
	for _, m := range features.MissingHosts(a.Settings) {
		groups = append(groups, absent("groups", m.Fix, "%s", m))
	}
	return slices.Concat(box, kernelFindings(), limitFindings(), a.organisationFindings(), groups,
		a.folders(), a.hookFindings(), a.shimFindings(), a.shadowFindings(), a.globalProfiles(), a.prefixFindings())
}

// bwrapVersion reports the version and its known holes.
func bwrapVersion(path string) []finding {
	out, err := container.Clean(path, "--version")
	words := strings.Fields(out)
	if err != nil || len(words) == 0 {
		return []finding{broken("bwrap", "sudo apt-get install --reinstall bubblewrap", "%s --version fails: %v", path, err)}
	}
	version := words[len(words)-1]
	if older(version, host.OldestBwrap) {
		return []finding{broken("bwrap", "install bubblewrap "+host.OldestBwrap+" or newer", "%s, version %s is too old: --disable-userns is there since %s", path, version, host.OldestBwrap)}
	}
	list := []finding{ok("bwrap", "%s, version %s", path, version)}
	if fi, err := os.Stat(path); err == nil && fi.Mode()&os.ModeSetuid != 0 {
		list = append(list, warning("bwrap", "sudo chmod u-s "+path, "it is set-user-id root, and your config.toml says setuid_bwrap = true: CVE-2020-5291 and CVE-2026-41163 concern that form, boxes that forbid user namespaces inside do not start with it, and others reach hosts by name through the proxy alone; bwrap makes the mounts that hide files, and who writes their folder during a start can have it make empty files elsewhere"))
	}
	if older(version, "0.12") {
		list = append(list, ok("bwrap", "CVE-2026-87766 (before 0.12.0, mount points through planted links) is avoided: nothing is created in a writable folder"))
	}
	return list
}

// older compares the first two numbers of two versions.
func older(version, than string) bool {
	var v, t [2]int
	_, _ = fmt.Sscanf(version, "%d.%d", &v[0], &v[1]) // what is no number is old
	_, _ = fmt.Sscanf(than, "%d.%d", &t[0], &t[1])
	return slices.Compare(v[:], t[:]) < 0
}

// namespaces makes a sandbox: the only test that counts.
func namespaces(bwrap string) finding {
	said, err := container.TryBwrap(bwrap)
	if err == nil {
		return ok("sandbox", "user, process, network and IPC namespaces work")
	}
	why, fix := host.ProbeNamespaces("/").Cause(bwrap, said)
	if why == "" {
		return broken("sandbox", "run it in a place that allows user namespaces (containers often do not)", "bwrap cannot make a sandbox: %s", said)
	}
	return broken("sandbox", fix, "%s (%s)", why, said)
}

// organisationFindings says what the administrator of this computer has written, if anything.
func (a *app) organisationFindings() []finding {
	o, err := a.Organisation()
	switch {
	case err != nil:
		return []finding{broken("organisation", cmp.Or(a.Cure(err, "", nil), "inner status"), "%v", err)}
	case o == nil:
		return nil
	}
	list := []finding{ok("organisation", "%s restricts every box: inner config show", profile.OrganisationFile)}
	for _, p := range o.Former {
		list = append(list, warning("organisation", "tell who administers this computer", "%s", p.Error()))
	}
	return list
}

func (a *app) folders() []finding {
	fi, err := os.Lstat(a.InnerHome)
	if err != nil {
		return []finding{warning("folder", "inner init", "%s does not exist yet", a.InnerHome)}
	}
	st, _ := fi.Sys().(*syscall.Stat_t)
	switch {
	case !fi.IsDir():
		return []finding{broken("folder", "move it away and run inner init", "%s is not a folder", a.InnerHome)}
	case st != nil && int(st.Uid) != os.Getuid():
		return []finding{broken("folder", fmt.Sprintf("sudo chown -R %d %s", os.Getuid(), a.InnerHome), "%s belongs to somebody else", a.InnerHome)}
	case fi.Mode().Perm()&0o022 != 0:
		return []finding{broken("folder", "chmod 700 "+a.InnerHome, "%s can be written by others", a.InnerHome)}
	}
	// Only writing tells: a mode says nothing of a disk that is full or read-only.
	if probe, err := os.MkdirTemp(a.InnerHome, ".doctor-"); err != nil {
		return []finding{broken("folder", cmp.Or(fault.Room(err), "make it writable for you"), "nothing can be written to %s: %v", a.InnerHome, err)}
	} else if err := os.Remove(probe); err != nil {
		return []finding{warning("folder", "rm -r "+probe, "%v", err)}
	}
	list := []finding{ok("folder", "%s", a.InnerHome)}
	base := a.StageBase()
	stuck, err := features.Sweep(a.Caller)
	if err != nil {
		list = append(list, warning("folder", "ls -lA "+base, "leftovers of crashed runs cannot be removed: %v", err))
	}
	for _, err := range stuck {
		list = append(list, warning("folder", "make the folder that it is in writable", "an empty file or folder that an earlier run made is still there: %v", err))
	}
	return list
}

// hookFindings looks at this shell's PATH and at its start-up files. It never proposes a line that is there.
func (a *app) hookFindings() []finding {
	shell := usershell.TypedIn()
	rc, line := a.startup().HookLine(shell)
	loaded := a.startup().FindHook(shell)
	add := fmt.Sprintf("echo %s >> %s, then open a new shell", quote.POSIX(line), quote.POSIX(rc))
	if shell == "nu" {
		add = "inner init --hook, then open a new shell" // >> is another thing there
	}
	if loaded != nil {
		rc = loaded.File
	}
	at, before := a.shimPlace()
	var list []finding
	switch {
	case at < 0 && loaded == nil:
		return []finding{broken("hook", add, "the hook is not live in this shell: %s is not on PATH", a.ShimDir())}
	case at < 0 && loaded.Problem == "":
		list = append(list, broken("hook", "open a new shell, or type "+a.startup().Typed(shell), "the hook is not live in this shell, although line %d of %s loads it", loaded.Number, a.Short(rc)))
	case at < 0:
		list = append(list, broken("hook", loaded.Fix+", then open a new shell", "the hook is not live in this shell: line %d of %s %s", loaded.Number, a.Short(rc), loaded.Problem))
	case at > 0:
		list = append(list, broken("hook", "press Enter once in a hooked shell, or put the hook last in "+a.Short(rc), "the shim folder is not first on PATH: %s comes before it", before))
	default:
		list = append(list, ok("hook", "the shim folder is first on PATH"))
	}
	switch {
	case loaded == nil:
		list = append(list, warning("hook", add, "no start-up file of %s loads the hook, so a new shell will not have it", shell))
	case loaded.Problem != "" && at >= 0:
		list = append(list, warning("hook", loaded.Fix, "line %d of %s %s", loaded.Number, a.Short(rc), loaded.Problem))
	case loaded.Problem == "":
		list = append(list, ok("hook", "line %d of %s loads it", loaded.Number, a.Short(rc)))
	}
	if problem, fix := a.startup().LoginGap(shell, loaded); problem != "" {
		list = append(list, warning("hook", fix, "%s", problem))
	}
	return list
}

// shadowFindings look for aliases and functions of this shell that go around shims.
func (a *app) shadowFindings() []finding {
	var list []finding
	for _, s := range usershell.Shadows() {
		list = append(list, warning("alias", s.Cure(usershell.Starting()), "%q is %s in this shell, so it runs outside the sandbox", s.Name, s.What()))
	}
	return list
}

// shimPlace is where on this shell's PATH the shim folder is, -1 when it is not, and
// what comes first.
func (a *app) shimPlace() (at int, first string) {
	for i, d := range filepath.SplitList(os.Getenv("PATH")) {
		if i == 0 {
			first = d
		}
		if sameFile(d, a.ShimDir()) {
			return i, first
		}
	}
	return -1, first
}

func sameFile(x, y string) bool {
	fx, err := os.Stat(x)
	if err != nil {
		return false
	}
	fy, err := os.Stat(y)
	return err == nil && os.SameFile(fx, fy)
}

func (a *app) globalProfiles() []finding {
	all, _ := a.profilesOf(settings.Place{}) // none
	if len(all) == 0 {
		return []finding{warning("profiles", "inner init", "no global profiles")}
	}
	var list []finding
	for _, f := range all {
		if _, err := f.load(); err != nil {
			list = append(list, warning("profiles", "inner profile validate "+cli.NameOf(f.path), "%s", fault.First(err)))
		}
	}
	cfg, err := a.GlobalConfig()
	if err != nil {
		list = append(list, broken("config", "inner config edit", "%v", err))
	} else {
		for _, line := range cfg.Former {
			list = append(list, warning("config", "inner config edit", "%s", line))
		}
	}
	if len(list) == 0 {
		list = append(list, ok("profiles", "%d global profiles are valid", len(all)))
	}
	return list
}

// kernelFindings says which layers below the mounts this host has.
func kernelFindings() []finding {
	var list []finding
	status, _ := os.ReadFile("/proc/self/status")
	switch {
	case !seccomp.Known(runtime.GOARCH):
		list = append(list, broken("seccomp", `allow = ["no-seccomp"] under [sandbox] of every profile`, "there is no system call filter for %s", runtime.GOARCH))
	case !bytes.Contains(status, []byte("\nSeccomp_filters:")) && !bytes.Contains(status, []byte("\nSeccomp:")):
		list = append(list, broken("seccomp", `a kernel with CONFIG_SECCOMP_FILTER, or allow = ["no-seccomp"] under [sandbox]`, "the kernel filters no system calls"))
	default:
		list = append(list, ok("seccomp", "system calls can be filtered"))
	}
	if !launch.Names() {
		list = append(list, absent("names", "a kernel of Linux 5.14 or newer", "boxes reach hosts by name through the proxy alone, and programs that ask none reach nothing"))
	}
	list = append(list, landlockFinding(host.LandlockABI()))
	n := host.ProbeNested(os.Getuid(), os.Getgid())
	_, noPodman := exec.LookPath("podman")
	switch {
	case n.Why != "" && noPodman != nil:
		list = append(list, absent("containers", "", "boxes cannot make containers: %s", n.Why)) // nor did anybody ask
	case n.Why != "":
		list = append(list, warning("containers", n.Fix, "profiles with allow = [\"nested-user-ns\"] do not start: %s", n.Why))
	default:
		list = append(list, ok("containers", "%d ids from %d up can be given to boxes that make containers (allow = [\"nested-user-ns\"])", n.UIDs.Count, n.UIDs.Start))
	}
	return list
}

// landlockFinding says what the kernel's second layer gives.
func landlockFinding(abi int) finding {
	const name, fix = "landlock", picture.LandlockFix
	switch {
	case abi >= plan.LandlockScopes:
		return ok(name, "version %d: writing, signals and abstract sockets are confined a second time", abi)
	case abi >= plan.LandlockWrites:
		return warning(name, fix, "version %d: writing is confined a second time; with the network, abstract sockets of the host can be reached; profiles with landlock = \"required\" do not start", abi)
	default:
		return warning(name, fix, "this kernel has none: FIFOs in a visible home can be written, and with the network abstract sockets of the host can be reached; profiles with landlock = \"required\" do not start")
	}
}

// limitFindings says what holds which limit of [sandbox.limits] here.
func limitFindings() []finding {
	h := host.ProbeLimits(os.Getuid(), map[string]string{"XDG_RUNTIME_DIR": os.Getenv("XDG_RUNTIME_DIR"), "PATH": os.Getenv("PATH")})
	var list []finding
	plan, missing := limits.Choose(limits.Values{Memory: 1 << 40, CPU: 1000, Pids: 1000}, h)
	for _, held := range plan.Held {
		list = append(list, ok("limits", "%s: held by %s", held.Key, picture.EngineText(held, plan)))
	}
	for i, m := range missing {
		if i+1 < len(missing) && missing[i+1].Why == m.Why {
			missing[i+1].Key = m.Key + ", " + missing[i+1].Key // one reason for both
			continue
		}
		// Nobody has asked for it yet: whoever does is told in the same words.
		list = append(list, absent("limits", "", "%s: a profile that asks for it does not start: %s", m.Key, m.Why))
	}
	return append(list, ok("limits", "files and file_size: held by resource limits of the program (setrlimit); disk: by the size of each tmpfs, and of the box's git directories and home by a look at them"))
}

// rolesAnswer is what inner doctor --roles shows.
type rolesAnswer struct {
	File  string     `json:"file"` // the config.toml of the table
	Roles []roleRow  `json:"roles"`
	Steps []roleStep `json:"steps,omitempty"`
}

type roleRow struct {
	Role    string `json:"role"`
	Profile string `json:"profile"`
	Error   string `json:"error,omitempty"` // why the profile cannot be used here
}

// roleStep compares two neighbours.
type roleStep struct {
	From     string   `json:"from"`
	To       string   `json:"to"`
	Narrower []string `json:"narrower"` // where the second may do less than the first
}

// roles is the table of roles that is in force here, and whether something is wrong with it: each profile is loaded,
// and each role compared with the one before it.
func (a *app) roles() (out rolesAnswer, bad bool, err error) {
	pl, err := a.Here()
	if err != nil {
		return out, false, err
	}
	t, err := roles.In(a.Settings, pl)
	if err != nil {
		return out, false, a.Unusable(err, "")
	}
	if t.Roles == nil {
		_, err := roles.Of(a.Settings, "", pl)
		return out, false, err
	}
	out = rolesAnswer{File: t.File}
	for _, kv := range t.Profiles {
		out.Roles = append(out.Roles, roleRow{Role: kv.Key, Profile: kv.Value})
	}
	specs := map[string]profile.RunConfig{}
	for i, row := range out.Roles {
		spec, err := a.specHere(row.Profile)
		if err != nil {
			out.Roles[i].Error, bad = fault.First(err), true
			continue
		}
		specs[row.Role] = spec
	}
	out.Steps = stepsOf(out.Roles, specs)
	bad = bad || slices.ContainsFunc(out.Steps, func(s roleStep) bool { return len(s.Narrower) > 0 })
	return out, bad, nil
}

// stepsOf compares each role with the one before it, as far as they can be used. Who has none is no step.
func stepsOf(rows []roleRow, specs map[string]profile.RunConfig) []roleStep {
	var out []roleStep
	last := ""
	for _, row := range rows {
		to, ok := specs[row.Role]
		if !ok || row.Role == config.AnyRole {
			continue
		}
		before := last
		if last = row.Role; before == "" {
			continue
		}
		from := specs[before]
		step := roleStep{From: before, To: row.Role, Narrower: []string{}}
		for _, g := range profile.Narrower(from, to) {
			text := g.Text
			if !g.Tightens {
				text = "no longer: " + text
			}
			step.Narrower = append(step.Narrower, text)
		}
		out = append(out, step)
	}
	return out
}

func (a *app) printRoles(out rolesAnswer) {
	rows := [][]string{{"ROLE", "PROFILE"}}
	for _, r := range out.Roles {
		rows = append(rows, []string{r.Role, r.Profile})
	}
	cli.Table(a.Out, rows)
	for _, r := range out.Roles {
		if r.Error != "" {
			a.Say("role %q: %s", r.Role, r.Error)
		}
	}
	for _, s := range out.Steps {
		for _, text := range s.Narrower {
			a.Say("%s may do less than %s: %s", s.To, s.From, text)
		}
	}
}
