package main

// A folder of shells that run in the box of one profile, for agents that let one choose
// their shell.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/internal/files"
	"github.com/enr/inner/isolator/calls"
	"github.com/enr/inner/isolator/mcp"
	"github.com/enr/inner/isolator/session"
)

// lineShell is the program of a tools folder whose one argument is a command line.
const lineShell = "line"

func (a *app) cmdTools() *cobra.Command {
	return cli.Noun(&cobra.Command{
		Use:  "tools",
		Long: "Make shells that run in the box of a profile, for agents that let one choose their shell.",
	}, a.cmdToolsPath(), a.cmdToolsShell())
}

func (a *app) cmdToolsPath() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "path (-p NAME | --as ROLE)", Short: "Make a folder of shells for a profile, and print its path",
		Long: "Make a folder with bash, sh and zsh that run what they are given in the box of the profile,\n" +
			"whatever the PATH is, and print its path. They fail with exit code 127 when inner is removed.\n" +
			"The program `line` in it takes a command line as its one argument.",
		Args: cobra.NoArgs,
		RunE: a.OnHost(func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := a.knownProfile(f); err != nil {
				return err
			}
			dir, err := a.makeTools(f)
			if err == nil {
				_, err = fmt.Fprintln(a.Out, dir)
			}
			return err
		}),
	}
	f.add(a, c)
	return c
}

// knownProfile refuses a role or a profile that is not there.
func (a *app) knownProfile(f toolFlags) error {
	pl, err := a.Ready()
	if err != nil {
		return err
	}
	name := f.profile
	if _, err := a.RoleFlags(f.who, pl, &name); err != nil {
		return err
	}
	if _, err = a.Load(name, pl); err != nil {
		return a.Unusable(err, name)
	}
	return nil
}

// toolsFolder is the folder of shells of a profile or a role; its name says of which.
func (a *app) toolsFolder(f toolFlags) string {
	kind, name := "p-", f.profile
	if f.who.Asked {
		kind, name = "as-", f.who.As
	}
	if (session.Key{ID: name}).Check() != nil { // as a file name it could be anything
		sum := sha256.Sum256([]byte(name))
		name = "." + hex.EncodeToString(sum[:8])
	}
	return filepath.Join(a.InnerHome, "tools", kind+name)
}

// makeTools writes the shells of a profile.
func (a *app) makeTools(f toolFlags) (string, error) {
	dir := a.toolsFolder(f)
	if err := errors.Join(files.Folder(filepath.Dir(dir)), files.Folder(dir)); err != nil {
		return "", err
	}
	unlock, err := files.LockFolder(dir)
	if err != nil {
		return "", err
	}
	defer unlock()
	for _, name := range []string{"bash", "sh", "zsh", lineShell} {
		call, err := a.commandLine(append(append([]string{"tools", "shell"}, f.words()...), "--", name)...)
		if err != nil {
			return "", err
		}
		// A sh that does not find what it is to exec ends with 127 (POSIX, "exec").
		text := "#!/bin/sh\n# Runs in the sandbox of inner; made by `inner tools path`.\n" +
			"INNER_HOME=" + quote.POSIX(a.InnerHome) + "\nexport INNER_HOME\nexec " + call + " \"$@\"\n"
		if err := files.Replace(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// cmdToolsShell is what the shells of a tools folder call.
func (a *app) cmdToolsShell() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "shell (-p NAME | --as ROLE) -- SHELL [ARG...]", Short: "Run a shell in the box of a profile", Hidden: true,
		Args: cobra.ArbitraryArgs,
		RunE: a.OnHost(func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return cli.Usagef("no shell: write it after --")
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			if err := a.FirstUse(); err != nil {
				return err
			}
			return a.toolsShell(f, args[0], args[1:])
		}),
	}
	f.add(a, c)
	return c
}

func (a *app) toolsShell(f toolFlags, shell string, args []string) error {
	line, one := oneLine(shell, args)
	if agent, is := a.isHookLine(line, f); is && one && shell == lineShell {
		// Claude Code runs its hooks with the same prefix. This one reads and writes JSON
		// alone, and in a box it could not ask.
		cli.OutliveReaders()
		if err := a.agentHook(agent, f, false, true); err != nil {
			a.Say("agent hook: %v", err)
			return cli.Exit(2)
		}
		return nil
	}
	if shell == lineShell && !one {
		return cli.Usagef("%s takes one argument, a command line", lineShell)
	}
	if id := a.Getenv("CLAUDE_CODE_SESSION_ID"); (session.Key{ID: id}).Check() == nil { // of the agent that runs this
		f.session = id
	}
	r, err := calls.New(a.Caller, f.options(), "")
	if err != nil {
		return err
	}
	q := calls.Request{Argv: append([]string{shell}, args...)}
	if one && (shell == lineShell || shell == "bash" && f.session != "") {
		q = calls.Request{Line: line}
	}
	return a.Exec(r, q)
}

// oneLine is the command line that a shell is given, when it is given nothing else that
// matters: bash -c LINE, sh -lc LINE.
func oneLine(shell string, args []string) (line string, one bool) {
	if shell == lineShell {
		return strings.Join(args, " "), len(args) == 1 && args[0] != ""
	}
	var flags string
	for len(args) > 1 && strings.HasPrefix(args[0], "-") && strings.Trim(args[0][1:], "cl") == "" && len(args[0]) > 1 {
		flags, args = flags+args[0], args[1:]
	}
	if len(args) != 1 || !strings.Contains(flags, "c") {
		return "", false
	}
	return args[0], true
}

func (a *app) cmdMCP() *cobra.Command {
	var f toolFlags
	c := &cobra.Command{
		Use: "mcp (--as ROLE | -p NAME) [--session ID]",
		Long: "Serve the Model Context Protocol on standard input and output, with the tools bash, read,\n" +
			"write and list. Each call runs in the box of the profile; nothing is done outside. With\n" +
			"--session calls share /tmp, and the folder the last command line ended in.",
		Args: cobra.NoArgs,
		RunE: a.OnHost(func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			r, err := a.Runner(f.options(), "")
			if err != nil {
				return err
			}
			return cli.UntilSignal(func(ctx context.Context) error { return mcp.Serve(ctx, r.Do, a.In, tell.Raw(a.Out), a.Version) })
		}),
	}
	f.add(a, c)
	a.SessionFlag(c, &f.session)
	return c
}
