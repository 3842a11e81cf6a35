package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/learn"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/profile"
)

type learnFlags struct {
	profile, workdir, output string
	json                     bool
}

func (a *app) cmdLearn() *cobra.Command {
	var f learnFlags
	c := &cobra.Command{
		Use: "learn [-p NAME|./FILE] [flags] [-- command [args]]", Short: "Run a program in a profile's sandbox and print the minimal profile it needed",
		Long: "Run a program, or the profile's own, in the profile's sandbox, and print at the end the profile\n" +
			"lines that it needed and did not have: hosts, files outside the project, variables. Nothing is written to\n" +
			"the profile. The files are the profile's: what it hides stays hidden, and is named. Of the\n" +
			"network, every public host is allowed, whatever the profile says.\n\n" +
			"Secrets are named and never suggested. Which variables a program reads cannot be seen: those\n" +
			"are suggested whose name is in a program that ran, or in a file it opened, which is a guess.\n\n" +
			"The lines go to standard error after the program has ended, or to --output. The exit code is\n" +
			"the program's.",
		Args: afterDash("the command goes"), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.onHost(func(_ *cobra.Command, args []string) error { return a.learn(f, args) }),
	}
	fl := c.Flags()
	a.profileFlag(c, &f.profile)
	fl.StringVarP(&f.workdir, "workdir", "w", "", "working folder, mounted read-write")
	fl.StringVarP(&f.output, "output", "o", "", "write the lines to this new `FILE`")
	jsonFlag(c, &f.json)
	return c
}

// learned is what a run would have needed.
type learned struct {
	Profile string   `json:"profile"`
	Command []string `json:"command"`
	Hosts   []string `json:"network_allow"`
	Had     []string `json:"listed_hosts"`  // reached, and in the profile's list already
	Refused []string `json:"refused_hosts"` // also while learning
	learn.Suggestion
	Variables variables `json:"variables"`
	Unseen    int       `json:"unseen"` // calls that could not be looked at
}

// variables are those of the caller that programs or files mention.
type variables struct {
	Missing []string `json:"missing"` // not passed to the box
	Secret  []string `json:"secret"`  // not passed, and by its name a secret
	Used    []string `json:"used"`    // passed by [env] inherit
}

func (a *app) learn(f learnFlags, command []string) error {
	if err := learn.Supported(); err != nil {
		return &fault.Refusal{Code: 125, Msg: "inner learn does not work here: " + err.Error()}
	}
	if f.output != "" {
		if _, err := os.Lstat(f.output); err == nil {
			return usagef("--output %q already exists", f.output)
		}
	}
	o := profile.Overrides{Workdir: f.workdir}
	if len(command) > 0 {
		o.Entrypoint, o.Extra = command[0], command[1:]
	}
	call, pl, err := a.callHere(f.profile, whoFlags{}, o)
	if err != nil {
		if call.Profile == nil && pl.Cwd != "" {
			a.auditUnusable(f.profile, pl.Cwd, err)
		}
		return a.unusable(err, f.profile)
	}
	var all *learned // nil until the program has ended
	observe := &features.Observe{Observer: learn.New(), Hosts: true, Done: func(run *features.Run, o *features.Outcome) error {
		all = learnedFrom(run, o)
		return nil
	}}
	defer observe.Close()
	call.Word, call.Observe = "learn", observe
	out := a.Process.Run(call)
	if all == nil {
		return exit(out.Code) // it has not run, which was said
	}
	if err := a.printLearned(f, all); err != nil {
		a.Fail(err)
	}
	return exit(out.Code)
}

// learnedFrom sums a run up.
func learnedFrom(run *features.Run, o *features.Outcome) *learned {
	rc := run.Spec
	list, unseen := run.Observe.Accesses()
	out := &learned{
		Profile: rc.Name, Command: run.Plan.Argv, Hosts: []string{}, Had: []string{}, Refused: []string{}, Unseen: unseen,
		Suggestion: learn.Suggest(list, features.Setting(run)),
	}
	for _, h := range o.Hosts {
		t := netproxy.Target{Host: h.Host, Port: h.Port}
		switch entry := features.EntryOf(t); {
		case h.Host == "":
		case h.Allowed+h.Failed == 0:
			out.Refused = append(out.Refused, t.String())
		default:
			if h.Plain {
				entry = t.String()
			}
			list := &out.Hosts
			if h.Origin != netproxy.OriginLearn {
				list = &out.Had
			}
			if !slices.Contains(*list, entry) {
				*list = append(*list, entry)
			}
		}
	}
	out.Variables = variablesOf(run, list)
	return out
}

// variablesOf guesses which variables of the caller the programs of a run read.
func variablesOf(run *features.Run, list []learn.Access) variables {
	out := variables{Missing: []string{}, Secret: []string{}, Used: []string{}}
	passed := map[string]bool{}
	for _, kv := range run.Plan.Env {
		name, _, _ := strings.Cut(kv, "=")
		passed[name] = true
	}
	var names []string
	for _, kv := range run.Environ {
		name, _, _ := strings.Cut(kv, "=")
		if telling(run.Spec.Env, name) && (!passed[name] || inherits(run.Spec.Env, name)) {
			names = append(names, name)
		}
	}
	// The words of the command line may be a script themselves.
	words := []byte(strings.Join(run.Plan.Argv, "\n"))
	files := map[string]bool{run.Plan.Program: true}
	for _, a := range list {
		if a.Box == learn.File && (a.Exec || a.Read && !learn.System(a.Path)) {
			files[a.Path] = true
		}
	}
	for _, name := range learn.Mentions(words, slices.Sorted(maps.Keys(files)), run.Observe.Open, names) {
		switch {
		case passed[name]:
			out.Used = append(out.Used, name)
		case profile.LooksSecret(name):
			out.Secret = append(out.Secret, name)
		default:
			out.Missing = append(out.Missing, name)
		}
	}
	return out
}

