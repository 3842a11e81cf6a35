// Package cli is what the commands of inner share, those of inner itself and those of the programs
// beside it: the process, the flags that many commands have, how they answer and how they fail, and
// how inner goes on as a program beside it.
//
//	a, err := cli.Find(version)
//	os.Exit(a.Execute(root, os.Args[1:]))
package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/shim"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/caller"
	"github.com/enr/inner/profile/capability"
)

// App is the process of a command.
type App struct {
	*shim.Process

	In       *os.File
	Out, Err io.Writer

	Inner string // the path of the inner binary; "" when that cannot be told
}

// Find is Of for the folders of the caller. On error the App can still report it.
func Find(version string) (*App, error) {
	home, inner, err := caller.Folders(os.Getenv)
	return Of(home, inner, version), err
}

// Of is the App of this process for a home and an INNER_HOME.
func Of(home, inner, version string) *App {
	a := &App{Process: shim.Of(home, inner, version), In: os.Stdin, Out: tell.To(os.Stdout), Err: tell.To(os.Stderr)}
	a.Inner = a.Self()
	a.Caller.Inner = a.Inner
	return a
}

// Root is the command inner, of which all others are a part.
func (a *App) Root() *cobra.Command {
	root := &cobra.Command{
		Use:           "inner",
		SilenceErrors: true, SilenceUsage: true,
		Version: a.Version,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && capability.IsProgram(args[0]) { // and no profile is called so
				return fault.Refuse(2, "inner init "+args[0], "unknown command %q", args[0])
			}
			if len(args) > 0 {
				return Unknown(cmd, args[0], "unknown command %q", args[0])
			}
			return nil
		},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("inner {{.Version}}\n")
	root.SetFlagErrorFunc(unknownFlag)
	return root
}

// Execute runs a command line of inner, and returns the exit code.
func (a *App) Execute(root *cobra.Command, args []string) int {
	root.SetArgs(args)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteC()
	if err = cmp.Or(err, tell.Err(a.Out)); err == nil {
		return 0
	}
	return a.Failed(cmd, err)
}

// JSON prints a value as indented JSON.
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := tell.Raw(w).Write(visible.JSON(b.Bytes()))
	return err
}

// Table prints rows in columns, with everything in their cells visible.
func Table(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			cells[i] = visible.Text(cell)
		}
		_, _ = fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // Err has it
}

// Colour reports whether w may get colour.
func Colour(w io.Writer) bool {
	f, ok := tell.FileOf(w)
	return ok && caller.IsTerminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Paint is a text in a colour, an SGR code (ECMA-48), where w may get colour.
func Paint(w io.Writer, code, text string) string {
	if !Colour(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
