package profile

import (
	"cmp"
	"time"
)

// The rows of keyRules for [mounts], [env], [git], and for the program and what it leaves.

func environmentRules() []keyRule {
	return []keyRule{
		{ // what shows a hidden resource elsewhere is refused for every profile
			key:    "mounts",
			whole:  (*validator).mounts,
			say:    (*granter).folders, // and of all other keys that are about files
			remote: (*hardener).mounts,
		},

		{key: "env.clearenv", remote: dropped("your environment stays outside", "false")},
		{
			key:    "env.inherit",
			check:  (*validator).inherit,
			say:    (*granter).variables, // and of the other keys of [env]
			remote: each(secret),
		},
		{key: "env.set", check: (*validator).set, remote: each(variables)},
		{key: "env.path_prepend", check: (*validator).pathPrepend, remote: each(variables)},

		{
			key:   "git.strip_sections",
			check: (*validator).filled,
			take:  (*resolver).git,
			say:   (*granter).git,
		},
		{key: "git.overrides", check: (*validator).gitOverride},
	}
}

func programRules() []keyRule {
	return []keyRule{
		{key: "entrypoint.cmd", check: (*validator).program, say: (*granter).program},
		{key: "entrypoint.workdir", check: (*validator).text, remote: dropped("it works where you are")},
		{
			key:   "entrypoint.history",
			check: (*validator).history,
			take:  func(r *resolver) { r.rc.Entrypoint.History = r.s.Entrypoint.History.Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("history", "history", "offers in the shell history", texts(rc.Entrypoint.History))
			},
		},

		{
			key:  "output.summary",
			take: func(r *resolver) { r.rc.Output.Summary = r.s.Output.Summary.On() },
		},
		{
			key:    "output.log",
			check:  (*validator).text,
			remote: dropped("the log is kept where your others are"),
		},
		{
			key:   "output.timeout_seconds",
			check: (*validator).timeout,
			take: func(r *resolver) {
				out := &r.rc.Output
				out.Timeout = time.Duration(r.s.Output.Timeout.Int()) * time.Second
				if t := r.c.Overrides.Timeout; t != nil {
					out.Timeout = *t
				}
				r.rc.AskedTimeout = out.Timeout
				out.Timeout = r.cappedTime(r.rc.AskedTimeout)
			},
		},
		{
			key: "output.record",
			take: func(r *resolver) {
				r.rc.Output.Record, r.rc.Output.Audit = r.s.Output.Record.V == "true", r.s.Output.Record.V == "audit"
			},
			remote: dropped("its runs are recorded as your others are", "audit"),
		},
		{
			key:  "output.review",
			take: func(r *resolver) { r.rc.Output.Review = r.s.Output.Review.On() || r.c.Overrides.Keep },
		},
		{ // of calls, which a pod has none of
			key:   "output.max_output",
			check: (*validator).maxOutput,
			take: func(r *resolver) {
				if n, ok := Bytes(string(r.s.Output.MaxOutput.V)); ok && r.s.Output.MaxOutput.Set {
					r.rc.Output.MaxOutput = int64(n)
				}
			},
		},

		{
			key:       "noop.block",
			check:     (*validator).blocked,
			take:      func(r *resolver) { r.rc.Noop = noopOf(&r.s.Noop) }, // all of [noop]
			say:       (*granter).blocked,
			container: imagePrograms,
		},
		{
			key:   "noop.rewrite",
			check: (*validator).rewritten,
			say: func(g *granter, rc *RunConfig) {
				g.list("replaces", "noop.rewrite", "runs another program", texts(rc.Noop.Rewritten()))
			},
			container: imagePrograms,
		},
		{key: "noop.message", check: (*validator).rule},

		{ // run in the box, by inner verify only
			key:   "verify.custom.checks",
			whole: (*validator).checks,
			take: func(r *resolver) {
				for _, c := range r.s.Verify.Custom.Checks.Items {
					cmd, _ := c.Get("cmd")
					severity, _ := c.Get("severity")
					r.rc.Checks = append(r.rc.Checks, Check{Name: c.Text, Cmd: cmd.Text, Severity: cmp.Or(severity.Text, "medium")})
				}
			},
		},
	}
}
