package main

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/enr/inner/cmd/internal/tell"
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
	return a.answersOnHost(&cobra.Command{
		Use: "list", Short: "List the sessions", Args: cobra.NoArgs,
	}, func(*cobra.Command, []string) (answer, error) {
		list, err := session.List(a.SessionsDir())
		rows := [][]string{{"SESSION", "PROJECT", "PROFILE", "USED"}}
		for _, s := range list {
			used := s.Used.Local().Format("2006-01-02 15:04:05")
			if s.Busy {
				used = "now"
			}
			rows = append(rows, []string{s.ID, a.Short(s.Project), a.Short(s.Profile), used})
		}
		return answer{value: append([]session.Info{}, list...), words: func() { tell.Table(a.stdout, rows) }}, err
	})
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
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&all, "all", false, "all sessions")
	return c
}

// endSessions ends the sessions of these ids, or all of them when there are none.
func (a *app) endSessions(ids []string, asJSON bool) error {
	ended, err := session.End(a.SessionsDir(), func(it session.Info) bool { return len(ids) == 0 || slices.Contains(ids, it.ID) })
	if err != nil {
		return err
	}
	if asJSON {
		if err := a.printJSON(append([]session.Info{}, ended...)); err != nil {
			return err
		}
	}
	for _, it := range ended {
		if it.Busy {
			return fault.Refuse(125, "wait for its end", "session %q is in use: a call runs in it", it.ID)
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(ended, func(it session.Info) bool { return it.ID == id }) {
			return fault.Refuse(1, "inner session list", "there is no session %q", id)
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
