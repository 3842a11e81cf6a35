package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/profile/builtin"
)

// firstConfig is the config.toml of a new installation.
const firstConfig = `# Settings of inner for this user.

# The profile of ` + "`inner run`" + ` without -p.
default_profile = "shell"

# Commands that are always sandboxed, also outside projects:
# [shims]
# claude = "claude-interactive"
`

func (a *app) cmdInit() *cobra.Command {
	return &cobra.Command{
		Use: "init", Short: "Create ~/.inner with the built-in profiles; never overwrites", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.outside(cmd); err != nil {
				return err
			}
			written, err := a.install()
			if err != nil {
				return err
			}
			for _, f := range written {
				fmt.Fprintln(a.stdout, f)
			}
			if len(written) == 0 {
				a.say("%s is complete; nothing was changed", a.InnerHome)
			}
			if err := a.regenerate(); err != nil {
				return err
			}
			if rc, line := a.hookLine(loginShell()); a.findHook(loginShell()) == nil {
				a.hint("add to %s: %s", a.Short(rc), line)
			}
			return nil
		},
	}
}

// install creates what is missing of INNER_HOME and returns what it wrote.
func (a *app) install() ([]string, error) {
	for _, d := range []string{a.InnerHome, a.ProfilesDir(), a.LogsDir(), filepath.Join(a.InnerHome, "trust"), filepath.Join(a.InnerHome, "workspaces")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, err
		}
	}
	written, err := builtin.Install(a.ProfilesDir())
	if err != nil {
		return written, err
	}
	f, err := os.OpenFile(a.ConfigFile(), os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return written, nil
	}
	if err != nil {
		return written, err
	}
	_, err = f.WriteString(firstConfig)
	return append(written, a.ConfigFile()), errors.Join(err, f.Close())
}

// firstUse installs the built-ins when there is no profile folder yet.
func (a *app) firstUse() error {
	if inBox() {
		return &fault.Refusal{Code: 126, Msg: "profiles are on the host: this is the inside of a sandbox", Hint: "inner status"}
	}
	if _, err := os.Lstat(a.ProfilesDir()); err == nil {
		return nil
	}
	written, err := a.install()
	a.ForgetConfigs() // one of them may be new
	if err != nil {
		return fmt.Errorf("%s cannot be created: %w", a.InnerHome, err)
	}
	if len(written) > 0 {
		a.say("first use: wrote %d files below %s", len(written), strings.Replace(a.InnerHome, a.Home, "~", 1))
	}
	return nil
}
