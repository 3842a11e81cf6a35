// Package preview renders what a run would be: as a command to paste into a shell, and as
// JSON. It makes nothing, and never shows the value of a variable that looks like a secret.
//
//	shown, err := run.Show(settings, call, true)
//	os.Stdout.Write(preview.Command(shown))
package preview

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/launch"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/isolator/run"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/stage"
	"github.com/enr/inner/profile"
)

// Look shows the box of a profile whose program need not be installed: it is the same without. missing
// is the refusal of a run when the program is not.
func Look(s *settings.Settings, p *profile.Profile, c profile.Context) (b *run.Prepared, missing, err error) {
	b, err = run.Show(s, run.Call{Profile: p, Context: c}, false)
	if fault.Code(err) == launch.CodeNotFound {
		missing = err
		c.Overrides.Entrypoint = "/bin/sh"
		b, err = run.Show(s, run.Call{Profile: p, Context: c}, false)
	}
	return b, missing, err
}

// Command is what makes the box, as a command to paste.
func Command(b *run.Prepared) []byte {
	if b.Plan.Container != nil {
		return engineCommand(b.Plan.Container)
	}
	return paste(b.Plan, b.Spec.Env, b.Facts.Later)
}

// paste renders the plan as one command of bash, read by it from a here-document:
// zsh closes descriptors above 9 for what it starts, and sh knows no <(…). No line
// of it is the last one: a word has no line break. Files given by descriptor are
// redirections; what would be staged is an empty folder.
func paste(p plan.Plan, env profile.Env, places []host.Placeholder) []byte {
	var b bytes.Buffer
	redirect := heredocs(p.Data)
	fmt.Fprintf(&b, "# for bash, zsh and sh; in fish type bash first\n%s /dev/fd/9 9<<'INNER'\nexec 9<&-\n", bash())
	for _, place := range places { // bwrap makes it, and leaves it
		fmt.Fprintf(&b, "trap %s EXIT\n", word("rmdir "+word(place.Path)))
	}
	if p.Map != nil {
		// The launcher makes the namespace, and bwrap joins it.
		b.WriteString("# pasted, the user namespace has one id only, and no containers can be made\n")
	}
	fmt.Fprintf(&b, "( cd / && exec env -i %s", word(p.Bwrap))
	if p.Map != nil {
		b.WriteString(" \\\n  --unshare-user")
	}
	for _, op := range pasted(p.Ops) {
		if op.Kind == plan.OpMask {
			op = plan.Op{Kind: plan.OpData, Data: len(redirect), Dest: op.Dest}
			redirect = append(redirect, fmt.Sprintf("%d</dev/null", plan.FirstDataFD+len(redirect)))
		}
		b.WriteString(" \\\n " + words(op.Words()))
	}
	b.WriteString(variables(p.Env, env))
	fmt.Fprintf(&b, " \\\n  --chdir %s -- %s%s", word(p.Dir), word(p.Program), words(p.Argv[1:]))
	for _, r := range redirect {
		b.WriteString(" \\\n  " + r)
	}
	b.WriteString(" )\nINNER\n")
	return b.Bytes()
}

// heredocs are the contents of files, each as the redirection that gives its descriptor.
func heredocs(data [][]byte) (redirect []string) {
	for i, d := range data {
		content := "printf %s " + word(string(d))
		if bytes.IndexByte(d, 0) >= 0 { // the filter of system calls
			content = "base64 -d <<<" + base64.StdEncoding.EncodeToString(d)
		}
		redirect = append(redirect, fmt.Sprintf("%d< <(%s)", plan.FirstDataFD+i, content))
	}
	return redirect
}

// variables are those of the box as options of bwrap.
func variables(list []string, env profile.Env) string {
	var b strings.Builder
	for _, kv := range list {
		k, v, _ := strings.Cut(kv, "=")
		value := word(v)
		if env.Hidden(k, v) {
			value = `"${` + k + `-}"` // the value stays out of sight
		}
		fmt.Fprintf(&b, " \\\n  --setenv %s %s", word(k), value)
	}
	return b.String()
}

// pasted are the operations without what exists only in a run: no noop shims are there to be
// put first, a file is one that fails as a program, and a folder is empty.
func pasted(ops []plan.Op) (out []plan.Op) {
	for _, op := range ops {
		switch {
		case strings.HasPrefix(op.Source, stage.DryMark+"start/") || strings.HasPrefix(op.Dest, paths.BoxOriginal+"/"):
			continue
		case op.Kind == plan.OpMask:
		case strings.HasPrefix(op.Source, stage.DryMark+"noop/") || op.Source == stage.DryMark+"blocked":
			op.Source = "/bin/false"
		case strings.HasPrefix(op.Source, stage.DryMark):
			op = plan.Op{Kind: plan.OpTmpfs, Dest: op.Dest}
		}
		out = append(out, op)
	}
	return out
}

// engineCommand is what a container engine is started with. Pasted it would find nobody to tell
// it what to run: program and environment come over a socket.
func engineCommand(c *plan.Container) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s makes the box; inner runs in it first, and is told program and environment over a socket\n%s", c.Engine, word(c.Path))
	for _, w := range c.Args {
		w = names.Replace(w)
		if strings.HasPrefix(w, "-") {
			b.WriteString(" \\\n ")
		}
		b.WriteString(" " + word(w))
	}
	b.WriteString("\n")
	return b.Bytes()
}

// words are words, each after a space.
func words(list []string) string {
	var b strings.Builder
	for _, w := range list {
		b.WriteString(" " + word(w))
	}
	return b.String()
}

// bash is where bash lies, so that no shim of that name takes its place.
func bash() string {
	for _, p := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return "bash"
}

// word quotes for bash. What could move the cursor is written as an escape:
// the plan of a stranger's file is looked at before it is trusted.
func word(s string) string {
	if visible.Text(s) != s {
		return quote.Bash(s)
	}
	return quote.POSIX(s)
}
