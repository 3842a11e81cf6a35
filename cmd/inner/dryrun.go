package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/isolator"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/shims"

	"github.com/enr/inner/hooks/quote"
)

// Placeholders of a dry run: nothing is staged, so staged files have no path.
const (
	dryEmpty = "\x00empty"
	dryStage = "\x00staged:"
	dryNoop  = dryStage + "noop shims"
	dryPipe  = dryStage + "pipe"
	dryBus   = dryStage + "bus"
)

// dryRun prints the plan and a command that can be pasted into a bash. It has
// no side effect and never prints the value of a variable that looks like a
// secret.
func (a *app) dryRun(p *profile.Profile, c profile.Context, asJSON bool) error {
	rc, err := resolve(p, c)
	if err != nil {
		return err
	}
	prep, err := a.prepare(&rc, stageBase())
	if err != nil {
		return err
	}
	if err := a.knownProc(rc, &prep.facts, false); err != nil {
		return err
	}
	for i := range prep.facts.Git {
		prep.facts.Git[i].Missing = nil // made for a run only
	}
	prep.facts.Later = nil
	s := isolator.Staged{RunID: "dry-run", Empty: dryEmpty, Self: selfPath(), Program: prep.program, Argv: prep.argv}
	for _, cl := range prep.clones {
		if err := a.cloneBinds(&s, cl, rc, prep.facts, func(f capability.Folder) string { return dryStage + "clone of " + f.Path }); err != nil {
			return err
		}
	}
	scripts, err := shims.NoopScripts(rc.Noop, rc.Name, isolator.BoxNoop, isolator.BoxBlocked)
	if err != nil {
		return err
	}
	if len(scripts) > 0 {
		s.Noop = dryNoop
		s.Binds = append(s.Binds, blockedPipe(dryPipe))
	}
	if len(isolator.BusRules(rc)) > 0 {
		s.ShowBus(dryBus)
	}
	if err := prep.git.show(&s); err != nil {
		return err
	}
	if _, err := a.workspaces(rc); err != nil {
		return err
	}
	for _, m := range rc.Mounts {
		if m.Mode == profile.SafeRW {
			s.Copies = append(s.Copies, isolator.Copy{Dest: m.Dest, Host: dryStage + "copy of " + m.Source})
		}
	}
	plan, err := isolator.Build(rc, prep.facts, s)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(dryJSON(rc, plan))
	}
	fmt.Fprintf(a.stdout, "# profile %s (%s)\n", rc.Name, printable(rc.Path))
	for _, g := range profile.Grants(rc) {
		fmt.Fprintf(a.stdout, "#   %s\n", printable(g.Text))
	}
	for _, line := range a.reachLines(p, c, rc, false) {
		fmt.Fprintf(a.stdout, "#     %s\n", printable(line))
	}
	if left := prep.git.leftOut(); len(left) > 0 {
		fmt.Fprintf(a.stdout, "#   of your git settings it does not have: %s\n", printable(strings.Join(left, ", ")))
	}
	for _, line := range append(limitLines(plan), portLines(plan)...) {
		fmt.Fprintf(a.stdout, "#   %s\n", printable(line))
	}
	a.stdout.Write(paste(plan))
	return nil
}

// portLines tells what listens for the box, and for what reason; a pasted command
// has nothing of it.
func portLines(plan isolator.Plan) []string {
	var out []string
	for _, l := range plan.Listen {
		out = append(out, fmt.Sprintf("127.0.0.1:%d in the box: %s", l.Port, l.Reason))
	}
	for _, p := range plan.Publish {
		out = append(out, fmt.Sprintf("127.0.0.1:%d of this computer: port %d of the box, %s", p.HostPort, p.Port, p.Reason))
	}
	return out
}

