package main

// Whether a box has one thing, and which line of which file says so.

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/isolator/preview"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/isolator/why"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
)

func (a *app) cmdWhy() *cobra.Command {
	var name string
	var who cli.WhoFlags
	var write bool
	c := a.AnswersOnHost(&cobra.Command{
		Use: "why PATH|host:NAME|port:N|env:NAME|cmd:NAME|mcp:NAME|credential:NAME [-p NAME|./FILE | --as ROLE]", Short: "Say whether a sandbox has one thing, and which line says so",
		Args: cobra.ExactArgs(1),
		Long: "Say whether the sandbox of a profile has a path, a host, a port of this computer, a variable, a\n" +
			"command, one of your MCP servers or a login here, how it looks there, which line of which file says so, and\n" +
			"what would widen it. Nothing is run. Without -p it answers for the profile of this project, else for\n" +
			"the default one.\n\n" +
			"Exit code 0 when it is granted, 1 when not. Write a path that begins with host:, port:, env:, cmd:,\n" +
			"mcp: or credential: as ./host:….",
	}, func(cmd *cobra.Command, args []string) (cli.Answer, error) {
		if err := cmp.Or(cli.Filled(cmd, "profile"), who.Check(cmd)); err != nil {
			return cli.Answer{}, err
		}
		t, err := a.whyTable(name, who)
		if err != nil {
			return cli.Answer{}, a.Unusable(err, name)
		}
		t.Write = write
		w, err := a.why(t, args[0])
		return cli.Answer{Value: w, Code: cli.OneIf(!w.Granted(write) && !(write && w.Makes)), Words: func() {
			edit := t.Box.Spec.Name
			if strings.Contains(name, "/") { // it is changed where that file is
				edit = ""
			}
			a.printWhy(w, edit, write)
			if w.Access == why.Absent && likeHost(args[0]) {
				a.Hint("inner why host:%s, for the host of that name", args[0])
			}
		}}, err
	})
	a.ProfileFlag(c, &name)
	c.Flags().BoolVarP(&write, "write", "w", false, "ask whether it can be written, too")
	who.AddRole(a.App, c)
	return c
}

// likeHost reports whether a word is more like the name of a host than of a file.
func likeHost(word string) bool {
	_, err := hosts.Parse(word)
	return err == nil && strings.Contains(word, ".") && !strings.HasPrefix(word, ".") && !strings.Contains(word, "/")
}

// whyTable is what is known of the box of a profile.
func (a *app) whyTable(name string, who cli.WhoFlags) (*why.Table, error) {
	pl, err := a.Here()
	if err != nil {
		return nil, err
	}
	p, err := a.shownHere(name, who, pl)
	if err != nil {
		return nil, err
	}
	if approved, trust := a.standing(pl, p); !approved && p.Scope == profile.Local {
		a.Warn("profile %q is what is asked here; it is %s", p.Name, trust)
	}
	return a.tableOf(pl, p)
}

// tableOf is what is known of the box that a profile has here.
func (a *app) tableOf(pl settings.Place, p *profile.Profile) (*why.Table, error) {
	c, err := a.Context(pl, profile.Overrides{}, false)
	if err != nil {
		return nil, err
	}
	b, _, err := preview.Look(a.Settings, p, c)
	if err != nil {
		return nil, err
	}
	return why.Of(b), nil
}

// shownHere is the profile of a look: of that name or role, or the one of this place.
func (a *app) shownHere(name string, who cli.WhoFlags, pl settings.Place) (*profile.Profile, error) {
	_, err := a.RoleFlags(who, pl, &name)
	if err == nil && name == "" {
		name, _, err = a.nameHere(pl)
	}
	if err != nil {
		return nil, err
	}
	return a.Load(name, pl)
}

