package main

// The questions of inner init in a project.

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/starter"
)

// installedAgents are the agents on PATH, and what is said of each.
func (a *app) installedAgents() (found, told []string) {
	for _, g := range capability.All() {
		if _, err := a.FindReal(g.Program, os.Getenv("PATH")); err != nil {
			continue
		}
		found = append(found, g.Program)
		login := "logged in"
		if !g.LoggedIn(a.loginOrigin()) {
			login = "no login here yet"
		}
		told = append(told, fmt.Sprintf("%s (%s, %s)", g.Program, g.Title, login))
	}
	return found, told
}

// loginOrigin is where logins of agents are.
func (a *app) loginOrigin() capability.Origin {
	return capability.Origin{Home: a.Home, Lookup: a.LookupEnv}
}

// chooseAgents asks which of the installed agents are meant.
func (a *app) chooseAgents(names []string) ([]string, error) {
	found, told := a.installedAgents()
	if len(names) > 0 {
		for _, name := range names {
			if !slices.Contains(found, name) {
				a.Warn("%s is not installed: its profile is written anyway", name)
			}
		}
		return names, nil
	}
	if len(found) == 0 {
		return nil, &fault.Refusal{Code: 1, Msg: "none of the agents " + strings.Join(capability.Programs(), ", ") + " is installed", Hint: "install one, or inner init claude; for a shell: inner run -p shell"}
	}
	a.Say("installed: %s", strings.Join(told, ", "))
	if len(found) == 1 {
		return found, nil
	}
	return a.askAgents(found)
}

// ask puts a question until its answer is taken. An answer that is not says why.
func (a *app) ask(prompt string, take func(answer string) error) error {
	for {
		text, ok := a.answer(prompt)
		if !ok {
			a.Say("nothing was written")
			return cli.Exit(1)
		}
		err := take(text)
		if err == nil {
			return nil
		}
		a.Say("%v", err)
	}
}

// askAgents asks which agents are meant; Enter is all that were found.
func (a *app) askAgents(found []string) (names []string, err error) {
	err = a.ask(fmt.Sprintf("Which agents should be sandboxed here? [Enter: %s] ", strings.Join(found, " ")), func(text string) error {
		names = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
		if len(names) == 0 {
			names = found
		}
		if i := slices.IndexFunc(names, func(w string) bool { return !capability.IsProgram(w) }); i >= 0 {
			return fmt.Errorf("%q is none of %s", names[i], strings.Join(capability.Programs(), ", "))
		}
		return nil
	})
	return names, err
}

// askWhere asks whether agents are sandboxed in all folders; Enter is here.
func (a *app) askWhere(names []string) (all bool, err error) {
	err = a.ask(fmt.Sprintf("Sandbox %s here, or in all folders? [here/all, Enter: here] ", strings.Join(names, " ")), func(text string) error {
		text = strings.ToLower(text)
		if all = text == "all"; all || text == "" || text == "here" {
			return nil
		}
		return fmt.Errorf("%q is neither here nor all", text)
	})
	return all, err
}

// choose asks what the profiles are to grant. With --yes it asks nothing.
func (a *app) choose(p *starter.Choice, f initFlags, names []string) error {
	if f.confirm {
		p.Asking = names
	}
	if f.yes {
		return nil
	}
	if f.network == "" {
		if err := a.chooseNetwork(p); err != nil {
			return err
		}
	}
	err := a.ask("Which other folders may they read (~/src/lib), or change (~/src/lib:rw)? [Enter: nothing] ", func(text string) (err error) {
		if slices.Contains([]string{"n", "no", "none", "nothing", "-"}, strings.ToLower(text)) {
			text = ""
		}
		p.Mounts, err = a.mountsOf(text)
		return err
	})
	for _, name := range names {
		if err != nil || f.confirm || len(profile.Unasked(name)) == 0 {
			continue
		}
		err = a.ask(fmt.Sprintf("Let %s run commands without asking you? The sandbox is the boundary. [Y/n] ", name), func(text string) error {
			if text != "" && !isYes(text) {
				p.Asking = append(p.Asking, name)
			}
			return nil
		})
	}
	return err
}

// chooseNetwork asks what may be reached.
func (a *app) chooseNetwork(p *starter.Choice) error {
	listed := "the agent's own hosts, and where code and packages come from (@github @npm @pypi @go @crates"
	for _, entry := range p.More() {
		listed += " " + entry
	}
	words := starter.NetworkWords()
	a.Say("What may they reach on the network?")
	for i, text := range []string{listed + ")", "the same, and a question for each other host", "everything", "nothing: most agents do not work then"} {
		fmt.Fprintf(a.Err, "  %d  %s\n", i+1, cli.Printable(text))
	}
	return a.ask("[1-4, Enter: 1] ", func(text string) error {
		if n, err := strconv.Atoi(cmp.Or(text, "1")); err == nil && n >= 1 && n <= len(words) {
			text = words[n-1]
		}
		if p.Network = text; !slices.Contains(words, text) {
			return fmt.Errorf("%q is none of %s", text, strings.Join(words, ", "))
		}
		return nil
	})
}

// mountsOf are the folders of an answer, between spaces or commas. One with a space in its name
// is quoted, as in a shell.
func (a *app) mountsOf(text string) (list []starter.Mount, err error) {
	if text == "" {
		return nil, nil
	}
	words, err := config.Words(strings.ReplaceAll(text, ",", " "))
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		m, err := a.mountOf(word)
		if err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// mountOf is the folder that one word names.
func (a *app) mountOf(word string) (starter.Mount, error) {
	m := starter.Mount{Path: word, Mode: "ro"}
	if rest, ok := strings.CutSuffix(word, ":rw"); ok {
		m = starter.Mount{Path: rest, Mode: "rw"}
	}
	if _, err := os.Stat(a.Absolute(m.Path, "")); err != nil || !strings.HasPrefix(m.Path, "/") && !strings.HasPrefix(m.Path, "~/") {
		return m, fmt.Errorf("%q is not there: write it from ~/ or /, in quotes when a space is in it, or press Enter for nothing", m.Path)
	}
	return m, nil
}
