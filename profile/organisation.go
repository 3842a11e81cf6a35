package profile

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enr/inner/internal/paths"
	"github.com/enr/inner/profile/strict"
)

// OrganisationFile is the configuration of who administers this computer. No variable and no
// flag names another one: whoever could set it would be free of its rules.
const OrganisationFile = "/etc/inner/config.toml"

// Organisation is what OrganisationFile says, read by package config. It takes from what
// profiles, flags, projects and users grant, and gives nothing.
type Organisation struct {
	Hide, HideEnv strict.List // hidden places, and variables that pass into no box
	Hosts         strict.List // entries as in network_allow, without the !
	Allow         strict.List // keys of sandbox.allow that no profile may have
	Capabilities  strict.List // that no profile may have
	Grants        strict.List // of ForbiddenGrants
	DefaultLimits LimitsTable // where nobody says one
	MaxLimits     LimitsTable // what nobody goes beyond
	MaxTimeout    strict.Int  // the same for the time of a run, in seconds
	Publishers    strict.List // keys that may sign an index of shared profiles; none: any that the user approved
}

// The words that are about no box.
const (
	ForbidBypass = "bypass"          // inner bypass
	ForbidRemote = "remote-profiles" // profiles from a URL
)

// ForbiddenGrants are the words that [forbid] grants takes.
func ForbiddenGrants() (words []string) {
	for _, r := range keyRules() {
		for _, f := range r.forbid {
			words = append(words, f.word)
		}
	}
	slices.Sort(words)
	return append(slices.Compact(words), ForbidRemote, ForbidBypass)
}

// Forbids returns the place of a word of [forbid] grants, and whether it is there. A nil
// Organisation forbids nothing.
func (o *Organisation) Forbids(word string) (strict.Pos, bool) {
	if o == nil {
		return strict.Pos{}, false
	}
	return listed(o.Grants, word)
}

func listed(l strict.List, text string) (strict.Pos, bool) {
	for _, it := range l.Items {
		if it.Text == text {
			return it.At, true
		}
	}
	return strict.Pos{}, false
}

// At writes the place of a line of OrganisationFile.
func At(p strict.Pos) string { return p.File + ":" + strconv.Itoa(p.Line) }

// allowedSocket finds a key of sandbox.allow that leads to a program outside which answers.
func allowedSocket(rc *RunConfig) (what, name string) {
	leading := []string{"docker-socket", "podman-socket", "container-sockets", "session-bus", "systemd-user", "ssh-agent", "gpg-agent", "notifications", "secret-service"}
	if i := slices.IndexFunc(rc.Allow, func(key string) bool { return slices.Contains(leading, key) }); i >= 0 {
		return rc.Allow[i], ""
	}
	return "", ""
}

// mountedSocket finds a mount of such a socket.
func mountedSocket(rc *RunConfig) (what, name string) {
	for _, m := range rc.Mounts {
		if fi, err := os.Stat(m.Source); err == nil && m.Mode != Tmpfs && fi.Mode()&os.ModeSocket != 0 {
			return "a socket of this computer", m.Key
		}
	}
	return "", ""
}

// writableOutside finds a folder outside the project and the working folder that the box
// can write.
func writableOutside(rc *RunConfig) (what, name string) {
	inside := []string{rc.Real[rc.Workdir]}
	if rc.Project != "" {
		inside = append(inside, real(rc.Project))
	}
	for _, m := range rc.Mounts {
		src := rc.Real[m.Source]
		if m.Mode == RW && !slices.ContainsFunc(inside, func(dir string) bool { return dir != "" && paths.Below(dir, src) }) {
			return fmt.Sprintf("to write %q, outside of the project", m.Source), m.Key
		}
	}
	return "", ""
}

func ownCapability(rc *RunConfig) bool {
	return slices.ContainsFunc(rc.Capabilities, func(c string) bool { return !slices.Contains(Capabilities(), c) })
}

// ruled notes a line of the organisation's that holds for this box, under the key of the
// profile language that it decides about.
func (r *resolver) ruled(key, value string, at strict.Pos) {
	r.rc.Organisation = append(r.rc.Organisation, Origin{Key: key, Value: value, File: at.File, Line: at.Line})
}

