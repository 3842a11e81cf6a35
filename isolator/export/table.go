package export

import (
	"slices"
	"strings"

	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/registry"
)

// Verdict is what becomes of a key.
type Verdict string

// The verdicts.
const (
	Exact   Verdict = "exact"
	Partly  Verdict = "partly"
	Refused Verdict = "refused"
)

// Case is what becomes of a key with some values. The first that fits an item counts; an item
// that none fits is exact.
type Case struct {
	On      []string                                  // values; none is every value
	If      func(r *Request, item, value string) bool // besides; nil is always
	When    string                                    // what On and If come to, for people; "" is always
	Verdict Verdict
	Words   string
}

// Row is one key of the profile language.
type Row struct {
	Key string
	// Nested and Slurm are the cases of inner's own box in a container and of a batch job. None is
	// exact.
	Nested, Slurm []Case
	// Podman are those of a container of podman, where they are others than Nested.
	Podman []Case
}

// Table has a row for every key, in the order of the schema; a test compares them.
func Table() []Row {
	return slices.Concat(generalRows(), networkRows(), sandboxRows(), mountRows(), programRows())
}

func refused(words string, on ...string) Case {
	return Case{On: on, When: quotedList(on), Verdict: Refused, Words: words}
}

func partly(words string, on ...string) Case {
	return Case{On: on, When: quotedList(on), Verdict: Partly, Words: words}
}

func (c Case) when(when string, f func(r *Request, item, value string) bool) Case {
	c.If, c.When = f, when
	return c
}

func quotedList(on []string) string {
	if len(on) == 0 {
		return ""
	}
	return "`" + strings.Join(on, "`, `") + "`"
}

// Cases returns the cases of a target and a form.
func (row Row) Cases(to Target, form Form) []Case {
	switch {
	case form == Native:
		return row.native()
	case to == Slurm:
		return row.Slurm
	case to == Podman && row.Podman != nil:
		return row.Podman
	}
	return row.Nested
}

// nested has cases for a container alone.
func nested(key string, cases ...Case) Row { return Row{Key: key, Nested: cases} }

func exact(key string) Row { return Row{Key: key} }

func generalRows() []Row {
	login := refused("there is no login for it: --secret CAPABILITY=NAME names the Secret that has it").when("without --secret",
		func(r *Request, item, _ string) bool { return r.secret(item) == "" || len(loginVariables(item)) == 0 })
	return []Row{
		exact("schema_version"),
		exact("name"),
		exact("description"),
		exact("extends"), // it travels as one file
		nested("workspaces_path", refused("its folders are made on your machine")),
		{Key: "experimental", Nested: []Case{refused("an experimental profile does not start", "true")}, Slurm: []Case{refused("an experimental profile does not start", "true")}},
		nested("capabilities", login, partly("its login is variables of the Secret; your settings of it do not travel")),
		nested("sync_credentials", partly("a login that is a variable is not renewed in the box, and nothing is written back", "true")),
		exact("shim.commands"), // nobody types in a pod
		exact("shim.when"),
	}
}

func networkRows() []Row {
	full := "the network of a pod is the engine's; list hosts in network_allow, with network_mode = \"allowlist\""
	asked := partly("the registry is the one that the package manager in the image is set to").when("groups of package managers", asksClient)
	private := refused("the network of a pod cannot be reached from your computer")
	return []Row{
		nested("sandbox.network", refused(full, "true")),
		nested("sandbox.network_mode", refused(full, "full"), refused("nobody is there to be asked", "ask")),
		nested("sandbox.network_allow", asked),
		nested("sandbox.network_deny", asked),
		nested("sandbox.publish", private),
		nested("sandbox.host_ports", refused("the services of your computer are not the pod's")),
		nested("sandbox.clipboard", refused("a pod has no clipboard", "true")),
		nested("sandbox.devices", refused("a pod gets no device of its node")),
		nested("sandbox.allow", refused("what it shows is on your machine; a secret comes with --secret or --secret-env")),
	}
}

// asksClient reports whether an item is a group whose hosts a package manager names.
func asksClient(_ *Request, item, _ string) bool {
	group, ok := strings.CutPrefix(item, "@")
	if !ok {
		return false
	}
	_, fixed := registry.Fixed(group)
	return !fixed
}

