package profile

import (
	"time"
)

// The rows of keyRules for [mounts], [env], [git], and for the program and what it leaves.

func environmentRules() []keyRule {
	return []keyRule{
		{ // what shows a hidden resource elsewhere is refused for every profile
			key:    "mounts",
			whole:  (*validator).mounts,
			grants: "writes reads copies hides",
			say:    (*granter).folders, // and of all other keys that are about files
			remote: (*hardener).mounts,
		},

		{
			key:    "env.clearenv",
			grants: "passes",
			remote: dropped("your environment stays outside", "false"),
		},
		{
			key:    "env.inherit",
			check:  (*validator).inherit,
			grants: "secret passes",
			say:    (*granter).variables, // and of the other keys of [env]
			remote: each(secret),
		},
		{
			key:    "env.set",
			check:  (*validator).set,
			grants: "sets",
			remote: each(variables),
		},
		{
			key:    "env.path_prepend",
			check:  (*validator).pathPrepend,
			grants: "path",
			remote: each(variables),
		},

		{
			key:    "git.strip_sections",
			check:  (*validator).filled,
			take:   (*resolver).git,
			grants: "git layer",
			say:    (*granter).git,
			remote: kept,
		},
		{key: "git.overrides", check: (*validator).gitOverride, grants: "git layer", remote: kept},
	}
}

func programRules() []keyRule {
	return []keyRule{
		{key: "entrypoint.cmd", check: (*validator).program, grants: "runs", say: (*granter).program, remote: kept},
		{key: "entrypoint.args", grants: "runs", remote: kept},
		{key: "entrypoint.interactive", remote: kept},
		{key: "entrypoint.tui", remote: kept},
		{key: "entrypoint.cursor_fix", remote: kept},
		{
			key:    "entrypoint.workdir",
			check:  (*validator).text,
			remote: dropped("it works where you are"),
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
		},

		{
			key:    "output.summary",
			take:   func(r *resolver) { r.rc.Output.Summary = r.s.Output.Summary.V },
			remote: kept,
		},
		{
			key:    "output.log",
			check:  (*validator).text,
			grants: "writes",
			remote: dropped("the log is kept where your others are"),
		},
		{
			key:    "output.timeout_seconds",
			whole:  (*validator).timeout,
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
			key: "output.record",
			take: func(r *resolver) {
				r.rc.Output.Record, r.rc.Output.Audit = r.s.Output.Record.V == "true", r.s.Output.Record.V == "audit"
			},
			grants: "writes",
			remote: dropped("its runs are recorded as your others are", "audit"),
		},
		{
			key:    "output.review",
			take:   func(r *resolver) { r.rc.Output.Review = r.s.Output.Review.V || r.c.Overrides.Keep },
			remote: kept,
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
		{key: "noop.message", check: (*validator).rule, remote: kept},

		{ // run in the box, by inner verify only
			key:   "verify.custom.checks",
			whole: (*validator).checks,
			take: func(r *resolver) {
				for _, c := range r.s.Verify.Custom.Checks.Rows {
					r.rc.Checks = append(r.rc.Checks, Check{Name: c.Name.V, Cmd: c.Cmd.V, Severity: or(c.Severity, "medium")})
				}
			},
			remote: kept,
		},
	}
}
