package main

// Agents that are not in a box themselves, and whose tools are.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator"
	"github.com/enr/inner/isolator/agenthook"
	"github.com/enr/inner/isolator/git"
	"github.com/enr/inner/isolator/session"
	"github.com/enr/inner/isolator/why"
)

func (a *app) cmdAgent() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use: "agent",
		Long: "Run each command of an agent in a box, and allow its file tools only what the box has. The agent\n" +
			"itself runs outside. docs/tool-calls.md says what this guarantees; `claude` in a hooked shell,\n" +
			"as a whole in one box, guarantees more.",
	}, a.cmdAgentInstall(), a.cmdAgentUninstall(), a.cmdAgentStatus(), a.cmdAgentHook(), a.cmdAgentLeft())
}

// toolFlags name the profile of calls of tools.
type toolFlags struct {
	profile, session string
	who              cli.WhoFlags
}

func (f *toolFlags) add(a *app, c *cobra.Command) {
	a.ProfileFlag(c, &f.profile)
	f.who.AddRole(a.App, c)
}

// options are the flags as package isolator has them.
func (f *toolFlags) options() isolator.Options {
	return isolator.Options{Name: f.profile, Role: f.who.As, AsRole: f.who.Asked, Session: f.session}
}

// check wants a profile or a role, and makes the path of a profile absolute.
func (f *toolFlags) check(cmd *cobra.Command) error {
	if err := f.who.Check(cmd); err != nil {
		return err
	}
	if !f.who.Asked && f.profile == "" {
		return cli.ErrNoProfile()
	}
	if strings.ContainsAny(f.profile+f.who.As, "\x00\n") {
		return cli.Usagef("the name of a profile or role has a NUL byte or a line break in it")
	}
	if strings.Contains(f.profile, "/") && !strings.HasPrefix(f.profile, "~/") {
		abs, err := filepath.Abs(f.profile)
		if err != nil {
			return err
		}
		f.profile = abs
	}
	return nil
}

// words are the flags as they are typed.
func (f *toolFlags) words() []string {
	if f.who.Asked {
		return []string{"--as=" + f.who.As}
	}
	return []string{"--profile=" + f.profile}
}

// commandLine is a command line of a POSIX shell that calls inner by its absolute path.
func (a *app) commandLine(words ...string) (string, error) {
	self := a.Inner
	if !filepath.IsAbs(self) {
		return "", errors.New("inner cannot tell where its own program is")
	}
	for i, w := range words {
		words[i] = quote.POSIX(w)
	}
	return quote.POSIX(self) + " " + strings.Join(words, " "), nil
}

// hookPatience is the longest that a hook takes. Agents go on with a call whose hook has not
// answered in time: Claude Code and Gemini CLI after a minute.
const hookPatience = 10 * time.Second

func (a *app) cmdAgentHook() *cobra.Command {
	var f toolFlags
	var boxed bool
	c := &cobra.Command{
		Use: "hook claude|codex|gemini|opencode (--as ROLE | -p NAME) [--session ID]", Short: "Judge a call of a tool: JSON in, JSON out",
		Long: "Read the JSON that an agent gives its hook before it uses a tool, and write what the agent is\n" +
			"to do. Commands are rewritten to run in the box, and file tools are denied what the box does\n" +
			"not have. Exit code 2, which blocks the call, when there is any doubt.\n\n" +
			"Without --session the session is the agent's own; --session '' is none.",
		Args: cobra.ExactArgs(1), ValidArgs: agenthook.Agents(),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			defer time.AfterFunc(hookPatience, func() {
				a.Say("agent hook: not judged within %s", hookPatience)
				os.Exit(2)
			}).Stop()
			defer func() {
				if p := recover(); p != nil {
					err = fmt.Errorf("inner failed: %v", p)
				}
				if err != nil { // only 2 blocks the call
					text, _, _ := strings.Cut(err.Error(), "\n")
					a.Say("agent hook: %s", text)
					err = cli.Exit(2)
				}
			}()
			if err := a.Outside(cmd); err != nil {
				return err
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return a.agentHook(args[0], f, cmd.Flags().Changed("session"), boxed)
		},
	}
	f.add(a, c)
	a.SessionFlag(c, &f.session)
	c.Flags().BoolVar(&boxed, "files", false, "judge file tools only: commands get into the box another way")
	return c
}

// answered returns an error when an answer on standard output would be lost: in /dev/null, which is also what the
// runtime opens there when the descriptor is closed at the start (runtime.checkfds).
func answered() error {
	var st unix.Stat_t
	if err := unix.Fstat(unix.Stdout, &st); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3) {
		return errors.New("standard output is closed, or /dev/null: nobody would read the answer")
	}
	return nil
}

// agentHook answers one hook. Its caller has called outliveReaders.
func (a *app) agentHook(agent string, f toolFlags, sessionSet, boxed bool) error {
	if err := answered(); err != nil {
		return err
	}
	c, err := a.hookCall(agent)
	if err != nil {
		return err
	}
	if err := a.FirstUse(); err != nil {
		return err
	}
	if f.session, err = sessionOf(f, sessionSet, c.Session); err != nil {
		return err
	}
	b, err := a.toolBox(f, c.Dir)
	if err != nil {
		return err
	}
	o := agenthook.Options{Dir: b.Dir(), Home: a.Home, Boxed: boxed || a.prefixed(agent, f)}
	if f.session != "" {
		o.Tmp = b.tmp
	}
	if o.Command, err = a.boxedLine(f, o.Dir); err != nil {
		return err
	}
	d, err := c.Judge(b, o)
	if err != nil {
		return err
	}
	answer, err := c.Answer(d)
	if err != nil {
		return err
	}
	_, err = tell.Raw(a.Out).Write(answer)
	return err
}

