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
	"github.com/enr/inner/profile/hosts"
	"github.com/enr/inner/profile/strict"
)

// OrganisationFile is the configuration of who administers this computer. No variable and no
// flag names another one: whoever could set it would be free of its rules.
const OrganisationFile = "/etc/inner/config.toml"

// Organisation is what OrganisationFile says, read by package config. It takes from what
// profiles, flags, projects and users grant, and gives nothing.
type Organisation struct {
	Hide, HideEnv strict.Value // hidden places, and variables that pass into no box
	Forbid        []Forbidden
	DefaultLimits []strict.Item   // of the version before: where nobody says one
	MaxLimits     []strict.Item   // what nobody goes beyond
	MaxTimeout    strict.Value    // the same for the time of a run, in seconds
	Publishers    strict.Value    // keys that may sign an index of shared profiles; none: any that the user approved
	Former        strict.Problems // lines of the version before, and what they are read as
	Lines         []Origin        // all that it says, by the keys of the file
}

// Forbidden is a value that no run may have.
type Forbidden struct {
	Key   string // of the profile language, or command or profile
	Value string // "*" for any; of sandbox.network_allow an entry, of credentials a name, of mounts a mode, outside of the project, or "socket"
	At    strict.Pos
}

func (f Forbidden) String() string { return f.Key + "=" + f.Value }

// What is forbidden about no box.
var (
	ForbidBypass = Forbidden{Key: "command", Value: "bypass"}
	ForbidRemote = Forbidden{Key: "profile", Value: "https"}
)

// Forbids adds an entry KEY=VALUE of forbid. A value that the key can never have would forbid nothing, and is a
// problem.
func (o *Organisation) Forbids(it strict.Item, problems *strict.Problems) {
	key, value, _ := strings.Cut(it.Text, "=")
	f := Forbidden{Key: key, Value: value, At: it.At}
	o.Forbid = append(o.Forbid, f)
	switch {
	case value == "":
		problems.Add(it.At, "forbid", strconv.Quote(it.Text)+" is not KEY=VALUE", `write it like "sandbox.network_mode=full"`)
	case f.String() == ForbidBypass.String(), f.String() == ForbidRemote.String(), f.String() == "capabilities=own":
	case key == "sandbox.network_allow":
		_, err := hosts.Parse(value)
		problems.Judge(it.At, "forbid", err)
	case !slices.Contains(Keys(), key):
		problems.Add(it.At, "forbid", strconv.Quote(key)+" is no key of a profile", strict.DidYouMean(key, Keys()))
	case value == "*", key == "credentials": // any name
	case key == "mounts":
		if words := []string{string(RO), string(RW), string(SafeRW), string(Tmpfs), "socket"}; !slices.Contains(words, value) {
			problems.Add(it.At, "forbid", fmt.Sprintf("%q is unknown", value), strict.DidYouMean(value, words))
		}
	default:
		if fault := impossible(key, value); fault != nil {
			problems.Add(it.At, "forbid", fault.Key+": "+fault.Msg, fault.Hint)
		}
	}
}

// impossible is what is wrong with a value in a profile, as one value and in a list; nil when it can stand there.
func impossible(key, value string) (first *strict.Problem) {
	for _, literal := range []string{value, strconv.Quote(value), "[" + strconv.Quote(value) + "]"} {
		_, problems := parse(File{Data: []byte("schema_version = \"1\"\n" + key + " = " + literal + "\n")})
		if len(problems) == 0 {
			return nil
		}
		if p := problems[0]; !strings.HasPrefix(p.Msg, "wants ") && p.Key != "" {
			first = &p
		}
	}
	return cmp.Or(first, &strict.Problem{Key: key, Msg: fmt.Sprintf("can never be %q", value)})
}

// Forbidden returns the place of what is forbidden, and whether it is. A nil Organisation forbids nothing.
func (o *Organisation) Forbidden(what Forbidden) (strict.Pos, bool) {
	if o == nil {
		return strict.Pos{}, false
	}
	i := slices.IndexFunc(o.Forbid, func(f Forbidden) bool { return f.Key == what.Key && (f.Value == what.Value || f.Value == "*") })
	if i < 0 {
		return strict.Pos{}, false
	}
	return o.Forbid[i].At, true
}

// At writes the place of a line of OrganisationFile.
func At(p strict.Pos) string { return p.File + ":" + strconv.Itoa(p.Line) }