// why answers one question as it is typed.
func (a *app) why(t *why.Table, asked string) (why.Answer, error) {
	kind, rest, _ := strings.Cut(asked, ":")
	answer, known := map[string]func(string) (why.Answer, error){
		"host": func(name string) (why.Answer, error) {
			answer, err := t.Host(name)
			if err != nil {
				return answer, cli.Usagef("host: %w", err)
			}
			return answer, nil
		},
		"port": func(text string) (why.Answer, error) {
			p, ok := profile.ParsePort(text)
			if !ok {
				return why.Answer{}, cli.Usagef("%q is not a port from 1 to 65535, nor two as port:8080:3000, of this computer and of the box", asked)
			}
			if problem, _ := p.Problem(); problem != "" && strings.Contains(text, ":") {
				return why.Answer{}, cli.Usagef("%q: %s", asked, problem)
			}
			answer, err := t.Host(fmt.Sprint("localhost:", p.Host))
			same := func(q profile.Port) bool { return q.Host == p.Host && q.Box == p.Box }
			switch answer.Asked = asked; {
			case !strings.Contains(text, ":"):
			case slices.ContainsFunc(t.Box.Spec.HostPorts, same):
				answer.Box = fmt.Sprint("127.0.0.1:", p.Box)
			default:
				if answer.Granted(false) {
					answer.Access, answer.How = why.Outside, "the box has that port of this computer as another one"
				}
				answer.Lines = why.Port(text)
				answer.Widen = answer.Lines[0].String()
			}
			return answer, err
		},
		"mcp":        func(name string) (why.Answer, error) { return t.MCP(name), nil },
		"credential": func(name string) (why.Answer, error) { return t.Credential(name), nil },
		"env": func(name string) (why.Answer, error) {
			if strings.ContainsAny(name, "=\x00") {
				return why.Answer{}, cli.Usagef("%q is not the name of a variable", name)
			}
			answer, like := t.Env(name), func(pattern string) bool { return profile.VariableLike(pattern, name) }
			cfg, err := a.GlobalConfig()
			if err == nil && answer.From == "config.toml" && !slices.ContainsFunc(cfg.HideEnv, like) {
				answer.From = "the project's config.toml"
				answer.Widen = "[hide] env of the project's config.toml without it"
			}
			return answer, err
		},
		"cmd": func(name string) (why.Answer, error) {
			if strings.Contains(name, "/") {
				return why.Answer{}, cli.Usagef("%q is a path: inner why %s", name, name)
			}
			return t.Command(name), nil
		},
	}[kind]
	switch {
	case known && rest == "":
		return why.Answer{}, cli.Usagef("%q names nothing", asked)
	case known:
		return answer(rest)
	}
	return a.whyPath(t, asked)
}

func (a *app) whyPath(t *why.Table, asked string) (why.Answer, error) {
	if asked == "" || strings.ContainsRune(asked, 0) {
		return why.Answer{}, cli.Usagef("the path is empty")
	}
	cwd, err := os.Getwd()
	if err != nil && asked[0] != '/' && asked[0] != '~' {
		return why.Answer{}, cli.Usagef("%q: the working folder: %w", asked, err)
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil { // a box starts there
		cwd = real
	}
	answer := t.Path(a.Absolute(asked, cwd))
	answer.Asked = asked
	return answer, nil
}

// printWhy prints an answer, and which profile to edit to widen it; "" for none.
func (a *app) printWhy(w why.Answer, edit string, write bool) {
	row := func(k, v string) {
		if v != "" {
			fmt.Fprintf(a.Out, "%-6s %s\n", k, cli.Printable(v))
		}
	}
	row(cmp.Or(string(w.Access), "?"), a.Short(w.Asked)+": "+accessWords(w))
	row("how", w.How)
	if w.Box != w.Real {
		row("here", a.Short(w.Real))
		row("box", a.Short(w.Box))
	}
	row("key", w.Key)
	row("from", w.From)
	widen := w.Widen
	if widen != "" && !strings.Contains(widen, " under [") && !strings.Contains(widen, "config.toml") {
		widen += " under [sandbox]"
	}
	row("widen", widen)
	row("type", w.Type)
	if w.Widen != "" && edit != "" {
		row("type", widenWith(w, edit, write))
	}
}

// widenWith is the command that widens a profile to what was asked.
func widenWith(w why.Answer, name string, write bool) string {
	switch kind, _, _ := strings.Cut(w.Asked, ":"); {
	case w.From == "config.toml": // it is no profile's
		return "inner config edit"
	case w.From == "the project's config.toml":
		return "inner config edit --local"
	case len(w.Lines) == 0: // it takes more than to add lines
		return "inner profile edit " + name
	case kind == "host", kind == "port", kind == "mcp", kind == "credential":
		return "inner allow " + cli.Quoted(w.Asked) + " -p " + name
	}
	typed := "inner allow "
	if write || w.Access == why.ReadOnly && !w.Own {
		typed += "--write "
	}
	kind := "file:"
	if fi, err := os.Stat(w.Real); err == nil && fi.IsDir() {
		kind = "folder:"
	}
	return typed + cli.Quoted(kind+w.Asked) + " -p " + name
}

// accessWords say the access to what was asked for, by what that is.
func accessWords(w why.Answer) string {
	kind, _, _ := strings.Cut(w.Asked, ":")
	granted, refused := "", ""
	switch kind {
	case "host", "port":
		granted, refused = "can be reached", "cannot be reached"
	case "env":
		granted, refused = "is in the box", "is not in the box"
	case "cmd":
		granted, refused = "can be run", "cannot be run"
	case "mcp":
		granted, refused = "starts in the box", "does not start in the box"
	case "credential":
		granted, refused = "is put into requests", "is not put into requests"
		if w.Access == why.ReadWrite {
			granted = "is a copy in the box"
		}
	}
	switch {
	case granted != "" && (w.Access == why.ReadWrite || w.Access == why.ReadOnly):
		return granted
	case granted != "":
		return refused
	}
	return map[why.Access]string{
		why.ReadWrite: "can be read and written", why.ReadOnly: "can be read", why.Hidden: "cannot be read", why.Absent: "not there", why.Outside: "not in the box",
	}[w.Access]
}
