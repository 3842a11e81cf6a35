package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/enr/inner/internal/fault"
	"github.com/enr/inner/isolator/host"
	"github.com/enr/inner/isolator/limits"
	"github.com/enr/inner/profile"
)

// Limits finds what holds [sandbox.limits] on a host, and what of it nothing
// does. The plan is nil without limits.
func Limits(rc profile.RunConfig, f host.Facts) (*limits.Plan, []limits.Missing) {
	if !rc.Limits.Any() {
		return nil, nil
	}
	var h limits.Host
	if f.Limits != nil {
		h = *f.Limits
	}
	nested := slices.Contains(rc.Allow, nestedKey)
	if nested && h.Open {
		h.Systemd = limits.Manager{Why: "a box with users of its own (" + nestedKey + ") can change its control group"}
		h.Group = limits.Parent{Why: "they are mounted without nsdelegate"}
	}
	if nested && h.NprocWhy == "" {
		// RLIMIT_NPROC counts for each user, and such a box has thousands.
		h.NprocWhy = "a box with users of its own (" + nestedKey + ") has more than one count of processes (RLIMIT_NPROC)"
	}
	p, missing := limits.Choose(LimitValues(rc.Limits), h)
	if p != nil && f.Engine != nil {
		p.By(f.Engine.Name)
	}
	return p, missing
}

// LimitValues reads limits whose syntax was checked.
func LimitValues(l profile.Limits) limits.Values {
	count := func(s string) uint64 { n, _ := strconv.ParseUint(s, 10, 64); return n }
	size := func(s string) uint64 { n, _ := profile.Bytes(s); return n }
	cpu, _ := profile.Processors(l.CPU)
	return limits.Values{
		Memory: size(l.Memory), CPU: cpu, Pids: count(l.Pids), Files: count(l.Files), FileSize: size(l.FileSize), Disk: size(l.Disk),
	}
}

// limits refuses what cannot be held, and plans what can.
func (b *builder) limits() error {
	plan, missing := Limits(b.rc, b.f)
	if len(missing) > 0 && !b.rc.LimitsLoose {
		return &fault.Refusal{
			Code: 125, Kind: fault.KindLimits,
			Msg:  fmt.Sprintf("profile %q: %s", b.rc.Name, Unlimited(missing)),
			Hint: "limits_required = false under [sandbox] starts it without",
		}
	}
	if plan != nil {
		plan.Folder = b.s.Group
		b.plan.Limits, b.disk = plan, plan.Disk
	}
	if b.s.Tmp != "" && b.disk > 0 {
		return &fault.Refusal{
			Code: 125, Kind: fault.KindLimits,
			Msg:  fmt.Sprintf("profile %q: the /tmp of a session is on the disk, and cannot be held to sandbox.limits.disk", b.rc.Name),
			Hint: "start it without a session",
		}
	}
	return nil
}

// Unlimited says which limits are not held, and why.
func Unlimited(missing []limits.Missing) string {
	var out []string
	for i, m := range missing {
		text := "the " + m.Key + " limit " + m.Text
		if i+1 < len(missing) && missing[i+1].Why == m.Why {
			out = append(out, text) // one reason for both
			continue
		}
		out = append(out, text+" cannot be held on this host ("+m.Why+")")
	}
	return strings.Join(out, ", ")
}