// paste renders the plan as one bash command. Files given by descriptor are
// redirections; what would be staged is an empty folder.
func paste(plan isolator.Plan) []byte {
	var b bytes.Buffer
	var redirect []string
	next := isolator.FirstDataFD
	for i, d := range plan.Data {
		content := "printf %s " + word(string(d))
		if bytes.IndexByte(d, 0) >= 0 { // the filter of system calls
			content = "base64 -d <<<" + base64.StdEncoding.EncodeToString(d)
		}
		redirect = append(redirect, fmt.Sprintf("%d< <(%s)", isolator.FirstDataFD+i, content))
		next++
	}
	if plan.Map != nil {
		// The launcher makes the namespace, and bwrap joins it.
		b.WriteString("# pasted, the user namespace has one id only, and no containers can be made\n")
	}
	fmt.Fprintf(&b, "( cd / && exec env -i %s", word(plan.Bwrap))
	if plan.Map != nil {
		b.WriteString(" \\\n  --unshare-user")
	}
	for _, arg := range plan.Args {
		fmt.Fprintf(&b, " \\\n ")
		words := slices.Clone(arg.Words)
		if len(words) == 3 && words[1] == dryEmpty {
			words = []string{"--ro-bind-data", fmt.Sprint(next), words[2]}
			redirect = append(redirect, fmt.Sprintf("%d</dev/null", next))
			next++
		}
		if len(words) == 3 && (strings.HasPrefix(words[1], dryNoop+"/") || words[1] == dryPipe || words[1] == dryBus) {
			words[1] = "/bin/false" // a file, and as a program it fails
		}
		if len(words) == 3 && strings.HasPrefix(words[1], dryStage) {
			words = []string{"--tmpfs", words[2]}
		}
		for _, w := range words {
			b.WriteString(" " + word(w))
		}
	}
	for _, kv := range plan.Env {
		k, v, _ := strings.Cut(kv, "=")
		value := word(v)
		if profile.LooksSecret(k) || hasLogin(v) {
			value = `"${` + k + `-}"` // the value stays out of sight
		}
		fmt.Fprintf(&b, " \\\n  --setenv %s %s", word(k), value)
	}
	fmt.Fprintf(&b, " \\\n  --chdir %s --", word(plan.Dir))
	b.WriteString(" " + word(plan.Program))
	for _, w := range plan.Argv[1:] {
		b.WriteString(" " + word(w))
	}
	for _, r := range redirect {
		b.WriteString(" \\\n  " + r)
	}
	b.WriteString(" )\n")
	return b.Bytes()
}

// word quotes for bash. What could move the cursor is written as an escape:
// the plan of a stranger's file is looked at before it is trusted.
func word(s string) string {
	if printable(s) != s {
		return quote.Bash(s)
	}
	return quote.POSIX(s)
}

// hasLogin reports whether a value is an address with a password in it.
func hasLogin(v string) bool {
	_, rest, ok := strings.Cut(v, "://")
	return ok && strings.Contains(rest, "@")
}

type jsonArg struct {
	Args   []string `json:"args"`
	Reason string   `json:"reason"`
}

func dryJSON(rc profile.RunConfig, plan isolator.Plan) any {
	var args []jsonArg
	for _, arg := range plan.Args {
		words := make([]string, len(arg.Words))
		for i, w := range arg.Words {
			words[i] = strings.NewReplacer(dryEmpty, "<empty file>", dryStage, "<staged> ").Replace(w)
		}
		args = append(args, jsonArg{words, arg.Reason})
	}
	env := map[string]string{}
	for _, kv := range plan.Env {
		k, v, _ := strings.Cut(kv, "=")
		if profile.LooksSecret(k) || hasLogin(v) {
			v = "<hidden>"
		}
		env[k] = v
	}
	return map[string]any{
		"profile": rc.Name, "path": rc.Path, "workdir": rc.Workdir, "cwd": rc.Cwd, "bwrap": plan.Bwrap, "args": args,
		"program": plan.Program, "argv": plan.Argv, "env": env, "grants": profile.Grants(rc), "ports": portLines(plan), "limits": limitLines(plan),
	}
}

func (a *app) printJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