// telling reports whether it says something that a program has the name of a variable in it:
// those that every shell has, and sets itself, do not.
func telling(env profile.Env, name string) bool {
	shells := []string{"_", "PWD", "OLDPWD", "SHLVL", "PATH", "SHELL", "IFS", "PS1"}
	return !slices.Contains(shells, name) && !env.Kept(name) && !strings.HasPrefix(name, "INNER_")
}

// inherits reports whether [env] inherit of a profile names a variable.
func inherits(env profile.Env, name string) bool {
	return slices.ContainsFunc(env.Inherit, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

func (a *app) printLearned(f learnFlags, all *learned) error {
	text := a.linesOf(all)
	if f.json {
		var b bytes.Buffer
		if err := tell.JSON(&b, all); err != nil {
			return err
		}
		text = b.Bytes()
	}
	if f.output != "" {
		return createFile(f.output, text, 0o600)
	}
	_, err := a.stderr.Write(text)
	return err
}

// profileLines are lines of a profile.
type profileLines struct{ bytes.Buffer }

func (b *profileLines) add(format string, args ...any) { fmt.Fprintf(b, format+"\n", args...) }

// list adds a key and its values; of none, nothing.
func (b *profileLines) list(key string, values []string) {
	var quoted []string
	for _, v := range values {
		quoted = append(quoted, profile.Quote(v))
	}
	switch n := len(quoted); {
	case n >= 4:
		b.add("%s = [\n  %s,\n]", key, strings.Join(quoted, ",\n  "))
	case n > 0:
		b.add("%s = [%s]", key, strings.Join(quoted, ", "))
	}
}

// linesOf is what was learned as lines of a profile. What is not to be
// taken without a thought is a comment.
func (a *app) linesOf(l *learned) []byte {
	var b profileLines
	if len(l.Hosts)+len(l.HomeAllow)+len(l.Mounts)+len(l.Variables.Missing) == 0 {
		b.add("# learned from profile %s: it grants what the program needed", printable(l.Profile))
	} else {
		b.add("# learned from profile %s: these lines are what it needed besides", printable(l.Profile))
	}
	a.sandboxLines(&b, l)
	a.mountLines(&b, l.Mounts)
	l.Variables.lines(&b)
	if len(l.Had) > 0 {
		b.add("# listed already: %s", printable(strings.Join(l.Had, ", ")))
	}
	if len(l.Programs) > 0 {
		var names []string
		for _, p := range l.Programs {
			if name := printable(path.Base(p)); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		b.add("# programs it ran: %s", strings.Join(names, ", "))
	}
	if l.Unseen > 0 {
		b.add("# not seen: %d calls, of programs that cannot be inspected", l.Unseen)
	}
	return b.Bytes()
}

func (a *app) sandboxLines(b *profileLines, l *learned) {
	if len(l.Hosts)+len(l.HomeAllow)+len(l.Hidden)+len(l.Refused) == 0 {
		return
	}
	b.add("[sandbox]")
	if len(l.Hosts) > 0 && len(l.Had) == 0 {
		b.add("network_mode = \"allowlist\"")
	}
	b.list("network_allow", l.Hosts)
	var homeAllow []string
	for _, p := range l.HomeAllow {
		homeAllow = append(homeAllow, a.inProfile(p))
	}
	b.list("home_allow", homeAllow)
	for _, h := range l.Hidden {
		b.add("# asked for and hidden: allow = [%s] would show it; think first", profile.Quote(h.Key))
		for _, p := range h.Paths {
			b.add("#   %s", printable(a.Short(p)))
		}
	}
	for _, h := range l.Refused {
		b.add("# refused also here: %s", printable(h))
	}
	b.add("")
}

func (a *app) mountLines(b *profileLines, mounts []learn.Mount) {
	if len(mounts) == 0 {
		return
	}
	b.add("[mounts]")
	for _, m := range mounts {
		if m.Cache {
			b.add("# tools outside use what the box writes into this cache; home = \"own\" gives it one of its own")
		}
		text := fmt.Sprintf("%s = %q", profile.Quote(a.inProfile(m.Path)), m.Mode)
		if m.Missing {
			text = "# " + text + " # written, and not on the host: make it first"
		}
		b.add("%s", text)
	}
	b.add("")
}

func (v variables) lines(b *profileLines) {
	if len(v.Missing)+len(v.Secret)+len(v.Used) == 0 {
		return
	}
	b.add("[env] # a guess: their names are in what ran, or in what it opened")
	b.list("inherit", v.Missing)
	if len(v.Used) > 0 {
		b.add("# passed already: %s", printable(strings.Join(v.Used, ", ")))
	}
	for _, name := range v.Secret {
		b.add("# looks like a secret: %s", printable(name))
	}
	b.add("")
}

// inProfile writes a path as a profile has it.
func (a *app) inProfile(p string) string {
	return strings.ReplaceAll(cmp.Or(a.Short(p), p), "$", "$$")
}
