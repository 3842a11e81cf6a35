package runlog

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/visible"
)

// Times writes how often.
func Times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// HostText returns a host and port for people, the name alone of one that was only looked up, or "others"
// without a host.
func HostText(host string, port uint16) string {
	if host == "" {
		return "others"
	}
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// NetworkSummary sums up the hosts of a run, the busiest first, or is "".
func NetworkSummary(list []Host) string {
	const most = 8
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(x, y Host) int { return cmp.Compare(y.Up+y.Down, x.Up+x.Down) })
	var reached, refused []string
	for _, h := range list {
		if h.Allowed > 0 {
			reached = append(reached, fmt.Sprintf("%s (%s out, %s in)", HostText(h.Host, h.Port), visible.Size(h.Up), visible.Size(h.Down)))
		}
		if h.Refused > 0 {
			refused = append(refused, fmt.Sprintf("%s (%d)", HostText(h.Host, h.Port), h.Refused))
		}
	}
	var parts []string
	if len(reached) > 0 {
		parts = append(parts, "reached "+strings.Join(visible.Some(reached, most), ", "))
	}
	if len(refused) > 0 {
		parts = append(parts, "refused "+strings.Join(visible.Some(refused, most), ", "))
	}
	return strings.Join(parts, "; ")
}

// HowEnded says how a run ended.
func HowEnded(end End) string {
	switch {
	case end.TimedOut:
		return "stopped at its time limit"
	case len(end.Limits) > 0:
		return fmt.Sprintf("exit code %d, %s reached", end.Code, strings.Join(end.Limits, " and "))
	case end.Signal != "":
		return "ended by " + end.Signal
	}
	return fmt.Sprintf("exit code %d", end.Code)
}

// BlockedText returns which commands were blocked, and how often.
func BlockedText(counts map[string]int) string {
	var out []string
	for name, n := range counts {
		out = append(out, fmt.Sprintf("%s (%d)", name, n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Roughly writes a duration for people.
func Roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
