package runlog

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/enr/inner/profile/config"
)

// Text says what the event is about. short writes the home as ~.
func (e Event) Text(short func(string) string) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch e.Type {
	case EventStart:
		add("%s → %s in %s, network %s", e.Command, e.Program, short(e.Cwd), e.Network)
		if len(e.Allow) > 0 {
			add("allow %s", strings.Join(e.Allow, ", "))
		}
	case EventExit:
		add("%s", e.ended())
	case EventRefused, EventVerify:
		add("%s in %s: code %d", e.Command, short(e.Cwd), e.Code)
	case EventBypass:
		add("%s → %s in %s", e.Command, e.Program, short(e.Cwd))
	case EventAllow, EventDeny, EventRevoke, EventInstall:
		add("%s", short(e.Path))
		if e.Digest != "" {
			add("sha256 %s", e.Digest)
		}
	case EventCall:
		add("%s → %s in %s: %s", e.Command, e.Program, short(e.Cwd), e.ended())
	default:
		if what := cmp.Or(e.Host, e.Command); what != "" {
			add("%s", what)
		}
		if e.Count > 1 {
			add("%d times", e.Count)
		}
	}
	return strings.Join(append(parts, e.who()...), "; ")
}

// ended says how something ended, and after how long.
func (e Event) ended() string {
	return HowEnded(End{Code: e.Code, Signal: e.Signal}) + " after " + Roughly(time.Duration(e.Millis)*time.Millisecond)
}

// who says for whom something was done, and why.
func (e Event) who() (parts []string) {
	switch {
	case e.Role != "" && e.Asked != "":
		parts = append(parts, fmt.Sprintf("role %s, asked for as %q", e.Role, e.Asked))
	case e.Role != "":
		parts = append(parts, "role "+e.Role)
	}
	if e.Actor != "" {
		parts = append(parts, "for "+e.Actor)
	}
	if e.Reason != "" {
		parts = append(parts, e.Reason)
	}
	return parts
}

// Since reads an age, a day or a moment.
func Since(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	age, err := config.ParseAge(text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is neither an age such as 2h or 30d nor a date such as 2026-01-31", text)
	}
	return now.Add(-age), nil
}
