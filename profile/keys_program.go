package profile

import (
	"strings"
	"time"

	"github.com/enr/inner/profile/strict"
)

// The rows of keyRules for [mounts], [env], [git], and for the program and what it leaves.

func environmentRules() []keyRule {
	unclaimed := func(g Given, item, mode string) bool {
		return mode != string(Tmpfs) && item != System && !g.Volume(item)
	}
	secret := refused("its value looks like a secret: inherit the variable, and --secret-env VARIABLE=NAME/KEY").when("values that look like secrets",
		func(_ Given, item, value string) bool { return (Env{}).Hidden(item, value) })
	filled := refused("its value is made of a variable of yours: inherit that, and --secret-env VARIABLE=NAME/KEY").when("values made of other variables than HOME, USER and PATH", madeOfYours)
	login := podAndJob(refused("it looks like a login: the token for git is --secret publish=NAME").when("values that look like secrets",
		func(_ Given, item, value string) bool { return secretGitSetting(item, value) }))
	bare := partly("the container has it only by --secret-env VARIABLE=NAME/KEY, or --secret").when("names that look like secrets, without --secret-env",
		func(g Given, item, _ string) bool {
			return LooksSecret(item) && !strings.Contains(item, "*") && !g.Variable(item)
		})
	theirs := "the variables are those of the container"
	return []keyRule{
		{ // what shows a hidden resource elsewhere is refused for every profile
			key:    "mounts",
			check:  func(v *validator, s *source, _ string) { v.mounts(s.Mounts) },
			grants: "writes reads copies hides",
			say:    (*granter).folders, // and of all other keys that are about files
			remote: (*hardener).mounts,
			export: pod(
				refused("the copy, and what changed in it, would go with the pod").when("mode `safe-rw`", func(_ Given, _, mode string) bool { return mode == string(SafeRW) }),
				refused("it is a folder of your machine: --volume PATH=pvc:NAME names the volume that stands for it").when("`ro` and `rw` without --volume", unclaimed),
			),
		},

		{
			key:    "env.clearenv",
			grants: "passes",
			remote: switchOff("your environment stays outside", false, func(s *source) *strict.Bool { return &s.Env.Clearenv }),
			export: pod(partly(theirs, "false")),
		},
		{
			key:    "env.inherit",
			check:  (*validator).inherit,
			grants: "secret passes",
			say:    (*granter).variables, // and of the other keys of [env]
			remote: (*hardener).inherit,
			export: pod(bare),
		},
		{
			key:    "env.set",
			check:  (*validator).set,
			grants: "sets",
			remote: (*hardener).set,
			export: Export{Nested: []Case{secret, filled}, Slurm: []Case{secret}},
		},
		{
			key:    "env.path_prepend",
			check:  (*validator).pathPrepend,
			grants: "path",
			remote: func(h *hardener, key string) { h.list(key, &h.src.Env.PathPrepend) },
		},

		{
			key:    "git.strip_sections",
			check:  func(v *validator, s *source, key string) { v.filled(s.Git.StripSections, key) },
			take:   (*resolver).git,
			grants: "git layer",
			say:    (*granter).git,
			remote: kept,
			export: pod(partly("the container has no git settings of yours")),
		},
		{key: "git.overrides", check: (*validator).gitOverrides, grants: "git layer", remote: kept, export: login},
	}
}

