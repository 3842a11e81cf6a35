package records

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/visible"
	"github.com/enr/inner/isolator/runlog"
)

// EventText says what an event is about. short writes the home as ~.
func EventText(e runlog.Event, short func(string) string) string {
	what := cmp.Or(e.Host, e.Command)
	if e.Type == runlog.EventCredential {
		what += e.Path // of the first request
	}
	if what != "" {
		for _, f := range [][2]string{{" → ", e.Program}, {" in ", short(e.Cwd)}, {", network ", e.Network}} {
			if f[1] != "" {
				what += f[0] + f[1]
			}
		}
	}
	parts := []string{what}
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	switch e.Type {
	case runlog.EventExit, runlog.EventCall:
		parts[0] = strings.TrimPrefix(what+": ",
			": ") + runlog.HowEnded(runlog.End{Code: e.Code, Signal: e.Signal}) + " after " + runlog.Roughly(time.Duration(e.Millis)*time.Millisecond)
	case runlog.EventRefused, runlog.EventVerify:
		parts[0] += fmt.Sprintf(": code %d", e.Code)
	case runlog.EventAllow, runlog.EventDeny, runlog.EventRevoke, runlog.EventInstall:
		parts[0] = short(e.Path)
		add(e.Digest != "", "sha256 %s", e.Digest)
	}
	add(len(e.Allow) > 0, "allow %s", strings.Join(e.Allow, ", "))
	add(e.Count > 1, "%d times", e.Count)
	asked := e.Asked
	if asked != `""` { // as --as '' stands in the log
		asked = strconv.Quote(asked)
	}
	add(e.Asked != "", "role %s, asked for as %s", e.Role, asked)
	add(e.Asked == "" && e.Role != "", "role %s", e.Role)
	add(e.Actor != "", "for %s", e.Actor)
	add(e.Reason != "", "%s", e.Reason)
	if parts[0] == "" {
		parts = parts[1:]
	}
	return strings.Join(parts, "; ")
}

// HostLine describes what a run did with one host, for people.
func HostLine(h runlog.Host) string {
	var parts []string
	for _, c := range []struct {
		n    int64
		what string
	}{{h.Allowed, "connected"}, {h.Refused, "refused"}, {h.Failed, "failed"}} {
		if c.n > 0 {
			parts = append(parts, c.what+" "+runlog.Times(c.n))
		}
	}
	if h.Up+h.Down > 0 {
		parts = append(parts, fmt.Sprintf("%s out, %s in", visible.Size(h.Up), visible.Size(h.Down)))
	}
	if h.Reason != "" {
		parts = append(parts, h.Reason)
	}
	return runlog.HostText(h.Host, h.Port) + ": " + strings.Join(parts, ", ")
}