// values are what a run has of a key, each with the name to say it of: what is written, and what flags,
// defaults and other keys say.
func (r *resolver) values(key string) (out []KV) {
	rc, flags := &r.rc, &r.c.Overrides
	one := map[string]string{
		"sandbox.network": strconv.FormatBool(rc.Network != NetOff), "sandbox.network_mode": string(rc.Network), "sandbox.base": cmp.Or(rc.Base, "host"), "sandbox.home": rc.Home,
		"sandbox.git_dir": rc.GitDir, "sandbox.workdir_mode": string(rc.WorkdirMode), "sandbox.backend": rc.Backend, "sync_credentials": strconv.FormatBool(rc.SyncLogin), "entrypoint.cmd": rc.Entrypoint.Cmd,
	}
	if v, ok := one[key]; ok {
		return []KV{{key, v}}
	}
	add := func(list ...string) {
		for _, v := range list {
			out = append(out, KV{key, v})
		}
	}
	for _, w := range (&Profile{src: *r.s}).Written() {
		for _, v := range w.Parts() {
			if w.Name == key {
				add(cmp.Or(v.Key, v.Text))
			}
		}
	}
	switch key {
	case "env.inherit":
		add(flags.Pass...)
		for _, s := range rc.Servers {
			add(s.Vars...)
		}
	case "sandbox.mcp": // what "*" stands for, too
		for _, s := range rc.Servers {
			add(s.Name)
		}
	case "env.set":
		for _, kv := range flags.Env {
			add(kv.Key)
		}
	case "mounts":
		return r.mountValues()
	case "sandbox.allow":
		for _, m := range rc.Mounts {
			if m.Allow != "" {
				out = append(out, KV{m.Key, m.Allow})
			}
		}
	}
	return out
}

// mountValues are the modes of what is mounted from outside the project and the working folder, and "socket"
// for a socket.
func (r *resolver) mountValues() (out []KV) {
	rc := &r.rc
	inside := []string{rc.Real[rc.Workdir]}
	if rc.Project != "" {
		inside = append(inside, real(rc.Project))
	}
	for _, m := range rc.Mounts {
		if src := rc.Real[m.Source]; m.Mode == Tmpfs || !slices.ContainsFunc(inside, func(dir string) bool { return dir != "" && paths.Below(dir, src) }) {
			out = append(out, KV{m.Key, string(m.Mode)})
		}
		if fi, err := os.Stat(m.Source); err == nil && m.Mode != Tmpfs && fi.Mode()&os.ModeSocket != 0 {
			out = append(out, KV{m.Key, "socket"})
		}
	}
	return out
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
	for _, f := range o.Forbid {
		if f.Key == "sandbox.network_allow" {
			continue // see forbiddenHosts
		}
		for _, has := range r.values(f.Key) {
			if f.Value == has.Value || f.Value == "*" {
				r.forbidden(has.Key, strconv.Quote(has.Value), f)
				break
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
func (r *resolver) forbidden(key, what string, f Forbidden) {
	r.add(r.written(key), key, fmt.Sprintf("%s is forbidden by %s (forbid %q)", what, At(f.At), f), "")
}

// forbiddenHosts takes away the hosts of the organisation.
func (r *resolver) forbiddenHosts(o *Organisation) {
	rc := &r.rc
	for _, f := range o.Forbid {
		if f.Key != "sandbox.network_allow" {
			continue
		}
		if rc.Network == NetFull { // which has no exceptions
			r.forbidden("sandbox.network_mode", "the whole network, with "+f.Value+" in it,", f)
		}
		rc.NetworkDeny = append(slices.Clip(rc.NetworkDeny), f.Value) // without a network, too: inner learn gives one
		r.ruled("sandbox.network_allow", strconv.Quote("!"+f.Value), f.At)
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
	out := asked.Or(LimitsOf(o.DefaultLimits))
	for _, it := range o.DefaultLimits {
		if *asked.field(it.Key) == "" {
			r.ruled("sandbox.limits."+it.Key, strconv.Quote(it.Text), it.At)
		}
	}
	for _, it := range o.MaxLimits {
		if now := out.field(it.Key); limitBelow(it.Key, it.Text, *now) {
			*now = it.Text
			r.ruled("sandbox.limits."+it.Key, strconv.Quote(*now), it.At)
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
	most := time.Duration(o.MaxTimeout.Int()) * time.Second
	if asked > 0 && asked <= most {
		return asked
	}
	r.ruled("output.timeout_seconds", o.MaxTimeout.V, o.MaxTimeout.At)
	return most
}

// limits reports whether the organisation limits boxes, which a host then has to hold.
func (o *Organisation) limits() bool {
	return o != nil && (LimitsOf(o.DefaultLimits).Any() || LimitsOf(o.MaxLimits).Any())
}