func programRules() []keyRule {
	terminal := Export{Nested: []Case{refused("nobody sits at it", "true")}, Slurm: []Case{refused("a batch job has no terminal", "true")}}
	address := podAndJob(refused("it is an address with a login in it: inherit a variable, and --secret-env VARIABLE=NAME/KEY").when("addresses with a login",
		func(_ Given, item, _ string) bool { return HasLogin(item) }))
	return []keyRule{
		{key: "entrypoint.cmd", check: (*validator).program, grants: "runs", say: (*granter).program, remote: kept},
		{key: "entrypoint.args", grants: "runs", remote: kept, export: address},
		{key: "entrypoint.interactive", remote: kept, export: terminal},
		{key: "entrypoint.tui", remote: kept, export: terminal},
		{
			key:    "entrypoint.cursor_fix",
			check:  oneWord(func(s *source) *strict.String { return &s.Entrypoint.CursorFix }, cursorFixes),
			remote: kept,
			export: pod(partly("there is no terminal")),
		},
		{
			key:    "entrypoint.workdir",
			check:  func(v *validator, s *source, key string) { v.text(s.Entrypoint.Workdir, key) },
			remote: reset("it works where you are", func(s *source) *strict.String { return &s.Entrypoint.Workdir }),
			export: pod(refused("the working folder of a pod is the clone of --repo")),
		},
		{
			key:    "entrypoint.history",
			check:  (*validator).history,
			take:   func(r *resolver) { r.rc.Entrypoint.History = r.s.Entrypoint.History.Texts() },
			grants: "history",
			say: func(g *granter, rc *RunConfig) {
				g.list("history", "history", "offers in the shell history", texts(rc.Entrypoint.History))
			},
			remote: kept,
			export: pod(refused("the history of your shells is on your machine")),
		},

		{
			key:    "output.summary",
			take:   func(r *resolver) { r.rc.Output.Summary = r.s.Output.Summary.V },
			remote: kept,
		},
		{
			key:    "output.log",
			check:  func(v *validator, s *source, key string) { v.text(s.Output.Log, key) },
			grants: "writes",
			remote: reset("the log is kept where your others are", func(s *source) *strict.String { return &s.Output.Log }),
			export: pod(refused("the log of a pod is its output")),
		},
		{
			key:    "output.timeout_seconds",
			check:  (*validator).timeout,
			grants: "limit",
			take: func(r *resolver) {
				out := &r.rc.Output
				out.Timeout = time.Duration(r.s.Output.Timeout.V) * time.Second
				if t := r.c.Overrides.Timeout; t != nil {
					out.Timeout = *t
				}
				r.rc.AskedTimeout = out.Timeout
				out.Timeout = r.cappedTime(r.rc.AskedTimeout)
			},
			remote: kept,
		},
		{
			key:   "output.record",
			check: (*validator).record,
			take: func(r *resolver) {
				r.rc.Output.Record, r.rc.Output.Audit = r.s.Output.Record.V == "true", r.s.Output.Record.V == "audit"
			},
			grants: "writes",
			remote: (*hardener).record,
			export: pod(
				refused("there is no terminal to record", "true"),
				partly("the audit log goes with the pod; its output is the record", "audit"),
			),
		},
		{
			key:    "output.review",
			take:   func(r *resolver) { r.rc.Output.Review = r.s.Output.Review.V || r.c.Overrides.Keep },
			remote: kept,
			export: pod(refused("the copies of a run would go with the pod", "true")),
		},
		{ // of calls, which a pod has none of
			key:   "output.max_output",
			check: (*validator).maxOutput,
			take: func(r *resolver) {
				if n, ok := Bytes(string(r.s.Output.MaxOutput.V)); ok && r.s.Output.MaxOutput.Set {
					r.rc.Output.MaxOutput = int64(n)
				}
			},
			remote: kept,
		},

		{
			key:       "noop.block",
			check:     (*validator).blocked,
			take:      func(r *resolver) { r.rc.Noop = noopOf(&r.s.Noop) }, // all of [noop]
			grants:    "blocks",
			say:       (*granter).blocked,
			container: imagePrograms,
			remote:    kept,
		},
		{
			key:    "noop.rewrite",
			check:  (*validator).rewritten,
			grants: "replaces",
			say: func(g *granter, rc *RunConfig) {
				g.list("replaces", "noop.rewrite", "runs another program", texts(rc.Noop.Rewritten()))
			},
			container: imagePrograms,
			remote:    kept,
		},
		{key: "noop.message", check: (*validator).messages, remote: kept},

		{ // run in the box, by inner verify only
			key:   "verify.custom.checks",
			check: (*validator).checks,
			take: func(r *resolver) {
				for _, c := range r.s.Verify.Custom.Checks.Rows {
					r.rc.Checks = append(r.rc.Checks, Check{Name: c.Name.V, Cmd: c.Cmd.V, Severity: or(c.Severity, "medium")})
				}
			},
			remote: kept,
		},
	}
}