// organisation refuses what the organisation forbids, and takes away its hosts. Hidden
// places, variables and limits were taken where they are resolved.
func (r *resolver) organisation() {
	o, rc := r.c.Organisation, &r.rc
	if o == nil {
		return
	}
	for _, rule := range keyRules() {
		for _, f := range rule.forbid {
			if at, ok := o.Forbids(f.word); ok {
				if what, name := f.has(rc); what != "" {
					r.forbidden(cmp.Or(name, rule.key), what, at, "forbid.grants "+strconv.Quote(f.word))
				}
			}
		}
	}
	for _, list := range []struct {
		key, by   string
		has       []string
		forbidden strict.List
	}{{"capabilities", "forbid.capabilities", rc.Capabilities, o.Capabilities}, {"sandbox.allow", "forbid.allow", r.s.Sandbox.Allow.Texts(), o.Allow}} {
		for _, name := range list.has {
			if at, ok := listed(list.forbidden, name); ok {
				r.forbidden(list.key, strconv.Quote(name), at, list.by)
			}
		}
	}
	r.forbiddenHosts(o)
	for _, dir := range rc.WritableFolders() { // by root, whose box could
		if own := real(filepath.Dir(OrganisationFile)); paths.Below(dir, own) || paths.Below(own, dir) {
			r.add(strict.Pos{}, "mounts", fmt.Sprintf("%q would be writable, and with it %s", dir, OrganisationFile), "mount a folder that does not hold it")
		}
	}
}

// forbidden refuses what a key grants, by a line of the organisation's.
func (r *resolver) forbidden(key, what string, at strict.Pos, by string) {
	r.add(r.written(key), key, fmt.Sprintf("%s is forbidden by %s (%s)", what, At(at), by), "")
}

// forbiddenHosts takes away the hosts of the organisation.
func (r *resolver) forbiddenHosts(o *Organisation) {
	rc := &r.rc
	for _, it := range o.Hosts.Items {
		if rc.Network == NetFull { // which has no exceptions
			r.forbidden("sandbox.network_mode", "the whole network, with "+it.Text+" in it,", it.At, "forbid.hosts")
		}
		rc.NetworkDeny = append(slices.Clip(rc.NetworkDeny), it.Text) // without a network, too: inner learn gives one
		r.ruled("sandbox.network_allow", strconv.Quote("!"+it.Text), it.At)
	}
}

// ruledHosts is how many entries at the end of NetworkDeny are the organisation's.
func (rc *RunConfig) ruledHosts() (n int) {
	for _, o := range rc.Organisation {
		if o.Key == "sandbox.network_allow" {
			n++
		}
	}
	return n
}

// written is where the profile says a key; the zero Pos for what a flag or nobody says.
func (r *resolver) written(key string) strict.Pos {
	for _, o := range (&Profile{src: *r.s}).Origins() {
		if o.Key == key || strings.HasPrefix(o.Key, key+".") || o.Key == "sandbox.network" && key == "sandbox.network_mode" {
			return strict.Pos{File: o.File, Line: o.Line}
		}
	}
	return strict.Pos{}
}

// capped are the limits of a run under those of an organisation: what nobody asked for is
// its default, and nothing is beyond its maximum.
func (r *resolver) capped(asked Limits) Limits {
	o := r.c.Organisation
	if o == nil {
		return asked
	}
	out := asked.Or(o.DefaultLimits.Limits())
	for _, l := range o.DefaultLimits.Fields() {
		if l.Number.Set && *asked.field(l.Name) == "" {
			r.ruled("sandbox.limits."+l.Name, strconv.Quote(string(l.Number.V)), l.Number.At)
		}
	}
	for _, l := range o.MaxLimits.Fields() {
		if now := out.field(l.Name); l.Number.Set && l.below(*now) {
			*now = string(l.Number.V)
			r.ruled("sandbox.limits."+l.Name, strconv.Quote(*now), l.Number.At)
		}
	}
	return out
}

// cappedTime is the time limit of a run under that of an organisation; 0 is none.
func (r *resolver) cappedTime(asked time.Duration) time.Duration {
	o := r.c.Organisation
	if o == nil || !o.MaxTimeout.Set {
		return asked
	}
	most := time.Duration(o.MaxTimeout.V) * time.Second
	if asked > 0 && asked <= most {
		return asked
	}
	r.ruled("output.timeout_seconds", strconv.FormatInt(o.MaxTimeout.V, 10), o.MaxTimeout.At)
	return most
}

// limits reports whether the organisation limits boxes, which a host then has to hold.
func (o *Organisation) limits() bool {
	return o != nil && (o.DefaultLimits.Limits().Any() || o.MaxLimits.Limits().Any())
}

// below reports whether a maximum is below what was asked for; "" is no limit.
func (l LimitField) below(asked string) bool {
	most, ok := l.amount(string(l.Number.V))
	n, good := l.amount(asked)
	return ok && (!good || most < n)
}
