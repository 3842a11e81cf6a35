package export

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/strict"
)

// Verdict is what becomes of a key elsewhere.
type Verdict string

// The verdicts, but for what is exact.
const (
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

// cases returns the cases of a target.
func (e Export) cases(to Target) []Case {
	if to == Podman && e.Podman != nil {
		return e.Podman
	}
	return e.Nested
}

// Export is what becomes of a key in a container of another engine.
type Export struct {
	Key    string
	Nested []Case // inner's own box in a container; none is exact, as everywhere
	Podman []Case // a container of podman; nil for those of Nested
}

// exact are the keys that are elsewhere what they are at home, or that nothing elsewhere has a use for.
func exact() []string {
	return []string{
		"schema_version", "name", "description", "extends", "shim.commands", "shim.when",
		"sandbox.network_allow", "sandbox.base", "sandbox.workdir_mode", "sandbox.writable",
		"sandbox.keep", "sandbox.etc", "sandbox.hide", "sandbox.git_dir", "sandbox.landlock",
		"sandbox.limits.pids", "sandbox.limits.files", "sandbox.limits.file_size", "sandbox.limits.disk",
		"sandbox.limits_required", "sandbox.session", "env.path_prepend", "entrypoint.cmd",
		"output.summary", "output.timeout_seconds", "output.max_output", "noop.block", "noop.rewrite",
		"noop.message", "verify.custom.checks",
	}
}

// rows are the other keys.
func rows() map[string]Export {
	capabilities := pod(
		refused("there is no login for it: --secret CAPABILITY=NAME names the Secret that has it").when("without --secret",
			func(r *Request, item, _ string) bool { return r.secret(item) == "" || len(loginVariables(item)) == 0 }),
		partly("its login is variables of the Secret; your settings of it do not travel"),
	)
	full := "the network of a pod is the engine's; list hosts in network_allow, with network_mode = \"allowlist\""
	whole := partly("the whole container has this limit, inner's own processes included")
	unheld := refused("for a plain user, where control groups are of version 1, podman starts the pod without this limit")
	unclaimed := func(r *Request, item, mode string) bool {
		return mode != string(profile.Tmpfs) && item != profile.System && r.claim(item) == ""
	}
	secret := refused("its value looks like a secret: inherit the variable, and --secret-env VARIABLE=NAME/KEY").when("values that look like secrets",
		func(_ *Request, item, value string) bool { return (profile.Env{}).Hidden(item, value) })
	filled := refused("its value is made of a variable of yours: inherit that, and --secret-env VARIABLE=NAME/KEY").when("values made of other variables than HOME, USER and PATH", madeOfYours)
	login := pod(refused("it looks like a login: the token for git is --secret publish=NAME").when("values that look like secrets",
		func(_ *Request, item, value string) bool { return profile.SecretGitSetting(item, value) }))
	bare := partly("the container has it only by --secret-env VARIABLE=NAME/KEY, or --secret").when("names that look like secrets, without --secret-env",
		func(r *Request, item, _ string) bool {
			return profile.LooksSecret(item) && !strings.Contains(item, "*") && !r.given(item)
		})
	theirs := "the variables are those of the container"
	terminal := pod(refused("nobody sits at it", "true"))
	address := pod(refused("it is an address with a login in it: inherit a variable, and --secret-env VARIABLE=NAME/KEY").when("addresses with a login",
		func(_ *Request, item, _ string) bool { return profile.HasLogin(item) }))
	return map[string]Export{
		"workspaces_path":      pod(refused("its folders are made on your machine")),
		"experimental":         pod(refused("an experimental profile does not start", "true")),
		"capabilities":         capabilities,
		"sync_credentials":     pod(partly("a login that is a variable is not renewed in the box, and nothing is written back", "true")),
		"sandbox.network":      pod(refused(full, "true")),
		"sandbox.network_mode": pod(refused(full, "full"), refused("nobody is there to be asked", "ask")),
		"sandbox.publish":      pod(refused("the network of a pod cannot be reached from your computer")),
		"sandbox.host_ports":   pod(refused("the services of your computer are not the pod's")),
		"credentials": pod(
			partly("the variables of the Secret are in the box, which can read them").when("`true` of an agent",
				func(_ *Request, item, value string) bool {
					return value == "true" && slices.Contains(profile.AgentLogins(), item)
				}),
			refused("inner-proxy and your logins are on your machine; a secret comes with --secret or --secret-env").when("all but `clone`",
				func(_ *Request, _, value string) bool { return value != "clone" }),
		),
		"sandbox.mcp":       pod(refused("your MCP servers and their settings are on your machine")),
		"sandbox.clipboard": pod(refused("a pod has no clipboard", "true")),
		"sandbox.devices":   pod(refused("a pod gets no device of its node")),
		"sandbox.allow": pod(refused("what it shows is on your machine; a secret comes with --secret or --secret-env").when("what is hidden otherwise",
			func(_ *Request, item, _ string) bool { return !slices.Contains(profile.LayerWords(), item) })),
		"sandbox.home": pod(
			partly("it lasts as long as the pod: --volume ~=pvc:NAME keeps it",
				"own").when("`own` without --volume", withoutHome),
			partly("a home in a pod is empty, but for --volume", "host"),
		),
		"sandbox.home_allow": pod(partly("a home in a pod is empty, but for --volume; programs come with the image")),
		"sandbox.proc": pod(
			refused("engines cover parts of a container's /proc, and where they do the kernel mounts no fresh one", "fresh"),
			partly("it is `bind`: the container's, in which are inner's own processes", "auto"),
		),
		"sandbox.backend":       pod(refused("the engine is the one of --to", "podman", "docker")),
		"sandbox.image":         pod(refused("the image is the one of --image")),
		"sandbox.limits.memory": {Nested: []Case{whole}, Podman: []Case{unheld}},
		"sandbox.limits.cpu":    {Nested: []Case{whole}, Podman: []Case{unheld}},
		"mounts": pod(
			refused("the copy, and what changed in it, would go with the pod").when("mode `safe-rw`", func(_ *Request, _, mode string) bool { return mode == string(profile.SafeRW) }),
			refused("it is a folder of your machine: --volume PATH=pvc:NAME names the volume that stands for it").when("`ro` and `rw` without --volume", unclaimed),
		),
		"env.clearenv":           pod(partly(theirs, "false")),
		"env.inherit":            pod(bare),
		"env.set":                pod(secret, filled),
		"git.strip_sections":     pod(partly("the container has no git settings of yours")),
		"git.overrides":          login,
		"entrypoint.args":        address,
		"entrypoint.interactive": terminal,
		"entrypoint.tui":         terminal,
		"entrypoint.cursor_fix":  pod(partly("there is no terminal")),
		"entrypoint.workdir":     pod(refused("the working folder of a pod is the clone of --repo")),
		"entrypoint.history":     pod(refused("the history of your shells is on your machine")),
		"output.log":             pod(refused("the log of a pod is its output")),
		"output.record": pod(
			refused("there is no terminal to record", "true"),
			partly("the audit log goes with the pod; its output is the record", "audit"),
		),
		"sandbox.undo":  pod(partly("what is kept for inner undo goes with the pod", "true")),
		"output.review": pod(refused("the copies of a run would go with the pod", "true")),
	}
}

// Table has a row for every key, in the order of the schema. One that nobody thought of has none.
func Table() (out []Export) {
	known := rows()
	for _, key := range profile.Keys() {
		row, has := known[key]
		if row.Key = key; has || slices.Contains(exact(), key) {
			out = append(out, row)
		}
	}
	return out
}

// pod has the same cases in every container.
func pod(cases ...Case) Export { return Export{Nested: cases} }

func refused(words string, on ...string) Case {
	return Case{On: on, When: quotedWords(on), Verdict: Refused, Words: words}
}

func partly(words string, on ...string) Case {
	return Case{On: on, When: quotedWords(on), Verdict: Partly, Words: words}
}

func (c Case) when(when string, f func(r *Request, item, value string) bool) Case {
	c.If, c.When = f, when
	return c
}

func quotedWords(on []string) string {
	if len(on) == 0 {
		return ""
	}
	return "`" + strings.Join(on, "`, `") + "`"
}

func withoutHome(r *Request, _, _ string) bool { return r.claim("~") == "" }

// madeOfYours reports whether a value of [env] set is made of a variable that a container does
// not have.
func madeOfYours(_ *Request, _, value string) bool {
	value = strings.ReplaceAll(value, "$$", "")
	for _, part := range strings.Split(value, "$")[1:] {
		name := strings.TrimPrefix(part, "{")
		name = name[:len(name)-len(strings.TrimLeft(name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))]
		if !slices.Contains([]string{"HOME", "USER", "PATH"}, name) {
			return true
		}
	}
	return false
}

// Finding is a key of the profile, or one item of it, that does not translate as it is.
type Finding struct {
	Key     string
	Item    string // of a list or a table; "" for a key with one value
	Verdict Verdict
	Words   string
}

// String returns the finding in one line.
func (f Finding) String() string {
	text := f.Key
	if f.Item != "" {
		text += fmt.Sprintf(" %q", f.Item)
	}
	return text + ": " + f.Words
}

// Judge says what does not translate at all, and what only in part, in the order of the schema.
func Judge(r *Request) (refused, said []Finding) {
	rows := Table()
	for _, w := range r.Profile.Written() {
		i := slices.IndexFunc(rows, func(row Export) bool { return row.Key == w.Name })
		if i < 0 { // a key that nobody thought of does not travel
			refused = append(refused, Finding{Key: w.Name, Verdict: Refused, Words: "inner export does not know it"})
			continue
		}
		for _, f := range judge(rows[i], r, w) {
			if f.Verdict == Refused {
				refused = append(refused, f)
			} else {
				said = append(said, f)
			}
		}
	}
	return refused, said
}

func judge(row Export, r *Request, w strict.Key) []Finding {
	var out []Finding
	parts := w.Parts()
	for _, p := range parts {
		item, value := cmp.Or(p.Key, p.Text), p.Text
		if row.Key == "mounts" {
			value = cmp.Or(value, string(profile.RO))
		}
		for _, c := range row.cases(r.Target) {
			if len(c.On) > 0 && !slices.Contains(c.On, item) || c.If != nil && !c.If(r, item, value) {
				continue
			}
			f := Finding{Key: row.Key, Verdict: c.Verdict, Words: c.Words}
			if (len(parts) > 1 || isList(row.Key)) && !profile.HasLogin(item) { // which is not said
				f.Item = item
			}
			out = append(out, f)
			break
		}
	}
	return out
}

// isList reports whether a key has items that are worth a name each.
func isList(key string) bool {
	return slices.Contains([]string{
		"mounts", "env.set", "env.inherit", "git.overrides",
		"sandbox.network_allow", "capabilities",
	}, key)
}

// refusal says that there is something refused.
func refusal(r *Request, n int) error {
	what := "one thing that does"
	if n > 1 {
		what = fmt.Sprintf("%d things that do", n)
	}
	return &fault.Refusal{
		Code: 125, Kind: fault.KindProfile,
		Msg:  fmt.Sprintf("profile %q is not exported to %s: it asks for %s not translate", r.Profile.Name, r.Target, what),
		Hint: "write a profile that extends it and says otherwise, or export to another target",
	}
}

// loginVariables returns the variables that an agent takes its login from.
func loginVariables(agent string) []string {
	c, _ := capability.Find(agent)
	return slices.Sorted(slices.Values(c.Keys))
}

// variables returns the variables that come from Secrets, each once: those of --secret-env, then
// the logins, which need not all be there.
func (r *Request) variables() []Variable {
	out := slices.Clone(r.Variables)
	for _, s := range r.Secrets {
		names := loginVariables(s.For)
		for _, name := range names {
			out = append(out, Variable{name, s.Name, name, len(names) > 1})
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(v Variable) bool {
		again := seen[v.Var]
		seen[v.Var] = true
		return again
	})
}

// given reports whether a variable comes from a Secret.
func (r *Request) given(name string) bool {
	return slices.ContainsFunc(r.variables(), func(v Variable) bool { return v.Var == name })
}
