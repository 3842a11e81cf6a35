package profile

import (
	"cmp"
	"time"

	"github.com/enr/inner/profile/strict"
)

// The rows of keyRules for [mounts], [env], [git], and for the program and what it leaves.

func environmentRules() []keyRule {
	return []keyRule{
		{ // what shows a hidden resource elsewhere is refused for every profile
			key:    "mounts",
			kind:   strict.ATable,
			of:     mountKeys(),
			whole:  (*validator).mounts,
			say:    (*granter).folders, // and of all other keys that are about files
			remote: (*hardener).mounts,
		},

		{key: "env.clearenv", kind: strict.ABool, remote: dropped("your environment stays outside", "false")},
		{
			key:    "env.inherit",
			kind:   strict.AList,
			check:  (*validator).inherit,
			say:    (*granter).variables, // and of the other keys of [env]
			remote: each(secret),
		},
		{key: "env.set", kind: strict.ATable, check: (*validator).set, remote: each(variables)},
		{key: "env.path_prepend", kind: strict.AList, merge: "first", check: (*validator).pathPrepend, remote: each(variables)},

		{
			key:    "git.strip_sections",
			kind:   strict.AList,
			check:  (*validator).filled,
			take:   (*resolver).git,
			say:    (*granter).git,
			remote: kept,
		},
		{key: "git.overrides", kind: strict.ATable, check: (*validator).gitOverride, remote: kept},
	}
}

// mountKeys are what a key of [mounts] says about its path; a plain string is the mode.
func mountKeys() []strict.Key {
	return []strict.Key{
		{Name: "dest"},
		{Name: "mode", Short: true, Words: []string{string(RO), string(RW), string(SafeRW), string(Tmpfs)}},
		{Name: "missing", Words: []string{"error", "skip", "create"}}, // what becomes of a source that is not there
		{Name: "allow", Words: AllowKeys()},                           // by which the source, one file, is hidden otherwise
	}
}

func programRules() []keyRule {
	return []keyRule{
		{key: "entrypoint.cmd", check: (*validator).program, say: (*granter).program, remote: kept},
		{key: "entrypoint.args", kind: strict.AList, merge: "replace", remote: kept},
		{key: "entrypoint.interactive", kind: strict.ABool, remote: kept},
		{key: "entrypoint.tui", kind: strict.ABool, remote: kept},
		{key: "entrypoint.cursor_fix", words: ",newlines,shell", remote: kept},
		{key: "entrypoint.workdir", check: (*validator).text, remote: dropped("it works where you are")},
		{
			key:   "entrypoint.history",
			kind:  strict.AList,
			check: (*validator).history,
			take:  func(r *resolver) { r.rc.Entrypoint.History = r.s.Value("entrypoint.history").Texts() },
			say: func(g *granter, rc *RunConfig) {
				g.list("history", "history", "offers in the shell history", texts(rc.Entrypoint.History))
			},
			remote: kept,
		},

		{
			key:    "output.summary",
			kind:   strict.ABool,
			take:   func(r *resolver) { r.rc.Output.Summary = r.s.Value("output.summary").On() },
			remote: kept,
		},
		{
			key:    "output.log",
			check:  (*validator).text,
			remote: dropped("the log is kept where your others are"),
		},
		{
			key:   "output.timeout_seconds",
			kind:  strict.AnInt,
			check: (*validator).timeout,
			take: func(r *resolver) {
				out := &r.rc.Output
				out.Timeout = time.Duration(r.s.Value("output.timeout_seconds").Int()) * time.Second
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
			kind:  strict.ASwitch,
			words: "true,false,audit",
			take: func(r *resolver) {
				record := r.s.Value("output.record").V
				r.rc.Output.Record, r.rc.Output.Audit = record == "true", record == "audit"
			},
			remote: dropped("its runs are recorded as your others are", "audit"),
		},
		{
			key:    "output.review",
			kind:   strict.ABool,
			take:   func(r *resolver) { r.rc.Output.Review = r.s.Value("output.review").On() || r.c.Overrides.Keep },
			remote: kept,
		},
		{ // of calls, which a pod has none of
			key:   "output.max_output",
			kind:  strict.ANumber,
			check: (*validator).maxOutput,
			take: func(r *resolver) {
				if most := r.s.Value("output.max_output"); most.Set {
					n, _ := Bytes(most.V)
					r.rc.Output.MaxOutput = int64(n)
				}
			},
			remote: kept,
		},

		{
			key:    "noop.block",
			kind:   strict.AList,
			check:  (*validator).blocked,
			take:   func(r *resolver) { r.rc.Noop = noopOf(r.s) }, // all of [noop]
			say:    (*granter).blocked,
			remote: kept,
		},
		{
			key:   "noop.rewrite",
			kind:  strict.ATable,
			check: (*validator).rewritten,
			say: func(g *granter, rc *RunConfig) {
				g.list("replaces", "noop.rewrite", "runs another program", texts(rc.Noop.Rewritten()))
			},
			remote: kept,
		},
		{key: "noop.message", kind: strict.ATable, check: (*validator).rule, remote: kept},

		{ // run in the box, by inner verify only
			key:   "verify.custom.checks",
			kind:  strict.Rows,
			of:    []strict.Key{{Name: "name"}, {Name: "cmd"}, {Name: "severity", Words: []string{"critical", "high", "medium", "info"}}},
			whole: (*validator).checks,
			take: func(r *resolver) {
				for _, c := range r.s.Value("verify.custom.checks").Items {
					cmd, _ := c.Get("cmd")
					severity, _ := c.Get("severity")
					r.rc.Checks = append(r.rc.Checks, Check{Name: c.Text, Cmd: cmd.Text, Severity: cmp.Or(severity.Text, "medium")})
				}
			},
			remote: kept,
		},
	}
}