func sandboxRows() []Row {
	noHome := func(r *Request, _, _ string) bool { return r.claim("~") == "" }
	whole := "the whole container has this limit, inner's own processes included"
	unheld := refused("for a plain user, where control groups are of version 1, podman starts the pod without this limit")
	return []Row{
		exact("sandbox.base"),
		exact("sandbox.workdir_mode"),
		exact("sandbox.writable"),
		exact("sandbox.keep"),
		exact("sandbox.etc"),
		nested(
			"sandbox.home",
			partly("it lasts as long as the pod: --volume ~=pvc:NAME keeps it", "own").when("`own` without --volume", noHome),
			partly("a home in a pod is empty, but for --volume", "host", "host-ro"),
		),
		nested("sandbox.home_name", refused("pods share no home: --volume ~=pvc:NAME").when("without --volume", noHome)),
		nested("sandbox.home_allow", partly("a home in a pod is empty, but for --volume; programs come with the image")),
		exact("sandbox.hide"),
		nested("sandbox.pid_namespace", refused("processes could outlive the run", "false")),
		exact("sandbox.git_dir"),
		nested("sandbox.proc", refused("engines cover parts of a container's /proc, and where they do the kernel mounts no fresh one", "fresh"), partly("it is `bind`: the container's, in which are inner's own processes", "auto")),
		exact("sandbox.seccomp"),
		exact("sandbox.landlock"),
		nested("sandbox.backend", refused("the engine is the one of --to", "podman", "docker")),
		nested("sandbox.image", refused("the image is the one of --image")),
		nested("sandbox.cgroup_manager", refused("there are no containers in the box of a pod", "cgroupfs", "systemd")),
		{Key: "sandbox.limits.memory", Nested: []Case{partly(whole)}, Podman: []Case{unheld}},
		{Key: "sandbox.limits.cpu", Nested: []Case{partly(whole)}, Podman: []Case{unheld}},
		exact("sandbox.limits.pids"),
		exact("sandbox.limits.files"),
		exact("sandbox.limits.file_size"),
		exact("sandbox.limits.disk"),
		exact("sandbox.limits_required"),
		exact("sandbox.session"), // a pod is one run
	}
}

func mountRows() []Row {
	unclaimed := func(r *Request, item, mode string) bool { return mode != string(profile.Tmpfs) && r.claim(item) == "" }
	mounts := []Case{
		refused("the copy, and what changed in it, would go with the pod").when("mode `safe-rw`", func(_ *Request, _, mode string) bool { return mode == string(profile.SafeRW) }),
		refused("it is a folder of your machine: --volume PATH=pvc:NAME names the volume that stands for it").when("`ro` and `rw` without --volume", unclaimed),
	}
	secret := refused("its value looks like a secret: inherit the variable, and --secret-env VARIABLE=NAME/KEY").when("values that look like secrets",
		func(_ *Request, item, value string) bool { return (profile.Env{}).Hidden(item, value) })
	filled := refused("its value is made of a variable of yours: inherit that, and --secret-env VARIABLE=NAME/KEY").when("values made of other variables than HOME, USER and PATH", madeOfYours)
	login := refused("it looks like a login: the token for git is --secret publish=NAME").when("values that look like secrets",
		func(_ *Request, item, value string) bool {
			return profile.LooksSecret(item) || profile.HasLogin(value) || profile.HasLogin(item) || strings.HasSuffix(strings.ToLower(item), "extraheader")
		})
	bare := partly("the container has it only by --secret-env VARIABLE=NAME/KEY, or --secret").when("names that look like secrets, without --secret-env",
		func(r *Request, item, _ string) bool {
			return profile.LooksSecret(item) && !strings.Contains(item, "*") && !r.given(item)
		})
	theirs := "the variables are those of the container"
	return []Row{
		nested("mounts", mounts...),
		nested("env.clearenv", partly(theirs, "false")),
		nested("env.inherit_all", partly(theirs, "true")),
		nested("env.inherit", bare),
		{Key: "env.set", Nested: []Case{secret, filled}, Slurm: []Case{secret}},
		exact("env.path_prepend"),
		nested("git.strip_sections", partly("the container has no git settings of yours")),
		{Key: "git.overrides", Nested: []Case{login}, Slurm: []Case{login}},
	}
}

// madeOfYours reports whether a value of [env] set is made of a variable that a container does
// not have.
func madeOfYours(_ *Request, _, value string) bool {
	value = strings.ReplaceAll(value, "$$", "")
	for _, part := range strings.Split(value, "$")[1:] {
		name := strings.TrimPrefix(part, "{")
		end := strings.IndexFunc(name, func(c rune) bool {
			return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
		})
		if end >= 0 {
			name = name[:end]
		}
		if !slices.Contains([]string{"HOME", "USER", "PATH"}, name) {
			return true
		}
	}
	return false
}

func programRows() []Row {
	terminal := refused("nobody sits at it", "true")
	batch := refused("a batch job has no terminal", "true")
	address := refused("it is an address with a login in it: inherit a variable, and --secret-env VARIABLE=NAME/KEY").when("addresses with a login",
		func(_ *Request, item, _ string) bool { return profile.HasLogin(item) })
	return []Row{
		exact("entrypoint.cmd"),
		{Key: "entrypoint.args", Nested: []Case{address}, Slurm: []Case{address}},
		{Key: "entrypoint.interactive", Nested: []Case{terminal}, Slurm: []Case{batch}},
		{Key: "entrypoint.tui", Nested: []Case{terminal}, Slurm: []Case{batch}},
		nested("entrypoint.cursor_fix", partly("there is no terminal")),
		nested("entrypoint.workdir", refused("the working folder of a pod is the clone of --repo")),
		nested("entrypoint.history", refused("the history of your shells is on your machine")),
		exact("output.summary"),
		nested("output.log", refused("the log of a pod is its output")),
		exact("output.timeout_seconds"),
		nested("output.record", refused("there is no terminal to record", "true"), partly("the audit log goes with the pod; its output is the record", "audit")),
		nested("output.review", refused("the copies of a run would go with the pod", "true")),
		exact("output.max_output"), // of calls, which a pod has none of
		exact("noop.block"),
		exact("noop.rewrite"),
		exact("noop.message"),
		exact("noop.mode"),
		exact("verify.custom.checks"), // run by inner verify alone
	}
}
