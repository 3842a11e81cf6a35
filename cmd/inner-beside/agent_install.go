package main

// How the tools of each agent are put into boxes, by its own settings.

import (
	"bytes"
	"cmp"
	_ "embed" // opencode.js
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/agenthook"
	"github.com/enr/inner/isolator/agentsettings"
	"github.com/enr/inner/isolator/roles"
	"github.com/enr/inner/shims"
)

// agentFiles are the settings of an agent, and what goes into them.
type agentFiles struct {
	file   string   // the user's settings
	others []string // settings of a project that can take their place, relative to the working folder
	entry  agentsettings.Entry
	plugin string   // of opencode
	notes  []string // what cannot be told from the settings
}

const maxSettings = 4 << 20

func (a *app) agentFiles(agent string, f toolFlags) (agentFiles, error) {
	line, err := a.agentHookLine(agent, f)
	e := agentsettings.Entry{Agent: agent, Event: "PreToolUse", Hook: line, Tools: filepath.Join(a.InnerHome, "tools")}
	dir := a.toolsFolder(f)
	config := cmp.Or(a.Getenv("XDG_CONFIG_HOME"), filepath.Join(a.Home, ".config"))
	const replaced, unstarted = "settings of another project can ", "a hook that cannot be started blocks nothing"
	switch agent {
	case "claude":
		e.Key, e.Value = []string{"env", claudePrefix}, filepath.Join(dir, lineShell)
		home := cmp.Or(a.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(a.Home, ".claude"))
		return agentFiles{
			file: filepath.Join(home, "settings.json"), entry: e, others: []string{".claude/settings.json", ".claude/settings.local.json"},
			notes: []string{replaced + "replace the prefix and switch hooks off", unstarted},
		}, err
	case "codex":
		home := cmp.Or(a.Getenv("CODEX_HOME"), filepath.Join(a.Home, ".codex"))
		return agentFiles{file: filepath.Join(home, "hooks.json"), entry: e, notes: []string{"commands of unified_exec may pass the hook", unstarted}}, err
	case "gemini":
		e.Event = "BeforeTool"
		return agentFiles{
			file: filepath.Join(a.Home, ".gemini", "settings.json"), entry: e, others: []string{".gemini/settings.json"},
			notes: []string{replaced + "switch hooks off"},
		}, err
	}
	e.Event, e.Key, e.Value = "", []string{"shell"}, filepath.Join(dir, "bash")
	folder := filepath.Join(config, "opencode")
	return agentFiles{
		file: filepath.Join(folder, "opencode.json"), entry: e, plugin: filepath.Join(folder, "plugins", "inner.js"),
		others: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"},
		notes:  []string{replaced + "replace the shell", "commands typed after ! are not asked for"},
	}, err
}

// opencodePlugin asks inner before each tool of opencode. What it throws blocks the call.
//
//go:embed opencode.js
var opencodePlugin string

// pluginText is the plugin with the call of inner in it.
func (a *app) pluginText(f toolFlags) string {
	words := append([]string{"agent", "hook", "opencode", "--files"}, f.words()...)
	return strings.NewReplacer("@inner@", scriptValue(a.Inner), "@words@", scriptValue(words)).Replace(opencodePlugin)
}

// scriptValue is a text or a list of texts as a value of JavaScript.
func scriptValue(v any) string {
	text, _ := json.Marshal(v) // texts always have a form in JSON
	return string(text)
}

func (a *app) cmdAgentInstall() *cobra.Command {
	var f toolFlags
	var show bool
	c := &cobra.Command{
		Use: "install claude|codex|gemini|opencode (--as ROLE | -p NAME)", Short: "Change the settings of an agent so that its tools run in boxes",
		Args: cobra.ExactArgs(1), ValidArgs: agenthook.Agents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.agentUse(cmd, args[0]); err != nil {
				return err
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := a.knownProfile(f); err != nil {
				return err
			}
			if !show {
				if _, err := a.makeTools(f); err != nil {
					return err
				}
			}
			return a.editAgent(args[0], f, true, show)
		},
	}
	f.add(a, c)
	c.Flags().BoolVar(&show, "print", false, "show what would be written, and write nothing")
	return c
}

