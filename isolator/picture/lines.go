package picture

import (
	"fmt"
	"slices"
	"strings"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/isolator/features"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/plan"
	"github.com/enr/inner/profile/capability"
)

// LimitLines tells what holds each limit of a plan; a pasted command has only
// those of disk.
func LimitLines(plan plan.Plan) []string {
	if plan.Limits == nil {
		return nil
	}
	var out []string
	for _, h := range plan.Limits.Held {
		out = append(out, fmt.Sprintf("%s limit %s, held by %s", features.LimitName(h.Key), h.Text, EngineText(h, plan.Limits)))
	}
	return out
}

// EngineText says what holds a limit.
func EngineText(h limits.Held, p *limits.Plan) string {
	switch h.Engine {
	case limits.Systemd:
		return "a scope of systemd (" + p.Scope[0] + ")"
	case limits.Cgroup:
		return "a control group in " + p.Parent
	case limits.Rlimit:
		return "resource limits of the program (setrlimit)"
	}
	if h.Engine != limits.Tmpfs {
		return "a control group of " + string(h.Engine)
	}
	return "the size of each tmpfs, and of the box's git directories and home by a look at them"
}

// PortLines tells what listens for the box, and for what reason; a pasted command
// has nothing of it.
func PortLines(p plan.Plan) []string {
	var out []string
	for _, l := range p.Listen {
		out = append(out, fmt.Sprintf("127.0.0.1:%d in the box: %s", l.Port, l.Reason))
		if l.HostPort == 0 && p.Container == nil && !host.Privileged(p.Bwrap) {
			out = append(out, fmt.Sprintf("%s in the box: the names of hosts, for programs that ask no proxy", netproxy.Resolver()))
		}
	}
	for _, p := range p.Publish {
		out = append(out, fmt.Sprintf("127.0.0.1:%d of this computer: port %d of the box, %s", p.HostPort, p.Port, p.Reason))
	}
	return out
}

// ReachLines say what is behind words of the profile: which hosts come from where, for those that it does not write
// itself, what is missing, and what else is to be known.
func ReachLines(r features.Reach) (out []string) {
	var origins []string
	named := map[string][]string{}
	for _, rule := range r.Allow {
		if rule.Origin == "network_allow" {
			continue
		}
		if named[rule.Origin] == nil {
			origins = append(origins, rule.Origin)
		}
		text := rule.String()
		if rule.Private {
			text += " (of your own network)"
		}
		named[rule.Origin] = append(named[rule.Origin], text)
	}
	for _, origin := range origins {
		out = append(out, fmt.Sprintf("can reach %s [%s]", strings.Join(named[origin], ", "), origin))
	}
	for _, m := range r.Missing {
		out = append(out, m.String())
	}
	return append(out, r.Notes...)
}

// explain says what the capability brings into a box whose user has that home, one line each; used says that the box
// uses the agent's login, and cannot read it.
func explain(c capability.Capability, home string, used bool) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	at := make([]string, len(c.Folders))
	for i, f := range c.Folders {
		at[i] = f.Place(home)
		f.Files = slices.DeleteFunc(slices.Clone(f.Files), func(file capability.File) bool {
			return used && (file.Name == c.OAuth.File || slices.Contains(c.OAuth.Absent, file.Name))
		})
		out = append(out, cloned(f)...)
	}
	if used {
		add("has placeholders in %s/%s; the login is renewed outside", c.Folders[0].Path, c.OAuth.File)
	} else if c.Login != nil {
		out = append(out, renewed(c.Login, c.Folders[0].Path)...)
	}
	for _, kv := range c.Environment(home, at) {
		value := kv.Value
		if rest, ok := paths.Rest(home, value); ok {
			value = strings.TrimSuffix("~/"+rest, "/")
		}
		add("sets %s=%s", kv.Key, value)
	}
	if len(c.Hosts) > 0 {
		add("reaches %s, where the network is by name", strings.Join(c.Hosts, ", "))
	}
	if len(c.Endpoints) > 0 {
		add("reaches the server that %s, or your settings of it, names, where you do", strings.Join(c.Endpoints, " or "))
	}
	if len(c.Args) > 0 {
		add("starts %s with %s", c.Program, strings.Join(c.Args, " "))
	}
	for _, kv := range c.Wants {
		add("creates %s in the project for the run if its folder exists and the file does not", kv.Key)
	}
	for _, kv := range c.Own {
		add("keeps a copy of its own of %s of the project, in a home of the box's own", kv.Key)
	}
	return append(out, c.Notes...)
}

func cloned(f capability.Folder) []string {
	out := []string{fmt.Sprintf("mounts a clone on %s (rw, 0700, gone after the run unless the box has a home of its own)", f.Path)}
	for _, file := range f.Files {
		line := "copies " + strings.TrimPrefix(file.Beside+" as ", " as ") + f.Path + "/" + file.Name
		switch {
		case file.Any():
			line += ", sanitised"
		case file.Instructions:
			line += ", and writes below it what the box may do"
		}
		out = append(out, line)
	}
	for _, t := range f.Trees {
		out = append(out, "copies "+f.Path+"/"+t+"/")
	}
	if len(f.Empty) > 0 {
		out = append(out, "empty in it: "+strings.Join(f.Empty, "/ ")+"/")
	}
	return out
}

func renewed(l *capability.Login, folder string) []string {
	var out []string
	if len(l.Renew) > 0 {
		out = append(out, fmt.Sprintf("before the copy, when the login has expired: runs %s on the host; a login that stays expired stops the run", strings.Join(l.Renew, " ")))
	}
	return append(out, fmt.Sprintf("a login renewed inside stays there, or is written back to %s/%s with sync_credentials = true", folder, l.File))
}