// sessionOf is the session of a call: the one that --session names, be it empty, else the agent's own
// when its name can be one.
func sessionOf(f toolFlags, given bool, own string) (string, error) {
	id := f.session
	if !given && (session.Key{ID: own}).Check() == nil {
		id = own
	}
	if id == "" {
		return "", nil
	}
	return id, session.Key{ID: id}.Check()
}

// hookCall reads the call of a tool that an agent asks about.
func (a *app) hookCall(agent string) (c agenthook.Call, err error) {
	text, err := io.ReadAll(io.LimitReader(a.In, agenthook.MaxInput+1))
	if err != nil {
		return c, err
	}
	if len(text) > agenthook.MaxInput {
		return c, fmt.Errorf("the input is longer than %d bytes", agenthook.MaxInput)
	}
	return agenthook.Parse(agent, text)
}

// boxedLine makes of a command line one that runs it in the box of a profile.
func (a *app) boxedLine(f toolFlags, dir string) (func(line string) string, error) {
	words := append([]string{"exec"}, f.words()...)
	if f.session != "" {
		words = append(words, "--session="+f.session)
	}
	prefix, err := a.commandLine(append(words, "--directory="+dir, "-c")...)
	return func(line string) string { return prefix + " " + quote.POSIX(line) }, err
}

// prefixed reports whether Claude Code runs its commands through the tools folder of the
// same profile, as it would say to a hook.
func (a *app) prefixed(agent string, f toolFlags) bool {
	return agent == "claude" && a.Getenv(claudePrefix) == filepath.Join(a.toolsFolder(f), lineShell)
}

// claudePrefix is the variable that names what Claude Code runs its commands with.
const claudePrefix = "CLAUDE_CODE_SHELL_PREFIX"

// toolBox is the box of calls of tools, as it is asked about paths.
type toolBox struct {
	*isolator.Profile
	a     *app
	table *why.Table
}

// toolBox plans the box of a profile that is allowed, in a folder; "" is the current one.
func (a *app) toolBox(f toolFlags, dir string) (b toolBox, err error) {
	o := f.options()
	if o.Dir, err = filepath.Abs(dir); err != nil {
		return b, err
	}
	if strings.Contains(o.Name, "/") {
		o.Name, o.File = "", o.Name
	}
	b.a = a
	if b.Profile, err = isolator.LoadFor(a.Caller, "agent", o); err == nil {
		b.table, err = b.Table()
	}
	return b, err
}

// tmp is the host folder of /tmp of the session.
func (b toolBox) tmp() (string, error) {
	s, err := b.Session()
	if err != nil {
		return "", err
	}
	defer s.Close()
	return s.Tmp, nil
}

// Path is agenthook.Box.
func (b toolBox) Path(path string, use agenthook.Use) string {
	answer := b.table.Direct(path)
	short := b.a.Short(path)
	switch {
	case !answer.Granted(false):
		return fmt.Sprintf("%s: %s (%s)", short, wordsOf(answer), orKey(answer))
	case use.Write && !answer.Granted(true):
		return fmt.Sprintf("%s: the sandbox has it read-only (%s)", short, orKey(answer))
	}
	if use.Write && !b.OwnsGit() {
		if dir := bare(answer.Real); dir != "" {
			return fmt.Sprintf("%s: git would take %s for a repository; write there with a command, in the sandbox", short, b.a.Short(dir))
		}
	}
	if place, hides := b.table.HidesBelow(path, use.Reads); hides {
		return fmt.Sprintf("%s: something below it is hidden (%s); read the folder with a command, in the sandbox", short, b.a.Short(place))
	}
	return ""
}

func wordsOf(w why.Answer) string {
	switch w.Access {
	case why.Hidden:
		return "hidden in the sandbox"
	case why.Absent:
		return "not there"
	}
	return "outside of the sandbox: " + w.How
}

func orKey(w why.Answer) string {
	if w.Key == "" {
		return "inner why says more"
	}
	return w.Key
}

// Host is agenthook.Box.
func (b toolBox) Host(host string) string {
	answer, err := b.table.Host(host)
	switch {
	case err != nil:
		return fmt.Sprintf("the name of the host: %v", err)
	case !answer.Granted(false):
		return fmt.Sprintf("%s: the sandbox does not reach it (%s)", host, answer.How)
	}
	return ""
}

// isHookLine reports whether a command line is that of a hook of this profile, as it is
// installed.
func (a *app) isHookLine(line string, f toolFlags) (agent string, is bool) {
	i := slices.IndexFunc(agenthook.Agents(), func(name string) bool {
		want, err := a.agentHookLine(name, f)
		return err == nil && line == want
	})
	if i < 0 {
		return "", false
	}
	return agenthook.Agents()[i], true
}

func (a *app) agentHookLine(agent string, f toolFlags) (string, error) {
	return a.commandLine(append([]string{"agent", "hook", agent}, f.words()...)...)
}

// bare returns the folder above a path that git may take for a repository without a work tree once there is
// something at the path, "" where a work tree begins below it, or there is none. Each of them has a HEAD.
func bare(path string) string {
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		switch r, err := git.FindAt(dir); {
		case err == nil && r.Reason == "":
			return ""
		case path == dir+"/HEAD" || files.Exists(dir+"/HEAD"):
			return dir
		}
	}
	return ""
}