func (a *app) cmdAgentUninstall() *cobra.Command {
	return &cobra.Command{
		Use: "uninstall claude|codex|gemini|opencode", Short: "Remove from the settings of an agent what install wrote", Args: cobra.ExactArgs(1), ValidArgs: agenthook.Agents(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.agentUse(cmd, args[0]); err != nil {
				return err
			}
			return a.editAgent(args[0], toolFlags{}, false, false)
		},
	}
}

func (a *app) agentUse(cmd *cobra.Command, agent string) error {
	if !slices.Contains(agenthook.Agents(), agent) {
		return cli.Usagef("%q is not an agent that inner knows: %s", agent, strings.Join(agenthook.Agents(), ", "))
	}
	return a.Outside(cmd)
}

// editAgent writes the settings of an agent, and its plugin, or shows them.
func (a *app) editAgent(agent string, f toolFlags, add, show bool) error {
	it, err := a.agentFiles(agent, f)
	if err != nil {
		return err
	}
	edit := agentsettings.Uninstall
	if add {
		edit = agentsettings.Install
	}
	old, err := readSettings(it.file)
	var text []byte
	if err == nil {
		text, err = edit(old, it.entry)
	}
	switch {
	case err != nil:
	case show:
		fmt.Fprintf(a.Out, "# %s\n%s", cli.Printable(it.file), visible.Lines(string(text)))
		if it.plugin != "" {
			fmt.Fprintf(a.Out, "# %s\n%s", cli.Printable(it.plugin), a.pluginText(f))
		}
		return nil
	case it.plugin != "" && add:
		if err = os.MkdirAll(filepath.Dir(it.plugin), 0o700); err == nil {
			err = files.Write(it.plugin, []byte(a.pluginText(f)), 0o600)
		}
	case it.plugin != "":
		if err = os.Remove(it.plugin); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil && (old != nil || add) && !bytes.Equal(old, text) {
		err = replaceSettings(it.file, old, text)
	}
	if err != nil {
		return fault.Refuse(125, "edit "+a.Short(it.file), "%s: %v", a.Short(it.file), err)
	}
	return nil
}

// replaceSettings writes settings in the place of old ones, unless somebody else has changed
// them meanwhile.
func replaceSettings(path string, old, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if fi, err := os.Stat(path); err == nil {
		mode = fi.Mode().Perm()
	}
	return files.WriteIf(files.Real(path), text, mode, func() error {
		if now, err := readSettings(path); err != nil || !bytes.Equal(now, old) {
			return cmp.Or(err, errors.New("it was changed meanwhile: try again"))
		}
		return nil
	})
}

// readSettings reads a file; nil when it is not there.
func readSettings(path string) ([]byte, error) {
	data, err := files.Read(path, files.FollowLinks, maxSettings)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// installed reports whether something of inner is in the settings of an agent.
func (it agentFiles) installed() bool {
	text, err := readSettings(it.file)
	if err != nil {
		return false
	}
	state, err := agentsettings.Read(text, it.entry)
	return err == nil && (state.Hook != "" || strings.HasPrefix(state.Value, it.entry.Tools+"/")) ||
		it.plugin != "" && files.Exists(it.plugin)
}

// cmdAgentLeft is what inner uninstall asks.
func (a *app) cmdAgentLeft() *cobra.Command {
	return &cobra.Command{
		Use: "left", Short: "Say which agents still have something of inner", Hidden: true, Args: cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			for _, agent := range agenthook.Agents() {
				if it, err := a.agentFiles(agent, toolFlags{}); err == nil && it.installed() {
					a.Say("left to you: %s has a hook or a shell of inner; type: inner agent uninstall %s",
						a.Short(it.file), agent)
				}
			}
		},
	}
}

// agentState is what holds for the tools of an agent here.
type agentState struct {
	Agent    string   `json:"agent"`
	Whole    string   `json:"whole,omitempty"` // the profile whose box has the agent itself, when it is started here
	Commands string   `json:"commands"`        // "boxed closed", "boxed open" or "outside"
	Files    string   `json:"files"`           // "judged" or "not judged"
	Notes    []string `json:"notes"`
}

func (a *app) cmdAgentStatus() *cobra.Command {
	return a.AnswersOnHost(&cobra.Command{
		Use: "status", Short: "Show how the tools of each agent are confined in this folder", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (cli.Answer, error) {
		var list []agentState
		for _, agent := range agenthook.Agents() {
			s := a.agentState(agent)
			if d := shims.Decide(shims.HostEnv(shims.Call{Name: agent, InnerHome: a.InnerHome})); d.Kind == shims.Run {
				s.Whole = a.withRoles(d.Profile.Name)
			}
			list = append(list, s)
		}
		return cli.Answer{Value: list, Words: func() { a.printAgents(list) }}, nil
	})
}

// withRoles is a profile, and the roles that have it here.
func (a *app) withRoles(name string) string {
	what := "profile " + name
	pl, err := a.Here()
	if err != nil {
		return what
	}
	if t, err := roles.In(a.Settings, pl); err == nil && t.Roles != nil {
		for _, kv := range t.Profiles {
			if kv.Value == name {
				what += ", role " + kv.Key
			}
		}
	}
	return what
}

func (a *app) printAgents(list []agentState) {
	for _, s := range list {
		if s.Whole != "" { // its tools are there, too
			fmt.Fprintf(a.Out, "%-9s runs as a whole in the box of %s\n", s.Agent, cli.Printable(s.Whole))
			continue
		}
		fmt.Fprintf(a.Out, "%-9s commands %s, file tools %s\n", s.Agent, s.Commands, s.Files)
		for _, n := range s.Notes {
			fmt.Fprintf(a.Out, "          %s\n", cli.Printable(n))
		}
	}
}

// switchesHooks reports whether settings have a key that can switch hooks off.
func switchesHooks(settings []byte) bool {
	return bytes.Contains(settings, []byte("disableAllHooks")) || bytes.Contains(settings, []byte("hooksConfig"))
}

func (a *app) agentState(agent string) agentState {
	s := agentState{Agent: agent, Commands: "outside", Files: "not judged", Notes: []string{}}
	it, err := a.agentFiles(agent, toolFlags{})
	if err != nil {
		return s
	}
	text, err := readSettings(it.file)
	state, bad := agentsettings.Read(text, it.entry)
	if err != nil || bad != nil {
		s.Notes = append(s.Notes, a.Short(it.file)+" cannot be read as JSON")
		return s
	}
	hook := a.hooked(it, text, state)
	if agent == "codex" && hook && !codexTrusts(it, state) {
		hook = false
		s.Notes = append(s.Notes, "codex skips the hook until you trust it: start codex, or type /hooks in it")
	}
	shell := strings.HasPrefix(state.Value, it.entry.Tools+"/") && executable(state.Value)
	if !hook && !shell {
		return s
	}
	hook, shell = s.judgeOthers(it, hook, shell)
	switch {
	case shell:
		s.Commands = "boxed closed"
	case hook && agent != "opencode":
		s.Commands = "boxed open"
	}
	if hook {
		s.Files = "judged"
	}
	s.Notes = append(s.Notes, it.notes...)
	return s
}

// judgeOthers looks at the settings of this folder: they can switch the hook off, and take the
// shell's place.
func (s *agentState) judgeOthers(it agentFiles, hook, shell bool) (bool, bool) {
	for _, name := range it.others {
		other, err := readSettings(name)
		if err != nil || switchesHooks(other) {
			hook = false
			s.Notes = append(s.Notes, name+" of this folder can switch the hook off")
		}
		if err != nil || len(it.entry.Key) > 0 && bytes.Contains(other, []byte(it.entry.Key[len(it.entry.Key)-1])) {
			shell = false
			s.Notes = append(s.Notes, name+" of this folder can replace the shell")
		}
	}
	return hook, shell
}

// hooked reports whether the agent has the hook that inner installs: by its settings, or by a
// plugin.
func (a *app) hooked(it agentFiles, settings []byte, state agentsettings.State) bool {
	if it.plugin != "" {
		own, err := readSettings(it.plugin)
		return err == nil && bytes.Contains(own, []byte("spawnSync("+scriptValue(a.Inner)+","))
	}
	return state.Hook != "" && strings.HasPrefix(state.Hook, quote.POSIX(a.Inner)+" ") && !switchesHooks(settings)
}

func codexTrusts(it agentFiles, state agentsettings.State) bool {
	config, err := readSettings(filepath.Join(filepath.Dir(it.file), "config.toml"))
	return err == nil && agentsettings.Trusted(config, it.file, state)
}

func executable(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o100 != 0
}
