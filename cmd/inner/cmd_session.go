package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/session"
)

func (a *app) cmdSession() *cobra.Command {
	c := &cobra.Command{
		Use: "session", Short: "List and end the sessions of inner exec",
		Long: "List and end the sessions of inner exec --session: what their calls keep in /tmp, and the\n" +
			"folder the last command line ended in; with session = \"box\" in the profile also the box that\n" +
			"its calls have joined. A session that is not used for session_idle of\n" +
			"config.toml (12h) is ended by a later call.",
	}
	c.AddCommand(a.cmdSessionList(), a.cmdSessionEnd())
	return c
}

func (a *app) cmdSessionList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List the sessions", Args: cobra.NoArgs,
		RunE: a.onHost(func(_ *cobra.Command, _ []string) error {
			list, err := session.List(a.SessionsDir())
			if err != nil {
				return err
			}
			if asJSON {
				if list == nil {
					list = []session.Info{}
				}
				return a.printJSON(list)
			}
			t := tabwriter.NewWriter(a.stdout, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "SESSION\tPROJECT\tPROFILE\tUSED")
			for _, s := range list {
				used := s.Used.Local().Format("2006-01-02 15:04:05")
				if s.Busy {
					used = "now"
				}
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", printable(s.ID), printable(a.Short(s.Project)), printable(a.Short(s.Profile)), used)
			}
			return t.Flush()
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return c
}

func (a *app) cmdSessionEnd() *cobra.Command {
	var asJSON, all bool
	c := &cobra.Command{
		Use: "end (ID... | --all)", Short: "End sessions, in all projects and profiles, and remove what they keep",
		ValidArgsFunction: a.completeSessions,
		RunE: a.onHost(func(_ *cobra.Command, ids []string) error {
			if (len(ids) > 0) == all {
				return usagef("either the ids of sessions, or --all")
			}
			return a.endSessions(ids, asJSON)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	c.Flags().BoolVar(&all, "all", false, "all sessions")
	return c
}

// endSessions ends the sessions of these ids, or all of them when there are none.
func (a *app) endSessions(ids []string, asJSON bool) error {
	found := map[string]bool{}
	ended, err := session.End(a.SessionsDir(), func(it session.Info) bool {
		for _, id := range ids {
			if id == it.ID {
				found[id] = true
			}
		}
		return len(ids) == 0 || found[it.ID]
	})
	if err != nil {
		return err
	}
	if asJSON {
		if ended == nil {
			ended = []session.Info{}
		}
		if err := a.printJSON(ended); err != nil {
			return err
		}
	}
	for _, it := range ended {
		if it.Busy {
			return &fault.Refusal{Code: 125, Msg: fmt.Sprintf("session %q is in use: a call runs in it", it.ID), Hint: "wait for its end"}
		}
	}
	for _, id := range ids {
		if !found[id] {
			return &fault.Refusal{Code: 1, Msg: fmt.Sprintf("there is no session %q", id), Hint: "inner session list"}
		}
	}
	return nil
}

func (a *app) completeSessions(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	list, _ := session.List(a.SessionsDir())
	var ids []string
	for _, it := range list {
		ids = append(ids, it.ID+"\t"+a.Short(it.Project)+", used "+it.Used.Local().Format(time.DateTime))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}
