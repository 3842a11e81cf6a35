package runlog

import (
	"maps"
	"slices"
	"strconv"
	"time"
)

// The lines of a record and of the audit log are written by hand: encoding/json takes
// 0.1 ms for each of the three types to look at it, once per process, which is more
// than everything else of a record takes. A test compares the two.

// line is a JSON object that is being written, without its closing brace.
type line []byte

func (l *line) key(key string) {
	sep := byte(',')
	if len(*l) == 0 {
		sep = '{'
	}
	*l = append(append(append(append(*l, sep), '"'), key...), '"', ':')
}

func (l *line) str(key, v string) {
	l.key(key)
	*l = appendJSON(*l, []byte(v))
}

func (l *line) optional(key, v string) {
	if v != "" {
		l.str(key, v)
	}
}

func (l *line) num(key string, v int64) {
	l.key(key)
	*l = strconv.AppendInt(*l, v, 10)
}

func (l *line) bool(key string, v bool) {
	l.key(key)
	*l = strconv.AppendBool(*l, v)
}

// some is num, and flag is bool, for a field that is left out when it says nothing.
func (l *line) some(key string, v int64) {
	if v > 0 {
		l.num(key, v)
	}
}

func (l *line) flag(key string, v bool) {
	if v {
		l.bool(key, v)
	}
}

func (l *line) time(key string, v time.Time) {
	l.key(key)
	*l = append(v.AppendFormat(append(*l, '"'), time.RFC3339Nano), '"')
}

func (l *line) list(key string, v []string) {
	if len(v) == 0 {
		return
	}
	l.key(key)
	for i, s := range v {
		*l = appendJSON(append(*l, "[,"[min(i, 1)]), []byte(s))
	}
	*l = append(*l, ']')
}

// objects writes a list of objects.
func objects[T any](l *line, key string, list []T, write func(T) []byte) {
	if len(list) == 0 {
		return
	}
	l.key(key)
	for i, it := range list {
		*l = append(append(*l, "[,"[min(i, 1)]), write(it)...)
	}
	*l = append(*l, ']')
}

// object appends a field whose value is the object that write fills.
func (l *line) object(key string, write func(*line)) {
	l.key(key)
	var inner line
	write(&inner)
	*l = append(*l, inner.end()...)
}

func (l line) end() []byte {
	if len(l) == 0 {
		return []byte("{}")
	}
	return append(l, '}')
}

func (s Start) line() []byte {
	l := make(line, 0, 1024)
	l.str("event", s.Event)
	l.time("time", s.Time)
	l.str("run", s.Run)
	l.str("inner", s.Inner)
	l.num("pid", int64(s.PID))
	l.str("profile", s.Profile)
	l.str("path", s.Path)
	l.str("scope", s.Scope)
	l.str("digest", s.Digest)
	l.str("command", s.Command)
	l.str("program", s.Program)
	l.num("args", int64(s.Args))
	l.str("cwd", s.Cwd)
	l.str("workdir", s.Workdir)
	l.optional("project", s.Project)
	l.str("network", s.Network)
	l.list("allow", s.Allow)
	l.list("capabilities", s.Clones)
	l.bool("terminal", s.Terminal)
	return l.end()
}

func (e End) line() []byte {
	l := make(line, 0, 256)
	l.str("event", e.Event)
	l.time("time", e.Time)
	l.num("code", int64(e.Code))
	l.optional("signal", e.Signal)
	l.flag("timed_out", e.TimedOut)
	l.list("limits", e.Limits)
	l.num("ms", e.Millis)
	if len(e.Blocked) > 0 {
		l.object("blocked", func(in *line) {
			for _, name := range slices.Sorted(maps.Keys(e.Blocked)) {
				in.count(name, e.Blocked[name])
			}
		})
	}
	objects(&l, "network", e.Network, Host.line)
	l.some("more_hosts", int64(e.MoreHosts))
	if o := e.Output; o != nil {
		l.object("output", func(in *line) {
			in.str("file", o.File)
			in.num("seen", o.Seen)
			in.num("kept", o.Kept)
			in.flag("cut", o.Cut)
			in.optional("error", o.Error)
		})
	}
	if c := e.Changes; c != nil {
		l.object("changes", func(in *line) {
			in.list("files", c.Files)
			in.list("gone", c.Gone)
			in.some("more", int64(c.More))
			in.flag("partly", c.Partly)
		})
	}
	l.list("runs_later", e.Later)
	l.list("moved_aside", e.Aside)
	objects(&l, "rewound", e.Rewound, Ref.line)
	l.some("more_rewound", int64(e.MoreRewound))
	return l.end()
}

func (r Ref) line() []byte {
	var l line
	l.str("repo", r.Repo)
	l.str("ref", r.Ref)
	l.str("old", r.Old)
	l.optional("new", r.New)
	return l.end()
}

func (h Host) line() []byte {
	var l line
	l.str("host", h.Host)
	l.num("port", int64(h.Port))
	l.optional("origin", h.Origin)
	l.num("allowed", h.Allowed)
	l.num("refused", h.Refused)
	l.some("failed", h.Failed)
	l.num("up", h.Up)
	l.num("down", h.Down)
	l.flag("plain", h.Plain)
	l.optional("reason", h.Reason)
	return l.end()
}

// count is num for a key that comes from a profile.
func (l *line) count(name string, n int) {
	sep := byte(',')
	if len(*l) == 0 {
		sep = '{'
	}
	*l = strconv.AppendInt(append(appendJSON(append(*l, sep), []byte(name)), ':'), int64(n), 10)
}
