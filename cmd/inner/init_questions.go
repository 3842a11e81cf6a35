package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/capability"
	"github.com/enr/inner/profile/config"
	"github.com/enr/inner/profile/starter"
)

// What inner init asks about an agent's profile, and what it makes of the answers.

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
		return nil, &fault.Refusal{
			Code: 1,
			Msg:  "none of the agents " + strings.Join(capability.Programs(), ", ") + " is installed",
			Hint: "install one, or inner init claude; for a shell: inner run -p shell",
		}
	}
	a.Say("installed: %s", strings.Join(told, ", "))
	if len(found) == 1 {
		return found, nil
	}
	return a.askNames(fmt.Sprintf("Which agents should be sandboxed here? [Enter: %s] ", strings.Join(found, " ")), capability.Programs(), found)
}

// ask puts a question until its answer is taken. An answer that is not says why.
func (a *app) ask(prompt string, take func(answer string) error) error {
	for {
		const no = "nothing was written"
		text, ok := a.answer(prompt, no)
		if !ok {
			a.Say(no)
			return cli.Exit(1)
		}
		err := take(text)
		if err == nil {
			return nil
		}
		a.Say("%v", err)
	}
}

// askNames asks for some of the names that are known; Enter stands for others.
func (a *app) askNames(prompt string, known, enter []string) (names []string, err error) {
	err = a.ask(prompt, func(text string) error {
		names = strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
		if len(names) == 0 {
			names = enter
		}
		if i := slices.IndexFunc(names, func(w string) bool { return !slices.Contains(known, w) }); i >= 0 {
			return fmt.Errorf("%q is none of %s", names[i], strings.Join(known, ", "))
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
	p.MCP = map[string][]string{}
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
		if err == nil {
			err = a.chooseMCP(p, name)
		}
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

// chooseMCP asks which of the user's MCP servers of an agent are to be in the box.
func (a *app) chooseMCP(p *starter.Choice, agent string) (err error) {
	c, _ := capability.Of(agent)
	known, told := []string{"*"}, []string(nil)
	for _, s := range a.MCP(profile.RunConfig{Capabilities: []string{c.Name}, Workdir: p.Root}) {
		known, told = append(known, s.Name), append(told, s.String())
	}
	if len(told) > 0 {
		a.Say("MCP servers in your settings of %s: %s", agent, strings.Join(told, ", "))
		p.MCP[agent], err = a.askNames("Which of them may it start in the sandbox? [Enter: none, * for all] ", known, nil)
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
		m := starter.Mount{Path: word, Mode: "ro"}
		if rest, ok := strings.CutSuffix(word, ":rw"); ok {
			m = starter.Mount{Path: rest, Mode: "rw"}
		}
		if _, err := os.Stat(a.Absolute(m.Path, "")); err != nil || !strings.HasPrefix(m.Path, "/") && !strings.HasPrefix(m.Path, "~/") {
			return nil, fmt.Errorf("%q is not there: write it from ~/ or /, in quotes when a space is in it, or press Enter for nothing", m.Path)
		}
		m.Path = a.Short(files.Real(a.Absolute(m.Path, ""))) // of a link, which the box would lack
		if i := slices.IndexFunc(list, func(o starter.Mount) bool { return o.Path == m.Path }); i >= 0 {
			list[i].Mode = max(list[i].Mode, m.Mode) // "rw" is more than "ro"
			continue
		}
		list = append(list, m)
	}
	return list, nil
}
