package features

// What the user's own package managers are set to. Those in the box are told the same, never with a login, so
// that nothing goes past a mirror; whether they reach it is for the groups to say.

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/enr/inner/hooks/quote"
	"github.com/enr/inner/isolator/netproxy"
	"github.com/enr/inner/isolator/settings"
	"github.com/enr/inner/profile"
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/registry"
)

// Missing is what the package manager of a group is set to and the group does not have.
type Missing struct {
	Group string
	From  string   // the file or the variable that names the first of the hosts, for people
	Hosts []string // as hosts.Parse reads them
	Fix   string   // to type
}

// String says what is missing.
func (m Missing) String() string {
	return fmt.Sprintf("%s names %s, which @%s does not have", m.From, strings.Join(m.Hosts, ", "), m.Group)
}

// lackOf compares the settings of a group with what a box may reach, which has the group.
func lackOf(run *Run, group string, list []registry.Setting, policy *netproxy.Policy, own map[string][]string) (m Missing, any bool) {
	m.Group = group
	for _, s := range list {
		for _, text := range s.Hosts {
			e, err := hosts.Parse(text)
			if allowed, _ := policy.Listed(e.Host, e.Addr, e.Ports[0]); err != nil ||
				allowed != nil || slices.Contains(m.Hosts, text) {
				continue
			}
			m.From = cmp.Or(m.From, run.Short(s.From))
			m.Hosts = append(m.Hosts, text)
		}
	}
	members, said := own[group]
	if !said {
		members = []string{"@" + group}
	}
	m.Fix = fmt.Sprintf("inner config set groups.%s %s", group,
		quote.POSIX(strings.Join(slices.Concat(members, m.Hosts), " ")))
	return m, len(m.Hosts) > 0
}

// MissingHosts are what the groups do not have, whether or not a profile names them. Most computers have apt
// sources besides the distribution's, which no box is asked for.
func MissingHosts(s *settings.Settings) (out []Missing) {
	cfg, err := s.GlobalConfig()
	if err != nil {
		return nil // whoever acts on it reports that
	}
	for _, group := range slices.DeleteFunc(hosts.Groups(), func(g string) bool { return g == "debian" }) {
		allow, _ := rules([]string{"@" + group}, "network_allow", cfg.Groups)
		list := registry.Settings(group, s.Home, s.Getenv)
		if m, any := lackOf(&Run{Settings: s}, group, list, netproxy.NewPolicy(allow, nil), cfg.Groups); any {
			out = append(out, m)
		}
	}
	return out
}

// lacks is the fix for a target that was refused because a group does not have it, or "".
func (r Reach) lacks(t netproxy.Target) string {
	for _, m := range r.Missing {
		for _, text := range m.Hosts {
			e, err := hosts.Parse(text)
			addr, _ := netip.ParseAddr(t.Host)
			if err == nil && e.Matches(t.Host, addr) && (t.Port == 0 || slices.Contains(e.Ports, t.Port)) {
				return fmt.Sprintf("%s, since %s", m.Fix, m)
			}
		}
	}
	return ""
}

// tellReach tells the programs in the box what those outside are set to, and who knows the names of hosts.
func tellReach(run *Run) error {
	if !run.Spec.Network.ByName() {
		return nil
	}
	for _, line := range run.Reach.Warnings {
		run.Warn("%s", line)
	}
	// Inner's own decides by addresses that it looked up, and a proxy to the world wants names.
	outward := []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"}
	if i := slices.IndexFunc(outward, func(name string) bool { return run.Getenv(name) != "" }); i >= 0 {
		run.Warn("%s names a proxy of your network, which network_mode = %q does not go through",
			outward[i], run.Spec.Network)
	}
	made := run.Mode.Made()
	for _, s := range run.Reach.Settings {
		switch {
		case made && (s.Name == "npm_config_cafile" || s.Name == "PIP_CERT"):
			run.trust(s.Name, s.Value)
		case s.Name != "":
			run.Assets.Env = append(run.Assets.Env, profile.KV{Key: s.Name, Value: s.Value})
		}
	}
	nameFiles(run)
	return nil
}
