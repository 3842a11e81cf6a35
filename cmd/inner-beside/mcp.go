package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/cli"
	"github.com/enr/inner/cmd/internal/tell"
	"github.com/enr/inner/isolator/mcp"
)

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
